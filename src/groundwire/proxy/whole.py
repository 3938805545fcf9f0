"""An answer that comes in one piece: judged, and rewritten where the mode asks for it."""

from __future__ import annotations

from dataclasses import replace

from groundwire.proxy.protocol import Json, Key, Spoken
from groundwire.proxy.repairing import broken_off, halting, remarks, repaired, stopped
from groundwire.proxy.verifier import Outcome, Watch


async def judged(body: Json, watch: Watch, spoken: Spoken) -> tuple[Outcome, Json | None]:
    """What was found out, and the answer as it shall be told; None where that is as it came."""
    for key, text in spoken.texts(body).items():
        watch.push(key, text)
    outcome = await watch.outcome()
    texts: dict[Key, str] = {}
    if outcome.mode == "annotate":
        texts = remarks(outcome)
    elif outcome.mode == "fix":
        texts = await repaired(watch, outcome)
    elif outcome.mode == "block":
        return _blocked(body, outcome, watch, spoken)
    return outcome, spoken.rewritten(body, texts, {}) if texts else None


def _blocked(body: Json, outcome: Outcome, watch: Watch, spoken: Spoken) -> tuple[Outcome, Json | None]:
    """Each text up to its first contradiction."""
    texts: dict[Key, str] = {}
    reasons: dict[Key, str] = {}
    for key, report in outcome.reports.items():
        stop = halting({key: report.claims}, watch.sure)
        if stop:
            texts[key] = "".join(broken_off(report.response, stop[1], watch.sure))
            reasons[key] = stopped(stop[1])
    if not texts:
        return outcome, None
    told = replace(outcome, blocked=next(iter(reasons.values())))
    return told, spoken.rewritten(body, texts, reasons)
