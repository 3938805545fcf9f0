"""Keeping reports: an id at once, the writing later and elsewhere: no answer waits or fails for it."""

from __future__ import annotations

import logging
import queue
import secrets
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypedDict, Unpack

from sqlalchemy.exc import SQLAlchemyError

from groundwire.errors import GroundwireError
from groundwire.server.kept import Exchange, stored
from groundwire.stores.reports import Reports, Stored
from groundwire.types import HallucinationReport, Source, TraceAudit

if TYPE_CHECKING:
    from fastapi import Request

    from groundwire.server.service import Service
    from groundwire.stores.database import Database

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
