"""The checkpoint after an answer: which of its claims are verified, what they come to, and what follows."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import ceil

from groundwire.agent.loop import before_answer, read_reply, without_code
from groundwire.claims.confidence import inferred, stated
from groundwire.config import Config, VerificationConfig
from groundwire.engine import Groundwire
from groundwire.errors import GroundwireError
from groundwire.llm.base import Message
from groundwire.text.numbers import numbers
from groundwire.traces.steps import CALL, MAX_STEP, RETURNED, read_text
from groundwire.types import Claim, ClaimVerification, HallucinationReport, Status, TraceAudit

SHORT = 100
"""Shorter answers are small talk, a word or a figure: not worth a second look."""


@dataclass(frozen=True, slots=True)
class Checked:
    """`skipped` says why nothing was verified, `error` why it could not be; `uncertain` is what fails."""

    report: HallucinationReport | None = None
    uncertain: tuple[ClaimVerification, ...] = ()
    skipped: str | None = None
    error: str | None = None
    empty: bool = False

    @property
    def failed(self) -> bool:
        return bool(self.uncertain)

    @property
    def badness(self) -> tuple[float, float]:
        """What an attempt is worth beside another: the share of its claims that fail, then its risk."""
        if self.report is None or self.empty:
            return (0.0, 0.0) if self.skipped and not self.empty else (1.0, 1.0)
        verified = self.report.verified_claims
        if not verified:
            return (0.0, 0.0) if self.skipped else (1.0, 1.0)
        return (len(self.uncertain) / verified, self.report.risk or 0.0)


def reason_to_skip(
    answer: str,
    files: Mapping[str, str],
    settings: VerificationConfig,
    *,
    verify: bool = True,
    any_length: bool = False,
) -> str | None:
    """Why this answer needs no verification, if it needs none."""
    if not answer.strip():
        return "there is no answer"
    if not settings.enabled:
        return "verification is off (verification.enabled)"
    if not verify:
        return "verification was not asked for"
    if len(answer.strip()) < SHORT and not any_length:
        return f"the answer is shorter than {SHORT} characters"
    if not any(text.strip() for text in files.values()):
        return "there are no files to verify against"
    return None


async def check(
    engine: Groundwire, answer: str, files: Mapping[str, str], *, question: str, settings: VerificationConfig
) -> Checked:
    """Verify what the mode chooses. A failure of the verifier is told, and never costs the answer."""
    try:
        report = await engine.check(
            answer, files, question=question, choose=partial(choose, answer, settings=settings)
        )
    except GroundwireError as error:
        return Checked(error=str(error))
    if not report.claims:
        return Checked(report, skipped=f"nothing to verify in mode {settings.mode}")
    uncertain = tuple(claim for claim in report.claims if is_uncertain(claim, settings))
    return Checked(_with(report, uncertain), uncertain, error=report.error)


def choose(
    answer: str, claims: Sequence[Claim], *, settings: VerificationConfig, seed: int = 0
) -> list[Claim]:
    """The claims to verify, in the order they stand. The same answer always gives the same choice."""
    if settings.mode == "critical_only":
        picked = [claim for claim in claims if is_critical(answer, claim)]
    elif settings.mode == "sample":
        wanted = max(1, ceil(settings.sample_rate * len(claims)))
        picked = sorted(claims, key=lambda claim: _lot(answer, claim, seed))[:wanted]
    else:
        # Where there are too many, those that say most that could be wrong come first.
        picked = sorted(claims, key=lambda claim: not is_critical(answer, claim))
    kept = picked[: settings.max_claims_per_response]
    return sorted(kept, key=lambda claim: (claim.start, claim.id))


def _lot(answer: str, claim: Claim, seed: int) -> bytes:
    drawn = f"{seed}\0{claim.id}\0{claim.text}\0{answer}"
    return hashlib.sha256(drawn.encode("utf-8", "replace")).digest()


def is_critical(answer: str, claim: Claim) -> bool:
    """Words of doubt, a stated confidence, or a figure: where an answer goes wrong, it goes wrong here."""
    said = answer[claim.start : claim.end]
    if inferred(said) is not None or stated(said) is not None:
        return True
    return any(character.isdigit() for character in claim.text) or bool(numbers(claim.text))


def is_uncertain(claim: ClaimVerification, settings: VerificationConfig) -> bool:
    """Flagged, or beyond one of the thresholds. Not checked is not uncertain: nobody knows anything of it.

    Evidence that makes no difference counts only against what it does not carry: what would be believed
    anyway may well be true.
    """
    if claim.status is Status.UNCHECKED:
        return False
    if claim.is_flagged or (claim.budget_gap or 0.0) > settings.gap_threshold_bits:
        return True
    if claim.status is Status.ENTAILED:
        return (claim.evidence_support or 0.0) < settings.support_threshold
    return (claim.evidence_dependence or 0.0) < settings.dependence_threshold


def _with(report: HallucinationReport, uncertain: Sequence[ClaimVerification]) -> HallucinationReport:
    """The report, told what to do by the checkpoint's thresholds."""
    failed = bool(uncertain)
    return replace(
        report,
        has_critical_gaps=failed,
        should_retry=failed,
        retry_guidance=guidance(uncertain) if failed else None,
    )


