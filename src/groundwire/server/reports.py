"""Keeping reports: an id at once, the writing later and elsewhere: no answer waits or fails for it."""

from __future__ import annotations

import json
import logging
import queue
import secrets
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from fastapi import Request, Response
from pydantic import BaseModel, Field
from sqlalchemy.exc import SQLAlchemyError

from groundwire.config import Config
from groundwire.errors import GroundwireError
from groundwire.reports.html import audit_page, to_html
from groundwire.reports.json import audit_object, feedback_object, report_object
from groundwire.reports.parse import audit_from, report_from
from groundwire.reports.plaintext import is_bad_step
from groundwire.stores.feedback import Opinions
from groundwire.stores.reports import HOUR, Count, Figures, Moment, Reports, Stored, Summary
from groundwire.types import ClaimVerification, HallucinationReport, Source, Status, TraceAudit

if TYPE_CHECKING:
    from groundwire.server.service import Service
    from groundwire.stores.database import Database

# What is kept of a check or an audit: its JSON with all that was given, its summary and its counts.

NO_SOURCE = "no source"
"""Where a claim was judged by nothing."""
_TITLE_CHARS = 140
_SOURCE_CHARS = 2_000_000
"""Sources beyond it are not kept with a report; it says so, and the links to passages lead nowhere."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """What was asked and what came of it. `owner` is the API key, `kind` the door if it is a special one."""

    report: HallucinationReport | TraceAudit
    sources: tuple[Source, ...] = ()
    question: str = ""
    history: tuple[object, ...] = ()
    owner: str = ""
    kind: str = ""

    @property
    def size(self) -> int:
        answer = len(self.report.response) if isinstance(self.report, HallucinationReport) else 0
        return answer + sum(len(source.text) for source in self.sources)


def stored(exchange: Exchange, identity: str, at: float) -> Stored:
    """The exchange as the store takes it."""
    report = exchange.report
    if isinstance(report, TraceAudit):
        return _stored_audit(exchange, report, identity, at)
    claims = report.claims
    summary = Summary(
        id=identity,
        kind=exchange.kind or "check",
        owner=exchange.owner,
        created=at,
        title=_title(exchange.question or report.response),
        flagged=report.flagged,
        risk=report.risk,
        grounding=report.grounding_ratio,
        claims=len(claims),
        flagged_claims=report.flagged_claims,
        unchecked=sum(claim.status is Status.UNCHECKED for claim in claims),
        backend=report.backend,
        profile=report.profile,
    )
    body = _body(exchange, "report", report_object(report), answer=report.response)
    types = Counter(_type(claim) for claim in claims if claim.is_flagged)
    types.update(flag.type.value for flag in report.flags)
    return Stored(summary, body, _counts(types), tuple(_by_source(claims, exchange.sources)))


def _stored_audit(exchange: Exchange, audit: TraceAudit, identity: str, at: float) -> Stored:
    steps = audit.steps
    summary = Summary(
        id=identity,
        kind=exchange.kind or "audit",
        owner=exchange.owner,
        created=at,
        title=_title(audit.question or exchange.question or (steps[0].step.text if steps else "")),
        flagged=audit.flagged,
        risk=None,
        grounding=None,
        claims=len(steps),
        flagged_claims=sum(is_bad_step(step) for step in steps),
        unchecked=sum(step.status is Status.UNCHECKED for step in steps),
        backend=audit.backend,
        profile="",
    )
    body = _body(exchange, "audit", audit_object(audit), steps=[step.step.text for step in steps])
    types = Counter(_type(step.verdict) for step in steps if is_bad_step(step))
    verdicts = [step.verdict for step in steps]
    return Stored(summary, body, _counts(types), tuple(_by_source(verdicts, exchange.sources)))


def _body(exchange: Exchange, name: str, made: Mapping[str, Any], **more: object) -> str:
    fits = sum(len(source.text) for source in exchange.sources) <= _SOURCE_CHARS
    kept = exchange.sources if fits else ()
    return json.dumps(
        {
            name: made,
            **more,
            "question": exchange.question,
            "history": list(exchange.history),
            "sources": [{"id": s.id, "text": s.text, "origin": s.origin} for s in kept],
            "sources_kept": fits,
        },
        ensure_ascii=False,
        default=str,
    )


def _title(text: str) -> str:
    line = " ".join(text[: 4 * _TITLE_CHARS].split())
    return line if len(line) <= _TITLE_CHARS else f"{line[: _TITLE_CHARS - 1]}…"


def _type(claim: ClaimVerification) -> str:
    return claim.gap_type.value if claim.gap_type else claim.status.value.lower()


def _counts(types: Mapping[str, int]) -> tuple[Count, ...]:
    return tuple(Count(name, number, number) for name, number in types.items())


def _by_source(claims: Iterable[ClaimVerification], sources: Iterable[Source]) -> Iterator[Count]:
    """A claim counts for each source it was judged by; by its file's name where it has one.

    What is cited but does not exist, or is a step of the same trace, is no source.
    """
    called = {source.id: source.origin or source.id for source in sources}
    judged: Counter[str] = Counter()
    flagged: Counter[str] = Counter()
    for claim in claims:
        if claim.status is Status.UNCHECKED:
            continue
        names = {called[name] for name in claim.evidence_ids if name in called} or {NO_SOURCE}
        judged.update(names)
        flagged.update(names if claim.is_flagged else ())
    return (Count(name, number, flagged[name]) for name, number in judged.items())


REPORT_HEADER = "X-Groundwire-Report"
"""Of an answer: the id under which its report is kept."""
STORE_HEADER = "X-Groundwire-Store"
"""Of a request: `false` keeps nothing of it."""

_WAITING = 256
_WAITING_BYTES = 64_000_000
_AT_ONCE = 64
_PRUNE_FIRST, _PRUNE_EVERY = 60.0, 3600.0
_DAY = 86_400.0
_NO = ("false", "0", "no", "off")
_log = logging.getLogger("groundwire.server")


class Given(TypedDict, total=False):
    """What a report was made from. `kind` is the door's name, where it is no plain check or audit."""

    sources: Sequence[Source]
    question: str
    history: Sequence[object]
    kind: str


