"""What stands in an answer's text in place of what is not carried: remarks, notes, corrections, a stop."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from groundwire.errors import GroundwireError
from groundwire.pipeline import all_flags
from groundwire.proxy.protocol import Key
from groundwire.proxy.verifier import Outcome, Watch
from groundwire.streaming.halting import halts
from groundwire.streaming.protocol import assess
from groundwire.streaming.wording import cut_at
from groundwire.streaming.wording import stopped as reworded
from groundwire.types import Action, ActionKind, ClaimVerification, Flag, HallucinationReport
from groundwire.verdicts.repair import apply

_LINE = 200
_NOTES = "\n\n---\nNot carried by the sources:\n"


def remarked(report: HallucinationReport) -> str:
    """The text with a remark behind each statement that is flagged."""
    actions = [
        Action(ActionKind.FLAG, flag.start, flag.end, annotation=f"[{_why(flag)}]", flag=flag)
        for flag in all_flags(report)
    ]
    return apply(actions, report.response).text


def notes_on(report: HallucinationReport) -> str:
    """The same as a list at the end, for text that is already told; empty where nothing is flagged."""
    flags = sorted(all_flags(report), key=lambda flag: flag.start)
    lines = (f"{n}. “{_line(flag.content)}”: {_why(flag)}" for n, flag in enumerate(flags, start=1))
    return _NOTES + "\n".join(lines) + "\n" if flags else ""


async def repaired(watch: Watch, outcome: Outcome) -> dict[Key, str]:
    """The texts that need another wording. What cannot be corrected in time keeps its words, and a remark."""
    return {key: await _repaired(watch, report) for key, report in outcome.reports.items() if report.flagged}


async def _repaired(watch: Watch, report: HallucinationReport) -> str:
    try:
        async with asyncio.timeout(watch.patience):
            repair = (await watch.fixed(report)).repair
    except (GroundwireError, TimeoutError):
        repair = None
    return repair.text if repair is not None and repair.edits else remarked(report)


def remarks(outcome: Outcome) -> dict[Key, str]:
    return {key: remarked(report) for key, report in outcome.reports.items() if report.flagged}


def halting(
    claims: Mapping[Key, tuple[ClaimVerification, ...]], sure: float
) -> tuple[Key, ClaimVerification] | None:
    """The first statement that the evidence contradicts so surely that nothing of it may be told."""
    found = ((key, claim) for key, judged in claims.items() for claim in judged if halts(claim, sure))
    return next(found, None)


def stopped(claim: ClaimVerification) -> str:
    """Why an answer ends early, in a sentence."""
    where = ", ".join(claim.evidence_ids)
    said = f" ({where}: {_line(claim.reason)})" if where else f" ({_line(claim.reason)})"
    return f"groundwire stopped this answer: what came next contradicts the sources{said}"


def broken_off(text: str, claim: ClaimVerification, sure: float) -> tuple[str, str]:
    """A text up to its contradiction, and the words it ends with instead."""
    points = assess((claim,), threshold=sure).points
    kept = text[: cut_at(text, points)].rstrip()
    return kept, reworded(text, points)[len(kept) :]


def _why(flag: Flag) -> str:
    why = _line(flag.evidence)
    named = flag.type.description.lower()
    return f"{named}: {why}" if why else named


def _line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LINE else f"{line[: _LINE - 1]}…"
