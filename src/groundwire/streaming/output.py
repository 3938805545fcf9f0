"""Verify an agent's answers on their way to the user, in the background and without blocking them."""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from uuid import uuid4

from groundwire.config import Config
from groundwire.engine import Groundwire
from groundwire.errors import GroundwireError
from groundwire.reports.plaintext import nearest_evidence, shorten
from groundwire.requests import History, Sources, as_sources, as_text, as_turns
from groundwire.types import (
    Case,
    ClaimVerification,
    Flag,
    HallucinationReport,
    KnowledgeBase,
    OutputCheck,
    OutputStatus,
    Source,
    Status,
    Turn,
)

MAX_RESULTS = 1000
"""Results that are kept for later retrieval."""
MAX_RESULT_CHARS = 32_000_000
"""Characters that these have together; the oldest are dropped first."""
_CLAIM_CHARS = 2000  # what a claim counts beside its evidence: its own text and the objects of its verdict
MAX_PENDING = 16
"""Verifications in flight; further outputs are skipped."""
_LINE_CHARS = 300
_line = partial(shorten, limit=_LINE_CHARS)
_AUTHOR = "assistant"
VERIFIER = "verifier"
"""Role of a turn that tells an agent about problems in its answer; never used as evidence."""
_log = logging.getLogger(__name__)


def is_wanted(config: Config) -> bool:
    """True if the configuration enables output verification."""
    return config.hallucination.enabled and config.hallucination.output_verification.enabled


