"""Verification of an answer while it streams: the verifier, the job limit it shares, and its outcome."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Literal, Protocol, TypeVar

from groundwire.actions.judge import check_answer
from groundwire.config import CLEAR, Config
from groundwire.engine import Groundwire
from groundwire.errors import GroundwireError
from groundwire.metrics import Metrics
from groundwire.proxy.dialects import ApiDialect, Json, TextKey, response_id
from groundwire.proxy.evidence import RequestEvidence
from groundwire.reports.json import action_object, report_object
from groundwire.streaming.incremental import IncrementalVerifier, JobRunner
from groundwire.streaming.protocol import HIGH_SEVERITY, assess
from groundwire.types import NOTHING_TO_CHECK, ActionVerdict, HallucinationReport, Risk, Status

T = TypeVar("T")
Mode = Literal["observe", "annotate", "block", "fix", "off"]
_SEVERITY_ORDER = tuple(Risk)

StoreReport = Callable[[HallucinationReport, RequestEvidence], str]


class ProxyService(Protocol):
    """The parts of the HTTP service that the proxy uses."""

    config: Config
    metrics: Metrics

    @property
    def engine(self) -> Groundwire: ...

    @property
    def is_busy(self) -> bool:
        """True if verification should be skipped to save capacity."""
        ...

    def wait_with(self, more: int) -> float:
        """Estimated seconds until the work in progress and `more` further jobs are done."""
        ...

    async def work(self, job: Callable[[], Coroutine[Any, Any, T]], size: int = 0) -> T:
        """Run a job where the engine runs."""
        ...

    async def parse(self, read: Callable[[], T], size: int) -> T:
        """Run a function that reads `size` characters a client sent, in a thread."""
        ...


class VerificationState(StrEnum):
    """UNCHECKED: verification failed or was late. NOTHING: no text, or nothing to check it against."""

    CHECKED = "CHECKED"
    UNCHECKED = "UNCHECKED"
    NOTHING = "NOTHING_TO_CHECK"
    SKIPPED = "SKIPPED"
    PENDING = "PENDING"


@dataclass(frozen=True, slots=True)
class VerificationOutcome:
    """The reports of one answer by text; `id` is that of the first stored report.

    `actions` are the answer's statements about tool calls, also where there are no sources.
    A contradiction of at least `contradiction_threshold` counts as a clear one.
    """

    mode: Mode
    state: VerificationState
    reason: str = ""
    reports: Mapping[TextKey, HallucinationReport] = field(default_factory=dict)
    id: str = ""
    contradiction_threshold: float = CLEAR
    blocked: str = ""
    actions: Mapping[TextKey, Sequence[ActionVerdict]] = field(default_factory=dict)

    @property
    def summary(self) -> Json:
        """What the reports say together; `flagged` is None if that is not known."""
        reports, actions = list(self.reports.values()), self._all_actions
        flags = {report.flagged for report in reports} | {True for action in actions if action.is_flagged}
        risks = [report.risk for report in reports if report.risk is not None]
        severities = [s for r in reports if (s := report_severity(r, self.contradiction_threshold))]
        return {
            "flagged": True in flags or (None if None in flags or not flags else False),
            "claims": sum(report.total_claims for report in reports),
            "flagged_claims": sum(len(report.flagged_claims) + len(report.flags) for report in reports),
            "max_severity": max(severities, key=_SEVERITY_ORDER.index).value if severities else None,
            "risk": round(max(risks), 4) if risks else None,
        }

    @property
    def report_object(self) -> Json:
        """The JSON object of the report event."""
        return {
            "id": self.id or None,
            "mode": self.mode,
            "status": self.state.value,
            "reason": self.reason or None,
            "blocked": self.blocked or None,
            **self.summary,
            "reports": [report_object(report) for report in self.reports.values()],
            "actions": [action_object(action) for action in self._all_actions],
        }

    @property
    def header_values(self) -> dict[str, object]:
        """Values of the `x-groundwire-…` headers by the rest of their name."""
        found, actions = self.summary, self._all_actions
        values: dict[str, object] = {
            "mode": self.mode,
            "status": self.state.value,
            "reason": self.reason,
            "report-id": self.id,
        }
        values = {name: value for name, value in values.items() if value}
        if self.reports:
            values |= {"claims": found["claims"], "flagged": found["flagged_claims"]}
            values["max-severity"] = found["max_severity"] or "none"
        if found["risk"] is not None:
            values["risk"] = found["risk"]
        if actions:
            values |= {"actions": len(actions), "actions-flagged": sum(action.is_flagged for action in actions)}
        return values

    @property
    def _all_actions(self) -> list[ActionVerdict]:
        return [action for actions in self.actions.values() for action in actions]


def report_severity(report: HallucinationReport, contradiction_threshold: float) -> Risk | None:
    """Return the highest risk in a report as the streaming guard rates it; None if nothing is flagged."""
    flagged = any(claim.is_flagged for claim in report.claims)
    found = [assess(report.claims, threshold=contradiction_threshold).risk] if flagged else []
    found += [Risk.HIGH if flag.severity >= HIGH_SEVERITY else Risk.MEDIUM for flag in report.flags]
    return max(found, key=_SEVERITY_ORDER.index, default=None)


class JobLimiter:
    """Limits the verification jobs of all streams to `max_concurrent`; bound to the streams' event loop.

    A stream may also start work early, before anything waits for it, if there is spare capacity. New work
    should be rejected while `is_overloaded`: by the server's admission control, which `wait_with` asks, the
    jobs that wait here would take longer than `timeout` seconds.
    """

    def __init__(self, work: JobRunner, max_concurrent: int, timeout: float, wait_with: Callable[[int], float]) -> None:
        self._work = work
        self._wait_with = wait_with
        self._semaphore = asyncio.Semaphore(max_concurrent)
        self._max_concurrent = max_concurrent
        self._timeout = timeout
        self._jobs = 0
        self._early = 0
        self._reserved = 0

    @property
    def is_overloaded(self) -> bool:
        queued = max(self._jobs - self._max_concurrent, self._reserved)  # the others are admitted already
        return self._wait_with(queued) > self._timeout

    @property
    def has_spare_capacity(self) -> bool:
        return self._early < self._max_concurrent and self._jobs < self._max_concurrent

    def start_early(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Start work that nothing waits for yet. It counts at once: many streams may ask before any runs."""
        self._early += 1
        task = asyncio.create_task(work)

        def done(_: asyncio.Task[None]) -> None:
            self._early -= 1

        task.add_done_callback(done)
        return task

    @contextmanager
    def reserve(self) -> Iterator[None]:
        """Count the jobs that a finishing stream is about to submit."""
        self._reserved += 1
        try:
            yield
        finally:
            self._reserved -= 1

    async def __call__(self, job: Callable[[], Coroutine[Any, Any, T]]) -> T:
        self._jobs += 1
        try:
            async with self._semaphore:
                return await self._work(job)
        finally:
            self._jobs -= 1


