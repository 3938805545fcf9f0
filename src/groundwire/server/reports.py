"""Stored reports: written asynchronously, listed, summarised, and shown as JSON or HTML.

The id is returned immediately; a background thread writes the row, so that no response waits or fails for it.
"""

from __future__ import annotations

import json
import logging
import queue
import secrets
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from fastapi import Request, Response
from sqlalchemy.exc import SQLAlchemyError

from groundwire.config import Config
from groundwire.errors import GroundwireError
from groundwire.reports.html import audit_page, to_html
from groundwire.reports.json import audit_from, audit_object, feedback_object, report_from, report_object
from groundwire.reports.plaintext import is_bad_step, shorten
from groundwire.stores.feedback import FeedbackStore
from groundwire.stores.reports import ReportStore, ReportSummary, StoredReport
from groundwire.types import HallucinationReport, Source, Status, TraceAudit

if TYPE_CHECKING:
    from groundwire.server.service import Service
    from groundwire.stores.database import Database

REPORT_HEADER = "X-Groundwire-Report"  # response header with the id of the stored report
STORE_HEADER = "X-Groundwire-Store"  # request header: `false` stores nothing
HTML_RESPONSE: dict[str, Any] = {"content": {"text/html": {"schema": {"type": "string"}}}}
"""For the OpenAPI document of a route that responds with JSON or HTML."""

_TITLE_CHARS = 140
_MAX_SOURCE_CHARS = 2_000_000  # larger sources are not stored with the report; its `sources_kept` says so
_MAX_PENDING = 256
_MAX_PENDING_CHARS = 64_000_000
"""Reports and characters that wait to be written. Beyond it reports are dropped: losing a stored copy is
better than delaying a response or running out of memory."""
_BATCH_SIZE = 64  # reports written in one transaction
_FIRST_PRUNE_SECONDS, _PRUNE_INTERVAL_SECONDS = 60.0, 3600.0
"""When expired reports are deleted: soon after the start, but not during it, then hourly."""
_CLOSE_SECONDS = 10.0
_DAY_SECONDS = 86_400.0
_FALSE = ("false", "0", "no", "off")
_REPORT_CSP = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; sandbox"
_log = logging.getLogger("groundwire.server")


@dataclass(frozen=True)
class CheckRecord:
    """A report and its input, as it is stored. `owner` is the API key; `kind` overrides check or audit."""

    report: HallucinationReport | TraceAudit
    sources: tuple[Source, ...] = ()
    question: str = ""
    history: tuple[object, ...] = ()
    owner: str = ""
    kind: str = ""
    id: str = field(default_factory=lambda: secrets.token_urlsafe(16))
    created: float = field(default_factory=time.time)

    @cached_property
    def size(self) -> int:
        """Characters, in whichever field they are: what waits to be written is limited by them."""
        if isinstance(self.report, HallucinationReport):
            texts = [self.report.response]
        else:
            texts = [step.step.text for step in self.report.steps]
        turns = (turn if isinstance(turn, str) else str(turn) for turn in self.history)
        return sum(map(len, (*texts, self.question, *turns, *(source.text for source in self.sources))))

    def row(self) -> StoredReport | None:
        """None if it cannot be serialised, such as a history that is nested too deeply."""
        try:
            return report_row(self)
        except (ValueError, TypeError, RecursionError) as error:
            _log_lost(1, str(error))
            return None


def store_report(
    service: Service,
    report: HallucinationReport | TraceAudit,
    request: Request,
    *,
    sources: Sequence[Source] = (),
    question: str = "",
    history: Sequence[object] = (),
    kind: str = "",
) -> str:
    """Queue a report for writing and return its id; "" if it is not stored."""
    declined = request.headers.get(STORE_HEADER, "").strip().lower() in _FALSE
    if declined or not service.config.server.keep_reports:
        return ""
    record = CheckRecord(report, tuple(sources), question, tuple(history), owner_of(request), kind)
    return service.report_writer.put(record)


def owner_of(request: Request) -> str:
    """The id of the caller's API key; "" without keys."""
    caller = getattr(request.state, "caller", None)
    return str(getattr(caller, "key_id", "") or "")


