"""Reports of earlier checks: feedback on the same claims, and the last reports, kept in the cache."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import sys
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from groundwire.config import Config
from groundwire.errors import GroundwireError
from groundwire.reports.json import feedback_object, to_json
from groundwire.stores.cache import CacheStore
from groundwire.text.controls import json_text
from groundwire.types import HallucinationReport

if TYPE_CHECKING:
    from groundwire.stores.database import Database

_LAST = "report:last"
_MAX_REPORT_CHARS = 2_000_000
"""Larger reports are not cached, so that one report cannot fill the cache."""
_CLAIM_KEY_CHARS = 12
_REPORT_KEY_CHARS = 16


def remember_report(report: HallucinationReport, config: Config) -> None:
    """Cache the report, so that `groundwire feedback c2 wrong` finds its claims."""
    if not report.claims or not config.store.cache_path:
        return
    text = to_json(report, indent=None)
    if len(text) > _MAX_REPORT_CHARS:
        return
    keys = [claim.key for claim in report.claims]
    name = f"report:{report_key(keys)}"
    pointers = {f"claim:{key}": name for key in keys}
    with closing(CacheStore(config.store.cache_path)) as cache:
        cache.put({name: text, _LAST: name, **pointers}, config.hallucination.cache_ttl)


def recall_report(claim: str, config: Config) -> str:
    """The JSON of the report with this claim key, or of the last report for c1, c2, …; else empty."""
    ttl = config.hallucination.cache_ttl
    pointer = f"claim:{claim}" if len(claim) == _CLAIM_KEY_CHARS else _LAST
    with closing(CacheStore(config.store.cache_path)) as cache:
        name = cache.get([pointer], ttl).get(pointer, "")
        return cache.get([name], ttl).get(name, "")


def report_key(claim_keys: Sequence[str]) -> str:
    """A stable name for a report: two reports with the same claims are the same report."""
    return hashlib.sha256(" ".join(claim_keys).encode()).hexdigest()[:_REPORT_KEY_CHARS]


class FeedbackReader:
    """Attach earlier feedback to reports, if the store has any.

    If the store fails, a warning is printed once and the reports are returned without feedback.
    """

    def __init__(self, config: Config) -> None:
        self._url = config.store.url
        self._database: Database | None = None
        self._enabled = _has_feedback(self._url)

    def annotate(self, report: HallucinationReport) -> HallucinationReport:
        found = self._lookup([claim.key for claim in report.claims])
        if not found:
            return report
        claims = tuple(replace(claim, feedback=found.get(claim.key)) for claim in report.claims)
        return replace(report, claims=claims)

    def annotate_json(self, line: str) -> str:
        """The same for a report that is JSON already."""
        if not self._enabled:
            return line
        report: dict[str, Any] = json.loads(line)
        found = self._lookup([claim["key"] for claim in report["claims"]])
        for claim in report["claims"]:
            if claim["key"] in found:
                claim["feedback"] = feedback_object(found[claim["key"]])
        return json_text(report) if found else line

    def _lookup(self, keys: list[str]) -> dict[str, Any]:
        if not self._enabled or not keys:
            return {}
        # Imported here: a check without feedback does not need the database layer.
        from groundwire.stores.database import open_database
        from groundwire.stores.feedback import FeedbackStore

        try:
            self._database = self._database or open_database(self._url, create=False)
            return dict(FeedbackStore(self._database).of(keys))
        except GroundwireError as error:
            self._enabled = False
            print(f"groundwire: feedback is not shown: {error}", file=sys.stderr)
            return {}

    def close(self) -> None:
        if self._database is not None:
            self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _has_feedback(url: str) -> bool:
    """Look into a SQLite file without loading the database layer; a server URL is assumed to have some."""
    if "://" in url:
        return True
    try:
        path = Path(url).expanduser()
        if not path.is_file():
            return False
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as file:
            return file.execute("SELECT 1 FROM feedback LIMIT 1").fetchone() is not None
    except (sqlite3.Error, OSError, RuntimeError):  # no such table, not a database, no home folder
        return False
