"""Rewrite answers: remarks and notes on unsupported statements, repairs, and the end of a blocked answer."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace

from groundwire.errors import GroundwireError
from groundwire.pipeline import all_flags
from groundwire.proxy.dialects import ApiDialect, Json, TextKey, response_id
from groundwire.proxy.verifier import StreamVerifier, VerificationOutcome
from groundwire.streaming.protocol import assess
from groundwire.streaming.rewrite import cut_at
from groundwire.streaming.rewrite import stopped as stop_text
from groundwire.types import Action, ActionKind, ClaimVerification, Flag, HallucinationReport, Status
from groundwire.verdicts.repair import apply

_MAX_LINE = 200  # characters of a quotation or reason inside a remark
_ACTIONS_HEADING = "\n\n---\nNot done as stated, by the tool calls of this conversation:\n"
_NOTES_HEADING = "\n\n---\nNot supported by the sources:\n"


async def rewrite_answer(
    body: Json, verifier: StreamVerifier, dialect: ApiDialect
) -> tuple[VerificationOutcome, Json | None]:
    """Verify a complete answer. Return the outcome, and the answer rewritten by the mode or None."""
    verifier.response_id = response_id(body)
    for key, text in dialect.texts(body).items():
        verifier.feed_text(key, text)
    outcome = await verifier.finish()
    texts: dict[TextKey, str] = {}
    reasons: dict[TextKey, str] = {}
    if outcome.mode == "annotate":
        flagged = {key: report for key, report in outcome.reports.items() if report.flagged}
        texts = {key: add_remarks(report) for key, report in flagged.items()}
        given = dialect.texts(body)
        texts |= {key: texts.get(key, given[key]) + note for key, note in action_notes(outcome).items()}
    elif outcome.mode == "fix":
        texts = await repair_texts(verifier, outcome)
    elif outcome.mode == "block":
        threshold = verifier.contradiction_threshold
        for key, report in outcome.reports.items():
            if found := first_contradiction({key: report.claims}):
                texts[key] = "".join(cut_before(report.response, found[1], threshold))
                reasons[key] = stop_reason(found[1])
        outcome = replace(outcome, blocked=next(iter(reasons.values()), ""))
    return outcome, dialect.replace_texts(body, texts, reasons) if texts else None


def add_remarks(report: HallucinationReport) -> str:
    """Return the answer with a remark after each flagged statement."""
    actions = [
        Action(ActionKind.FLAG, flag.start, flag.end, annotation=f"[{_remark(flag)}]", flag=flag)
        for flag in all_flags(report)
    ]
    return apply(actions, report.response).text


def notes(report: HallucinationReport) -> str:
    """Return the remarks as a list, for text that was already sent; empty if nothing is flagged."""
    flags = sorted(all_flags(report), key=lambda flag: flag.start)
    lines = (f"{n}. “{_one_line(flag.content)}”: {_remark(flag)}" for n, flag in enumerate(flags, start=1))
    return _NOTES_HEADING + "\n".join(lines) + "\n" if flags else ""


def action_notes(outcome: VerificationOutcome) -> dict[TextKey, str]:
    """Remarks on actions that were not performed as stated, to be appended to each text."""
    flagged = {key: [a for a in actions if a.is_flagged] for key, actions in outcome.actions.items()}
    return {
        key: _ACTIONS_HEADING
        + "".join(f"- “{_one_line(a.text)}”: {a.status}, {_one_line(a.reason)}\n" for a in actions)
        for key, actions in flagged.items()
        if actions
    }


async def repair_texts(verifier: StreamVerifier, outcome: VerificationOutcome) -> dict[TextKey, str]:
    """Return a new text for each flagged one; what cannot be repaired in time gets remarks instead."""
    flagged = {key: report for key, report in outcome.reports.items() if report.flagged}
    return {key: await _repair(verifier, report) for key, report in flagged.items()}


async def _repair(verifier: StreamVerifier, report: HallucinationReport) -> str:
    try:
        async with asyncio.timeout(verifier.timeout):
            repair = (await verifier.repair(report)).repair
    except (GroundwireError, TimeoutError):
        repair = None
    return repair.text if repair is not None and repair.edits else add_remarks(report)


def first_contradiction(
    claims: Mapping[TextKey, Sequence[ClaimVerification]],
) -> tuple[TextKey, ClaimVerification] | None:
    """Return the first claim that a check would report as contradicted; the answer stops before it."""
    found = (
        (key, claim)
        for key, verdicts in claims.items()
        for claim in verdicts
        if claim.status is Status.CONTRADICTED and claim.is_flagged
    )
    return next(found, None)


def stop_reason(claim: ClaimVerification) -> str:
    sources = ", ".join(claim.evidence_ids)
    detail = f"{sources}: {_one_line(claim.reason)}" if sources else _one_line(claim.reason)
    return f"groundwire stopped this answer: the next statement contradicts the sources ({detail})"


def cut_before(text: str, claim: ClaimVerification, threshold: float) -> tuple[str, str]:
    """Return the text before the contradiction, and the sentence that it ends with instead."""
    points = assess((claim,), threshold=threshold).points
    start = text[: cut_at(text, points)].rstrip()
    return start, stop_text(text, points)[len(start) :]


def _remark(flag: Flag) -> str:
    """A sentence that the reader of the answer understands."""
    kind, reason = flag.type.description, _one_line(flag.evidence).rstrip(".")
    reason = reason.replace("evidence says", "the sources say", 1)
    return f"{kind}: {reason}." if reason else f"{kind}."


def _one_line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _MAX_LINE else f"{line[: _MAX_LINE - 1]}…"