def keep(
    held: Service, report: HallucinationReport | TraceAudit, request: Request, **given: Unpack[Given]
) -> str:
    """The id under which the report will be found; empty where it is not kept."""
    refused = request.headers.get(STORE_HEADER, "").strip().lower() in _NO
    if refused or not held.config.server.keep_reports:
        return ""
    exchange = Exchange(
        report,
        tuple(given.get("sources", ())),
        given.get("question", ""),
        tuple(given.get("history", ())),
        owner_of(request),
        given.get("kind", ""),
    )
    return held.keeper.put(exchange)


def owner_of(request: Request) -> str:
    """The API key that asks; empty where none is needed."""
    caller = getattr(request.state, "caller", None)
    return str(getattr(caller, "key_id", "") or "")


@dataclass(frozen=True, slots=True)
class _Draft:
    id: str
    at: float
    exchange: Exchange

    def stored(self) -> Stored | None:
        """None for what cannot be written down, such as a history nested too deeply."""
        try:
            return stored(self.exchange, self.id, self.at)
        except (ValueError, TypeError, RecursionError) as error:
            _lost(1, str(error))
            return None


class Keeper:
    """One thread that writes what was put, in batches, and forgets what is too old.

    What waits is bounded: over that, or where the store fails, reports are lost and a warning says so. Losing
    a kept copy is better than keeping an answer waiting.
    """

    def __init__(self, opened: Callable[[], Database], keep_days: int) -> None:
        self._opened = opened
        self._keep_seconds = keep_days * _DAY
        self._queue: queue.Queue[_Draft | None] = queue.Queue(_WAITING)
        self._waiting: dict[str, _Draft] = {}
        self._bytes = 0
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="groundwire-reports", daemon=True)
        self._thread.start()

    @property
    def oldest(self) -> float:
        """What was made before is gone, even where it is not yet deleted."""
        return time.time() - self._keep_seconds

    def put(self, exchange: Exchange) -> str:
        draft = _Draft(secrets.token_urlsafe(16), time.time(), exchange)
        with self._lock:
            if self._bytes + exchange.size > _WAITING_BYTES:
                return _lost(1, "too much waits to be written")
            self._waiting[draft.id] = draft
            self._bytes += exchange.size
        try:
            self._queue.put_nowait(draft)
        except queue.Full:
            self._done([draft])
            return _lost(1, "too many wait to be written")
        return draft.id

    def waiting(self, identity: str) -> Stored | None:
        """A report that was put but is not written yet: its link works from the first moment."""
        with self._lock:
            draft = self._waiting.get(identity)
        return draft.stored() if draft else None

    def flush(self) -> None:
        """Wait until all that was put is written."""
        self._queue.join()

    def close(self) -> None:
        self._queue.put(None)
        self._thread.join()

    def _run(self) -> None:
        due = time.monotonic() + _PRUNE_FIRST
        while True:
            if time.monotonic() >= due:
                due = time.monotonic() + _PRUNE_EVERY
                self._tried(lambda: Reports(self._opened()).prune(self.oldest), 0)
            try:
                first = self._queue.get(timeout=max(0.0, due - time.monotonic()))
            except queue.Empty:
                continue
            drafts = [first, *self._more()]
            self._write([draft for draft in drafts if draft is not None])
            for _ in drafts:
                self._queue.task_done()
            if None in drafts:
                return

    def _more(self) -> list[_Draft | None]:
        found: list[_Draft | None] = []
        while len(found) < _AT_ONCE:
            try:
                found.append(self._queue.get_nowait())
            except queue.Empty:
                break
        return found

    def _write(self, drafts: Sequence[_Draft]) -> None:
        made = [one for draft in drafts if (one := draft.stored()) is not None]
        if made:
            self._tried(lambda: Reports(self._opened()).add(made), len(made))
        self._done(drafts)

    def _done(self, drafts: Sequence[_Draft]) -> None:
        with self._lock:
            for draft in drafts:
                del self._waiting[draft.id]
                self._bytes -= draft.exchange.size

    def _tried(self, job: Callable[[], object], reports: int) -> None:
        try:
            job()
        except (GroundwireError, SQLAlchemyError, OSError) as error:
            _lost(reports, str(error))


