"""Verification of a finished answer: which claims to check, which ones fail, and an audit of the steps."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, count
from math import ceil

from groundwire.agent.loop import answer_text, before_answer, parse_reply
from groundwire.claims.assertiveness import inferred, stated
from groundwire.config import Config, VerificationConfig
from groundwire.engine import Groundwire
from groundwire.errors import GroundwireError
from groundwire.llm.base import Message
from groundwire.reports.plaintext import shorten
from groundwire.text.numbers import numbers
from groundwire.traces.audit import audit_trace
from groundwire.traces.steps import CALL, MAX_STEP, RETURNED, parse_text
from groundwire.types import Claim, ClaimVerification, GapType, HallucinationReport, Status, TraceAudit

MIN_ANSWER_CHARS = 100
"""Shorter answers are small talk, a word or a number, and not verified."""


@dataclass(frozen=True, slots=True)
class CheckResult:
    """`skipped` and `error` say why nothing was verified; `uncertain` are the claims that fail."""

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
        """Sort key of attempts, best first: the share of failing claims, then the risk."""
        if self.report is None or self.empty:
            return (0.0, 0.0) if self.skipped and not self.empty else (1.0, 1.0)
        checked = sum(claim.status is not Status.UNCHECKED for claim in self.report.claims)
        if not checked:
            return (0.0, 0.0) if self.skipped else (1.0, 1.0)
        return (len(self.uncertain) / checked, self.report.risk or 0.0)


def reason_to_skip(
    answer: str,
    files: Mapping[str, str],
    settings: VerificationConfig,
    *,
    verify: bool = True,
    any_length: bool = False,
) -> str | None:
    """Return why an answer is not verified; None if it is."""
    if not answer.strip():
        return "there is no answer"
    if not settings.enabled:
        return "verification is off (verification.enabled)"
    if not verify:
        return "verification was not asked for"
    if len(answer.strip()) < MIN_ANSWER_CHARS and not any_length:
        return f"the answer is shorter than {MIN_ANSWER_CHARS} characters"
    if not any(text.strip() for text in files.values()):
        return "there are no files to verify against"
    return None


async def check(
    engine: Groundwire, answer: str, files: Mapping[str, str], *, question: str, settings: VerificationConfig
) -> CheckResult:
    """Verify the claims that the mode selects. Failures are reported in the result, not raised."""
    try:
        report = await engine.check(answer, files, question=question, choose=partial(choose, answer, settings=settings))
    except GroundwireError as error:
        return CheckResult(error=str(error))
    if not report.claims:
        return CheckResult(report, skipped=f"nothing to verify in mode {settings.mode}", error=report.error)
    uncertain = tuple(claim for claim in report.claims if is_uncertain(claim, settings))
    failed = bool(uncertain)
    advice = guidance(uncertain) if failed else None
    advised = replace(report, has_critical_gaps=failed, should_retry=failed, retry_guidance=advice)
    return CheckResult(advised, uncertain, error=report.error)


def choose(answer: str, claims: Sequence[Claim], *, settings: VerificationConfig, seed: int = 0) -> list[Claim]:
    """Select the claims to verify, in text order. The same answer always gives the same selection."""
    if settings.mode == "critical_only":
        picked = [claim for claim in claims if is_critical(answer, claim)]
    elif settings.mode == "sample":
        wanted = max(1, ceil(settings.sample_rate * len(claims)))
        drawn = {claim.id: f"{seed}\0{claim.id}\0{claim.text}\0{answer}" for claim in claims}
        key = {name: hashlib.sha256(text.encode("utf-8", "replace")).digest() for name, text in drawn.items()}
        picked = sorted(claims, key=lambda claim: key[claim.id])[:wanted]
    else:
        # If there are too many, claims with numbers or hedges are checked first.
        picked = sorted(claims, key=lambda claim: not is_critical(answer, claim))
    selected = picked[: settings.max_claims_per_response]
    return sorted(selected, key=lambda claim: (claim.start, claim.id))


def is_critical(answer: str, claim: Claim) -> bool:
    """True for claims with hedges, a stated confidence or a number, where errors are most likely."""
    sentence = answer[claim.start : claim.end]
    if inferred(sentence) is not None or stated(sentence) is not None:
        return True
    return any(character.isdigit() for character in claim.text) or bool(numbers(claim.text))


def is_uncertain(claim: ClaimVerification, settings: VerificationConfig) -> bool:
    """True if a claim is flagged or beyond one of the thresholds; unchecked claims are not.

    Low evidence dependence counts against claims that are not entailed, and against those that are believed
    without their evidence.
    """
    if claim.status is Status.UNCHECKED:
        return False
    if claim.is_flagged or (claim.budget_gap or 0.0) > settings.gap_threshold_bits:
        return True
    if claim.status is Status.ENTAILED and (claim.evidence_support or 0.0) < settings.support_threshold:
        return True
    needs_evidence = claim.status is not Status.ENTAILED or claim.gap_type is GapType.EVIDENCE_INDEPENDENT
    return needs_evidence and (claim.evidence_dependence or 0.0) < settings.dependence_threshold


def guidance(uncertain: Sequence[ClaimVerification]) -> str:
    """Return instructions for a second attempt: failing claims, reasons, and what the files say instead."""
    lines = ["These statements of your answer are not supported by the files:"]
    for claim in uncertain:
        lines.append(f'- "{_line(claim.claim_text)}" ({_line(claim.reason)})')
        lines += [f'  {ref.source} says: "{_line(ref.text)}"' for ref in claim.evidence[:2] if ref.text.strip()]
    lines.append("Answer the question again. Say only what the files say, and leave out what they do not.")
    return "\n".join(lines)


def question_for(uncertain: Sequence[ClaimVerification]) -> str:
    """Return the question to the user when `on_failure` is `ask`."""
    listed = "\n".join(f'- "{_line(claim.claim_text)}": {_line(claim.reason)}' for claim in uncertain)
    what = "this statement" if len(uncertain) == 1 else "these statements"
    return f"The files do not support {what}:\n{listed}\nKeep the answer, or write it again?"


def annotate(answer: str, uncertain: Sequence[ClaimVerification]) -> str:
    """Return the answer with a remark after each failing claim."""
    text = answer
    for claim in sorted(uncertain, key=lambda claim: -claim.end):
        kind = (claim.flag_reason or "uncertain").replace("_", " ")
        text = f"{text[: claim.end]} [{kind}: {_line(claim.reason)}]{text[claim.end :]}"
    return text


_LINE_CHARS = 300  # of a claim, a reason or a quotation in a message
_line = partial(shorten, limit=_LINE_CHARS)
_OUTPUT, _END = "<output>", "</output>"
_MAX_CODE = 300  # characters of code in a step
_MAX_STEP_TEXT = 2000  # characters; longer text is split into steps


def is_audit_enabled(config: Config) -> bool:
    return config.hallucination.enabled and config.hallucination.trace_auditing.enabled


def answer_trace(messages: Sequence[Message], files: Mapping[str, str]) -> tuple[list[str], dict[str, str]]:
    """The steps that led to an answer, since the question or the last request to try again, and their sources:
    the files and the output of code."""
    asked = [n for n, m in enumerate(messages) if m.role == "user" and not m.content.startswith(_OUTPUT)]
    since = list(messages[asked[-1] + 1 :]) if asked else list(messages)
    steps: list[str] = []
    sources = dict(files)
    for message in since[:-1]:
        if message.role == "assistant":
            code = " ".join(parse_reply(message.content).code.split())
            steps += _text_steps(answer_text(message.content))
            steps += [f"{CALL}Python with {code[:_MAX_CODE]}"] if code else []
        else:
            shown = message.content.removeprefix(_OUTPUT).removesuffix(_END).strip()
            names = chain(["output"], (f"output-{number}" for number in count(2)))
            sources[next(name for name in names if name not in sources)] = shown
            if steps and steps[-1].startswith(CALL):
                steps[-1] += f"{RETURNED}{shown[:_MAX_STEP_TEXT]}"
    return steps + (_text_steps(before_answer(since[-1].content)) if since else []), sources


def _text_steps(text: str) -> list[str]:
    found = [text.strip()] if len(text) <= _MAX_STEP_TEXT else map(str, parse_text(text).steps)
    return [step[:MAX_STEP] for step in found if step]


async def audit_answer(
    engine: Groundwire, query: str, answer: str, messages: Sequence[Message], files: Mapping[str, str]
) -> TraceAudit | None:
    """Audit the steps that led to an answer; None if the model answered at once."""
    steps, sources = answer_trace(messages, files)
    return await audit_trace(engine, steps, query, sources, answer) if steps and answer.strip() else None