def parse_object(text: bytes | str) -> Json | None:
    """Parse a JSON object; None for anything else."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


class StreamVerifier:
    """Verifies one answer next to its stream. Never raises, and never delays the stream beyond `timeout`.

    Bound to the event loop of the stream. `extract` reads the evidence in the request, which has `size` bytes, in a
    thread.
    """

    def __init__(
        self,
        service: ProxyService,
        limiter: JobLimiter,
        dialect: ApiDialect,
        extract: Callable[[], RequestEvidence],
        size: int,
        mode: Mode,
        store: StoreReport,
    ) -> None:
        self._service = service
        self._limiter = limiter
        self._dialect = dialect
        self._extract = extract
        self._size = size
        self._mode = mode
        self._store = store
        self._pending_text: dict[TextKey, list[str]] = {}
        self.checkers: dict[TextKey, IncrementalVerifier] = {}
        self._evidence = RequestEvidence()
        self._loading: asyncio.Task[None] | None = None
        self._early: asyncio.Task[None] | None = None
        self.response_id = ""
        self.outcome: VerificationOutcome | None = None
        self.timeout = service.config.proxy.report_timeout
        self.contradiction_threshold = service.config.realtime.interrupt_threshold
        self._skipped = service.is_busy

    @property
    def choices(self) -> int:
        """The number of answers the request asked for."""
        return self._evidence.choices

    def feed_event(self, event: Json) -> list[tuple[TextKey, str]]:
        """Take a parsed event and return the text that it adds."""
        self.response_id = self.response_id or response_id(event)
        deltas = self._dialect.deltas(event)
        for key, text in deltas:
            self.feed_text(key, text)
        return deltas

    def feed_text(self, key: TextKey, text: str) -> None:
        self._load_evidence()
        self._pending_text.setdefault(key, []).append(text)
        self._check_early()

    async def has_evidence(self) -> bool:
        """Wait until the request is read; False if there is nothing to check against."""
        self._load_evidence()
        if self._loading is None:
            return False
        await asyncio.wait({self._loading}, timeout=self.timeout)
        return self._loading.done() and bool(self._evidence) and not self._skipped

    async def finish(self) -> VerificationOutcome:
        """Return what is known within `timeout` of the end of the answer."""
        outcome = await self._finish()
        # In a thread: a long conversation has many results to search.
        self.outcome = replace(outcome, actions=await asyncio.to_thread(self._check_actions))
        return self.outcome

    def _check_actions(self) -> dict[TextKey, list[ActionVerdict]]:
        ledger = self._evidence.ledger
        if ledger is None:
            return {}
        texts = {key: "".join(parts) for key, parts in self._pending_text.items()}
        texts |= {key: checker.text + texts.get(key, "") for key, checker in self.checkers.items()}
        found = {key: check_answer(text, ledger) for key, text in texts.items()}
        return {key: actions for key, actions in found.items() if actions}

    async def _finish(self) -> VerificationOutcome:
        deadline = asyncio.get_running_loop().time() + self.timeout
        if self._is_loaded and not self._evidence:
            return self._without_evidence()
        if not self._pending_text and not self.checkers:
            return self._outcome(VerificationState.NOTHING, "the answer contains no text")
        if self._skipped or self._limiter.is_overloaded:
            return self._outcome(VerificationState.SKIPPED, "the server is overloaded")
        if self._loading is not None and not (await asyncio.wait({self._loading}, timeout=self.timeout))[0]:
            late = "timeout: verification took longer than proxy.report_timeout"
            return self._outcome(VerificationState.UNCHECKED, late)
        if not self._evidence:
            return self._without_evidence()
        with self._limiter.reserve():
            outcome = await self._finish_checkers(deadline)
        ids = [self._store(report, self._evidence) for report in outcome.reports.values()]
        return replace(outcome, id=next(filter(None, ids), ""))

    def _outcome(self, state: VerificationState, reason: str) -> VerificationOutcome:
        return VerificationOutcome(self._mode, state, reason)

    def _without_evidence(self) -> VerificationOutcome:
        error = self._loading.exception() if self._loading is not None else None
        if error is None:
            return self._outcome(VerificationState.NOTHING, "the request contains no sources and no history")
        reason = str(error) if isinstance(error, GroundwireError) else type(error).__name__
        return self._outcome(VerificationState.UNCHECKED, f"error: {reason}")

    async def _finish_checkers(self, deadline: float) -> VerificationOutcome:
        self._pass_text_on()
        left = max(0.0, deadline - asyncio.get_running_loop().time())
        keys = sorted(self.checkers)
        name = self.response_id
        found = await asyncio.gather(*(self.checkers[key].finish(left, response_id=name) for key in keys))
        reports = dict(zip(keys, found, strict=True))
        # One failed report or unchecked claim makes the whole answer unchecked.
        reasons = [report.error for report in found]
        reasons += [c.reason for r in found for c in r.claims if c.status is Status.UNCHECKED]
        reason = next(filter(None, reasons), "")
        state = VerificationState.UNCHECKED if reason else VerificationState.CHECKED
        if reason == NOTHING_TO_CHECK:
            state, reason = VerificationState.NOTHING, "the answer asserts nothing"
        return VerificationOutcome(
            self._mode, state, reason, reports, contradiction_threshold=self.contradiction_threshold
        )

    async def repair(self, report: HallucinationReport) -> HallucinationReport:
        """Return the report with its answer repaired from the same evidence."""
        evidence, engine = self._evidence, self._service.engine
        sources, history = evidence.sources, evidence.history
        return await self._limiter(lambda: engine.fix(report, sources, history=history, regenerate=False))

    def cancel(self) -> None:
        for task in (self._loading, self._early):
            if task is not None:
                task.cancel()
        for checker in self.checkers.values():
            checker.cancel()

    @property
    def _is_loaded(self) -> bool:
        return self._loading is not None and self._loading.done()

    def _load_evidence(self) -> None:
        if self._loading is None and not self._skipped:
            self._loading = asyncio.create_task(self._load())

    async def _load(self) -> None:
        # In a thread: parsing a long request and loading the engine would both block the streams.
        load = lambda: (self._extract(), self._service.engine)  # noqa: E731
        self._evidence, _ = await self._service.parse(load, self._size)
        self._check_early()

    def _check_early(self) -> None:
        """Check text before the answer ends. Mode `block` needs every verdict; others use spare capacity."""
        if self._mode == "block":
            self._pass_text_on()
        elif self._evidence and self._limiter.has_spare_capacity and (self._early is None or self._early.done()):
            self._early = self._limiter.start_early(self._run_checkers())

    async def _run_checkers(self) -> None:
        self._pass_text_on()
        await asyncio.gather(*(checker.drain() for checker in self.checkers.values()))

    def _pass_text_on(self) -> None:
        """Give the pending text to the incremental checkers once the evidence is known."""
        if not self._evidence or not self._pending_text:
            return
        pending, self._pending_text = self._pending_text, {}
        for key, parts in pending.items():
            if key not in self.checkers:
                self.checkers[key] = IncrementalVerifier(
                    self._service.engine,
                    self._evidence.sources,
                    question=self._evidence.question,
                    work=self._limiter,
                    history=self._evidence.history,
                )
            self.checkers[key].push("".join(parts))