def guidance(uncertain: Sequence[ClaimVerification]) -> str:
    """What a second attempt is told: the claims that fail, why, and what the files say instead."""
    lines = ["These statements of your answer are not carried by the files:"]
    for claim in uncertain:
        lines.append(f'- "{_line(claim.claim_text)}" ({_line(claim.reason)})')
        lines += [
            f'  {ref.source} says: "{_line(ref.text)}"' for ref in claim.evidence[:2] if ref.text.strip()
        ]
    lines.append("Answer the question again. Say only what the files say, and leave out what they do not.")
    return "\n".join(lines)


def question_for(uncertain: Sequence[ClaimVerification]) -> str:
    """What the user is asked in place of a second attempt."""
    listed = "\n".join(f'- "{_line(claim.claim_text)}": {_line(claim.reason)}' for claim in uncertain)
    what = "this statement" if len(uncertain) == 1 else "these statements"
    return f"The files do not carry {what}:\n{listed}\nKeep the answer as it is, or have it written again?"


def annotate(answer: str, uncertain: Sequence[ClaimVerification]) -> str:
    """The answer with a remark behind each claim that fails; nothing of it is changed otherwise."""
    text = answer
    for claim in sorted(uncertain, key=lambda claim: -claim.end):
        kind = (claim.flag_reason or "uncertain").replace("_", " ")
        text = f"{text[: claim.end]} [{kind}: {_line(claim.reason)}]{text[claim.end :]}"
    return text


def _line(text: str, limit: int = 300) -> str:
    line = " ".join(text.split())
    return line if len(line) <= limit else f"{line[: limit - 1]}…"


# The way to an answer, audited: what the model said and ran before it, and whether that leads there.

_OUTPUT, _END = "<output>", "</output>"
_MAX_CODE = 300
_LONG = 2000


@dataclass(frozen=True, slots=True)
class Way:
    """The steps to an answer, and what the model had before it: its files, and what its code printed."""

    steps: tuple[str, ...]
    sources: Mapping[str, str]


def is_wanted(config: Config) -> bool:
    return config.hallucination.enabled and config.hallucination.trace_auditing.enabled


def way(messages: Sequence[Message], files: Mapping[str, str]) -> Way:
    """Since the question, or since it was last told to try again."""
    asked = [n for n, m in enumerate(messages) if m.role == "user" and not m.content.startswith(_OUTPUT)]
    since = list(messages[asked[-1] + 1 :]) if asked else list(messages)
    steps: list[str] = []
    sources = dict(files)
    for message in since[:-1]:
        if message.role == "assistant":
            steps += [*_said(without_code(message.content)), *_ran(message.content)]
        else:
            shown = message.content.removeprefix(_OUTPUT).removesuffix(_END).strip()
            sources[_free("output", sources)] = shown
            if steps and steps[-1].startswith(CALL):
                steps[-1] += f"{RETURNED}{shown[:_LONG]}"
    if since:
        steps += _said(before_answer(since[-1].content))
    return Way(tuple(steps), sources)


def _said(text: str) -> list[str]:
    found = [text.strip()] if len(text) <= _LONG else list(read_text(text).steps)
    return [step[:MAX_STEP] for step in found if step]


def _ran(text: str) -> list[str]:
    code = " ".join(read_reply(text).code.split())
    return [f"{CALL}Python with {code[:_MAX_CODE]}"] if code else []


def _free(name: str, taken: Mapping[str, str]) -> str:
    number = 1
    while (place := name if number == 1 else f"{name}-{number}") in taken:
        number += 1
    return place


async def audited(
    engine: Groundwire, query: str, answer: str, messages: Sequence[Message], files: Mapping[str, str]
) -> TraceAudit | None:
    """None where the model answered at once: there is no way to look at."""
    found = way(messages, files)
    if not found.steps or not answer.strip():
        return None
    return await engine.audit_trace(found.steps, query, found.sources, answer)