class ReportWriter:
    """A thread that writes reports in batches and deletes expired ones.

    If too much is pending or the store fails, reports are lost and a warning is logged.
    """

    def __init__(self, open_store: Callable[[], Database], keep_days: int) -> None:
        self._open_store = open_store
        self._keep_seconds = keep_days * _DAY_SECONDS
        self._queue: queue.Queue[CheckRecord | None] = queue.Queue(_MAX_PENDING)
        self._pending: dict[str, CheckRecord] = {}
        self._pending_chars = 0
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="groundwire-reports", daemon=True)
        self._thread.start()

    @property
    def oldest(self) -> float:
        """Reports created before this time have expired, even if they are not deleted yet."""
        return time.time() - self._keep_seconds

    def put(self, record: CheckRecord) -> str:
        """Queue a record and return its id; "" if too much is pending."""
        with self._lock:
            if self._pending_chars + record.size > _MAX_PENDING_CHARS:
                _log_lost(1, "too many characters are waiting to be written")
                return ""
            self._pending[record.id] = record
            self._pending_chars += record.size
        try:
            self._queue.put_nowait(record)
        except queue.Full:
            self._forget([record])
            _log_lost(1, "too many reports are waiting to be written")
            return ""
        return record.id

    def pending(self, identity: str) -> StoredReport | None:
        """A report that is not written yet, so that its link works at once."""
        with self._lock:
            record = self._pending.get(identity)
        return record.row() if record else None

    def flush(self) -> None:
        """Wait until everything queued so far is written."""
        self._queue.join()

    def close(self) -> None:
        """Write what is pending; a store that does not answer is given up."""
        try:
            self._queue.put(None, timeout=_CLOSE_SECONDS)
            self._thread.join(_CLOSE_SECONDS)
        except queue.Full:
            pass
        if self._thread.is_alive():
            _log_lost(len(self._pending), f"the store did not answer within {_CLOSE_SECONDS:g} s")

    def _run(self) -> None:
        prune_at = time.monotonic() + _FIRST_PRUNE_SECONDS
        while True:
            if time.monotonic() >= prune_at:
                prune_at = time.monotonic() + _PRUNE_INTERVAL_SECONDS
                self._attempt(lambda: ReportStore(self._open_store()).prune(self.oldest), 0)
            try:
                first = self._queue.get(timeout=max(0.0, prune_at - time.monotonic()))
            except queue.Empty:
                continue
            batch = [first]
            with suppress(queue.Empty):
                while len(batch) <= _BATCH_SIZE:
                    batch.append(self._queue.get_nowait())
            records = [record for record in batch if record is not None]
            rows = [row for record in records if (row := record.row()) is not None]
            if rows:
                self._attempt(partial(self._add, rows), len(rows))
            self._forget(records)
            for _ in batch:
                self._queue.task_done()
            if None in batch:  # close() was called
                return

    def _add(self, rows: Sequence[StoredReport]) -> None:
        ReportStore(self._open_store()).add(rows)

    def _forget(self, batch: Sequence[CheckRecord]) -> None:
        with self._lock:
            for record in batch:
                del self._pending[record.id]
                self._pending_chars -= record.size

    def _attempt(self, job: Callable[[], object], reports: int) -> None:
        try:
            job()
        except (GroundwireError, SQLAlchemyError, OSError) as error:
            _log_lost(reports, str(error))


def _log_lost(reports: int, reason: str) -> None:
    _log.warning("%d reports could not be stored: %s", reports, " ".join(reason.split())[:300])


def report_row(record: CheckRecord) -> StoredReport:
    """A record as the store takes it: summary and JSON body."""
    report = record.report
    if isinstance(report, TraceAudit):
        texts = [step.step.text for step in report.steps]
        kind, title = "audit", report.question or record.question or next(iter(texts), "")
        claims = [step.verdict for step in report.steps]
        flagged_claims = sum(is_bad_step(step) for step in report.steps)
        body = _body(record, "audit", audit_object(report), steps=texts)
    else:
        kind, title = "check", record.question or report.response
        claims, flagged_claims = list(report.claims), len(report.flagged_claims)
        body = _body(record, "report", report_object(report), answer=report.response)
    summary = ReportSummary(
        id=record.id,
        kind=record.kind or kind,
        owner=record.owner,
        created=record.created,
        title=shorten(title[: 4 * _TITLE_CHARS], _TITLE_CHARS),
        flagged=report.flagged,
        risk=getattr(report, "risk", None),
        grounding=getattr(report, "grounding_ratio", None),
        claims=len(claims),
        flagged_claims=flagged_claims,
        unchecked=sum(claim.status is Status.UNCHECKED for claim in claims),
        backend=report.backend,
        profile=getattr(report, "profile", ""),
    )
    return StoredReport(summary, body)


def _body(record: CheckRecord, name: str, report: Mapping[str, Any], **more: object) -> str:
    fits = sum(len(source.text) for source in record.sources) <= _MAX_SOURCE_CHARS
    sources = record.sources if fits else ()
    return json.dumps(
        {
            name: report,
            **more,
            "question": record.question,
            "history": list(record.history),
            "sources": [{"id": s.id, "text": s.text, "origin": s.origin} for s in sources],
            "sources_kept": fits,
        },
        ensure_ascii=False,
        default=str,
    )


def summary_object(summary: ReportSummary, config: Config) -> dict[str, Any]:
    found = asdict(summary)
    del found["owner"]
    found["grounding_ratio"] = found.pop("grounding")
    found["created"] = _iso(summary.created)
    found["expires"] = _iso(summary.created + config.server.keep_days * _DAY_SECONDS)
    return found


def stored_report_object(summary: ReportSummary, body: str, service: Service) -> dict[str, Any]:
    """A stored report with the feedback that its claims have received since."""
    stored: dict[str, Any] = json.loads(body)
    claims = [*stored.get("report", {}).get("claims", ()), *stored.get("audit", {}).get("steps", ())]
    feedback = FeedbackStore(service.database).of((claim["key"] for claim in claims), summary.owner)
    for claim in claims:
        opinion = feedback.get(claim["key"])
        claim["feedback"] = feedback_object(opinion) if opinion else None
    return {**summary_object(summary, service.config), **stored}


def _iso(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds")


def wants_html(request: Request) -> bool:
    """True for browsers, which name text/html first; programs that accept anything get JSON."""
    first = request.headers.get("accept", "").partition(",")[0]
    return first.partition(";")[0].strip().lower() == "text/html"


def html_response(page: str) -> Response:
    """A self-contained page that brings its own style and may do nothing else."""
    headers = {"Content-Security-Policy": _REPORT_CSP, "Cache-Control": "no-store"}
    return Response(page.encode("utf-8", "replace"), headers=headers, media_type="text/html")


def stored_report_page(stored: Mapping[str, Any]) -> str:
    """A stored report as HTML, with the evidence quoted from the sources stored with it."""
    texts = {source["id"]: source["text"] for source in stored["sources"]}

    def quote(source: str, start: int, end: int) -> str:
        return str(texts.get(source, ""))[start:end]

    if "audit" in stored:
        return audit_page(audit_from(stored["audit"], quote))
    return to_html(report_from(stored["report"], stored["answer"], quote))