class OutputVerifier:
    """Verifies an agent's answers against their conversation, if necessary in the background.

    `is_busy` returns true if verification should be skipped because of load. Results are kept for a while, so
    that a pending one can be fetched by its id. Must be used from one event loop.
    """

    def __init__(
        self,
        engine: Groundwire,
        config: Config | None = None,
        *,
        is_busy: Callable[[], bool] = lambda: False,
        max_pending: int = MAX_PENDING,
    ) -> None:
        self._engine = engine
        self._config = config or engine.config
        self._is_busy = is_busy
        self._max_pending = max_pending
        # Both by owner and id, so that a caller finds nothing of another one.
        self._under_way: dict[tuple[str, str], asyncio.Task[OutputCheck]] = {}
        self._kept: OrderedDict[tuple[str, str], OutputCheck] = OrderedDict()
        self._kept_chars = 0

    @property
    def is_wanted(self) -> bool:
        return is_wanted(self._config)

    async def verify(
        self,
        response: str,
        sources: Sources = (),
        *,
        question: str = "",
        history: History = (),
        patience: float | None = None,
        kb: KnowledgeBase | None = None,
        owner: str = "",
    ) -> OutputCheck:
        """Verify an answer, waiting at most `patience` seconds (None: until it is done).

        `result` returns it later to the same `owner`.

        Raises only for invalid arguments; other failures are reported as a skipped check.
        """
        turns = tuple(turn for turn in as_turns(history) if turn.role != VERIFIER)
        grounds = conversation(as_sources(sources), turns, question)
        case = Case(as_text(response, "the answer"), grounds, question, uuid4().hex, turns, kb)
        reason = self._reason_to_skip(case)
        if reason:
            return self._keep(skipped(reason, case.id), owner)
        task = asyncio.create_task(self._judged(case, owner))
        self._under_way[owner, case.id] = task
        task.add_done_callback(lambda _: self._under_way.pop((owner, case.id), None))
        return await self._waited(case.id, task, patience)

    async def result(self, identity: str, patience: float = 0.0, owner: str = "") -> OutputCheck | None:
        """The current result; None if the owner has no such id or its result was dropped."""
        task = self._under_way.get((owner, identity))
        if task is not None:
            return await self._waited(identity, task, patience)
        return self._kept.get((owner, identity))

    async def aclose(self) -> None:
        tasks = list(self._under_way.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _waited(self, identity: str, task: asyncio.Task[OutputCheck], patience: float | None) -> OutputCheck:
        """Wait for the task. It continues after a timeout or cancellation, to be fetched later."""
        done, _ = await asyncio.wait([task], timeout=patience)
        if done:
            return task.result()
        return OutputCheck(identity, OutputStatus.PENDING, "it is being verified")

    def _reason_to_skip(self, case: Case) -> str:
        if not case.response.strip():
            return "there is nothing to verify"
        if not any(source.text.strip() for source in case.sources):
            return "there is no context to verify it against"
        if self._is_busy():
            return "the server is busy"
        if len(self._under_way) >= self._max_pending:
            return f"{len(self._under_way)} outputs are being verified already"
        return ""

    async def _judged(self, case: Case, owner: str) -> OutputCheck:
        try:
            report = await self._engine.check(
                case.response,
                case.sources,
                question=case.question,
                response_id=case.id,
                history=case.history,
                kb=case.kb,
            )
        except GroundwireError as error:
            _log.warning("an output was not verified: %s", type(error).__name__)
            why = f"it could not be verified: {error}"
            return self._keep(skipped(why, case.id), owner)
        threshold = self._config.hallucination.output_verification.flag_threshold_bits
        return self._keep(judged(report, threshold), owner)

    def _keep(self, found: OutputCheck, owner: str) -> OutputCheck:
        self._kept[owner, found.id] = found
        self._kept_chars += _size(found)
        while self._kept and (len(self._kept) > MAX_RESULTS or self._kept_chars > MAX_RESULT_CHARS):
            self._kept_chars -= _size(self._kept.popitem(last=False)[1])
        return found


def _size(found: OutputCheck) -> int:
    """Characters of a result, about."""
    if found.report is None:
        return 0
    claims = found.report.claims
    evidence = sum(len(piece.text) for claim in claims for piece in claim.evidence)
    return len(found.report.response) + _CLAIM_CHARS * len(claims) + evidence


def skipped(reason: str, identity: str = "") -> OutputCheck:
    """A check that was not made, with the reason."""
    return OutputCheck(identity or uuid4().hex, OutputStatus.SKIPPED, reason)


def conversation(sources: Sequence[Source], turns: Sequence[Turn], question: str = "") -> tuple[Source, ...]:
    """The evidence for an answer: its sources and what others than its author said before."""
    others = [(f"turn {turn.id}", turn.text) for turn in turns if turn.role != _AUTHOR]
    if question.strip() and all(text.strip() != question.strip() for _, text in others):
        others.append(("question", question))
    taken = {source.id for source in sources}
    spoken = tuple(Source(name, text) for name, text in others if text.strip() and name not in taken)
    return (*sources, *spoken)


def judged(report: HallucinationReport, threshold_bits: float) -> OutputCheck:
    """The result of a report under the threshold for outputs. It flags; it never blocks."""
    failed = [claim for claim in report.claims if is_over(claim, threshold_bits)]
    # A correction rightly contradicts an earlier statement: flags in supported claims do not count.
    supported = [claim for claim in report.claims if claim.status is Status.ENTAILED]
    flags = [f for f in report.flags if not any(c.start < f.end and f.start < c.end for c in supported)]
    found = OutputCheck(report.response_id, OutputStatus.VERIFIED, report.error or "", report=report)
    if not failed and not flags and report.error:
        some = any(claim.status is not Status.UNCHECKED for claim in report.claims)
        return found if some else replace(found, status=OutputStatus.SKIPPED)
    return replace(
        found,
        flagged=bool(failed or flags),
        flagged_claims=tuple(claim.claim_id for claim in failed),
        feedback=feedback(failed, flags),
    )


def is_over(claim: ClaimVerification, threshold_bits: float) -> bool:
    """True if the claim's gap exceeds the threshold.

    A claim without a measured gap (a phantom citation) keeps its verdict; unchecked claims never count.
    """
    if claim.status in (Status.UNCHECKED, Status.UNVERIFIABLE):
        return False
    return claim.is_flagged if claim.budget_gap is None else claim.budget_gap > threshold_bits


def feedback(failed: Sequence[ClaimVerification], flags: Sequence[Flag] = ()) -> str:
    """A message to the answer's author asking for corrections; empty if there is nothing to correct."""
    if not failed and not flags:
        return ""
    lines = ["Your last answer contains statements that the conversation does not support:"]
    for claim in failed:
        lines.append(f'- "{_line(claim.claim_text)}": {_line(claim.reason)}')
        ref = nearest_evidence(claim)
        if ref is not None and ref.text.strip():
            lines.append(f'  {ref.source} says: "{_line(ref.text)}"')
    other = [flag for flag in flags if not any(c.start < flag.end and flag.start < c.end for c in failed)]
    lines += [f'- "{_line(flag.content)}": {_line(flag.evidence or flag.suggestion)}' for flag in other]
    lines.append("Correct these statements, or leave them out; keep the rest.")
    return "\n".join(lines)