def _lost(reports: int, why: str) -> str:
    _log.warning("%d reports could not be kept: %s", reports, " ".join(why.split())[:300])
    return ""


# Stored reports as the service shows them: rows of a list, one opened, and the figures of many.

_DAY_REPORTS = 86_400


class SummaryOut(BaseModel):
    """A report in a line. `flagged` is null where it could not be found out."""

    id: str
    kind: str = Field(description="`check`, `audit`, or the door it came through.")
    created: str
    expires: str
    title: str = Field(description="The question, or the beginning of the answer.")
    flagged: bool | None
    risk: float | None
    grounding_ratio: float | None
    claims: int
    flagged_claims: int
    unchecked: int
    backend: str
    profile: str


class ReportList(BaseModel):
    reports: list[SummaryOut]
    next: str | None = Field(description="Give it as `before` for those that come after these.")


class SourceOut(BaseModel):
    id: str
    text: str
    origin: str


class StoredOut(SummaryOut):
    """A report with what it was made from. A check has `report` and `answer`, an audit `audit`."""

    report: dict[str, Any] | None = Field(default=None, description="As `/v1/check` answered it.")
    audit: dict[str, Any] | None = Field(default=None, description="As `/v1/traces/audit` answered it.")
    answer: str | None = None
    question: str
    history: list[Any]
    sources: list[SourceOut]
    sources_kept: bool = Field(description="False where the sources were too large to be kept.")


class MomentOut(BaseModel):
    start: str
    reports: int
    flagged_reports: int
    failed_reports: int
    claims: int
    flagged_claims: int
    unchecked: int


class CountOut(BaseModel):
    name: str
    claims: int
    flagged: int


class StatsOut(BaseModel):
    """`moments` without anything in them are left out."""

    since: str
    step_hours: int
    totals: dict[str, int]
    moments: list[MomentOut]
    types: list[CountOut]
    sources: list[CountOut]


def summary_object(summary: Summary, config: Config) -> dict[str, Any]:
    found = asdict(summary)
    del found["owner"]
    found["grounding_ratio"] = found.pop("grounding")
    found["created"] = _iso(summary.created)
    found["expires"] = _iso(summary.created + config.server.keep_days * _DAY_REPORTS)
    return found


def opened(summary: Summary, body: str, held: Service) -> dict[str, Any]:
    """A report with what people said of its claims since."""
    stored: dict[str, Any] = json.loads(body)
    claims = [*stored.get("report", {}).get("claims", ()), *stored.get("audit", {}).get("steps", ())]
    said = Opinions(held.database).of(claim["key"] for claim in claims)
    for claim in claims:
        opinion = said.get(claim["key"])
        claim["feedback"] = feedback_object(opinion) if opinion else None
    return {**summary_object(summary, held.config), **stored}


def stats_object(figures: Figures, since: float, step: int) -> dict[str, Any]:
    names = [name for name in Moment.__slots__ if name != "hour"]
    return {
        "since": _iso(since),
        "step_hours": step,
        "totals": {name: sum(getattr(moment, name) for moment in figures.moments) for name in names},
        "moments": [
            {"start": _iso(moment.hour * HOUR), **{name: getattr(moment, name) for name in names}}
            for moment in figures.moments
        ],
        "types": _counts_reports(figures.types),
        "sources": _counts_reports(figures.sources),
    }


def _counts_reports(counts: Iterable[Count]) -> list[dict[str, Any]]:
    return [asdict(count) for count in counts]


def _iso(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds")


# Reports as one self-contained page, for whoever asks for HTML instead of JSON.

AS_PAGE: dict[str, Any] = {"content": {"text/html": {"schema": {"type": "string"}}}}
"""For the OpenAPI document of a route that answers in either form."""
_CSP = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; sandbox"


def wants_html(request: Request) -> bool:
    """A browser names text/html first; programs that take anything get JSON."""
    first = request.headers.get("accept", "").partition(",")[0]
    return first.partition(";")[0].strip().lower() == "text/html"


def html_answer(page: str) -> Response:
    """The page brings its own style, and may do nothing else."""
    headers = {"Content-Security-Policy": _CSP, "Cache-Control": "no-store"}
    return Response(page.encode("utf-8", "replace"), headers=headers, media_type="text/html")


def page_of(stored: Mapping[str, Any]) -> str:
    """A stored report as a page, the evidence quoted from the sources that were kept with it."""
    texts = {source["id"]: source["text"] for source in stored["sources"]}

    def quote(source: str, start: int, end: int) -> str:
        return str(texts.get(source, ""))[start:end]

    if "audit" in stored:
        return audit_page(audit_from(stored["audit"], quote))
    return to_html(report_from(stored["report"], stored["answer"], quote))
