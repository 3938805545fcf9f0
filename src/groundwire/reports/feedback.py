"""Reports of earlier checks and feedback on them.

The last reports are kept in the cache, so that a claim can be found and its verdict marked right or wrong; the marks
are attached to later reports on the same claims. The database layer is imported where it is used: a check without
feedback does not need it.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from pydantic import BaseModel, ConfigDict, ValidationError

from groundwire.config import Config
from groundwire.errors import GroundwireError, InputError
from groundwire.reports.json import feedback_object, to_json
from groundwire.stores.cache import CacheStore
from groundwire.text.controls import json_text
from groundwire.types import Feedback, HallucinationReport, Status

if TYPE_CHECKING:
    from groundwire.stores.database import Database
    from groundwire.stores.feedback import FeedbackReport, FeedbackStore, ReviewedVerdict

_LAST = "report:last"
_MAX_REPORT_CHARS = 2_000_000
"""Larger reports are not cached, so that one report cannot fill the cache."""
_CLAIM_KEY_CHARS = 12  # hexadecimal digits of a SHA-256: users type the key of a claim
_REPORT_KEY_CHARS = 16  # the same for a report, of which there are more
_WITHOUT_VERDICT = (Status.UNCHECKED, Status.UNVERIFIABLE)
_MAX_NOTE_CHARS = 2000  # a remark on a verdict, not a document
_CLAIM_HINT = "use c1, c2, … or the claim's key"


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


# ---- marking a verdict


@contextmanager
def open_feedback(config: Config, *, create: bool = False) -> Iterator[FeedbackStore]:
    from groundwire.stores.database import open_database
    from groundwire.stores.feedback import FeedbackStore

    with closing(open_database(config.store.url, create=create)) as database:
        yield FeedbackStore(database)


def add_feedback(
    judged: FeedbackReport, verdict: ReviewedVerdict, right: bool, note: str, config: Config, *, owner: str = ""
) -> Feedback:
    """Store feedback on a report of `owner`. Raises `InputError` if the claim has no verdict, or for a long note."""
    if verdict.status in _WITHOUT_VERDICT:
        raise InputError(f"there is no verdict on this claim to mark: it is {verdict.status.words}")
    if len(note) > _MAX_NOTE_CHARS:
        raise InputError(f"the note has {len(note):,} characters", hint=f"the limit is {_MAX_NOTE_CHARS:,}")
    feedback = Feedback(right, verdict.status, verdict.flagged, datetime.now(UTC), note.strip())
    with open_feedback(config, create=True) as store:
        store.add(judged, verdict, feedback, owner)
    return feedback


class _ReportedClaim(BaseModel):
    model_config = ConfigDict(strict=True)

    id: str
    key: str
    text: str
    status: Status
    gap_type: str | None = None
    flagged: bool
    p1: float | None = None
    p0: float | None = None
    budget_gap: float | None = None
    method: str = ""


class _ReportJson(BaseModel):
    """The parts of a report's JSON that feedback needs."""

    model_config = ConfigDict(strict=True)

    id: str = ""
    risk: float | None
    backend: str
    profile: str
    claims: list[_ReportedClaim]


class _StoredReport(BaseModel):
    report: _ReportJson


def find_claim(claim: str, file: Path | None, config: Config) -> tuple[FeedbackReport, ReviewedVerdict]:
    """A claim by its key or by `c2`, in the file or else in the last reports made on this machine."""
    if file is None:
        text = recall_report(claim, config)
        if not text:
            raise InputError("it was not checked here recently", hint="name its report with --report FILE.json")
        return _first(_parse(text), claim, "the last report")
    found = [pair for report in _read(file) for pair in _matching(report, claim)]
    if not found:
        raise InputError(f"{file} has no claim {claim}")
    if len({verdict.key for _, verdict in found}) > 1:
        raise InputError(f"{file} has several claims {claim}", hint="use the key of the one you mean")
    return found[-1]


def claim_of_report(report: HallucinationReport, claim: str) -> tuple[FeedbackReport, ReviewedVerdict]:
    return _first(_parse(to_json(report)), claim, "the last report")


def claim_of_stored_report(text: str, claim: str) -> tuple[FeedbackReport, ReviewedVerdict]:
    """A claim of a report that the server stored; its JSON is the value of the key `report`."""
    try:
        stored = _StoredReport.model_validate_json(text)
    except ValidationError:  # audits are stored too, and have no claims
        raise InputError("this report cannot be marked") from None
    return _first(stored.report, claim, "the report")


def _first(report: _ReportJson, claim: str, name: str) -> tuple[FeedbackReport, ReviewedVerdict]:
    found = _matching(report, claim)
    if not found:
        raise InputError(f"{name} has no claim {claim}", hint=_CLAIM_HINT)
    return found[0]


def _read(file: Path) -> Iterator[_ReportJson]:
    """One report, or one per line as `groundwire batch` writes them."""
    try:
        text = file.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise InputError(f"{file} is not a report: it is not UTF-8") from None
    except OSError as error:
        raise InputError(f"cannot read {file}: {error.strerror}") from None
    try:
        whole = _parse(text)
    except InputError:
        for line in filter(str.strip, text.splitlines()):
            yield _parse(line, str(file))
    else:
        yield whole


def _parse(text: str, name: str = "the cached report") -> _ReportJson:
    try:
        return _ReportJson.model_validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"]))
        hint = "make one with groundwire check --json"
        raise InputError(f"{name} is not a report ({place}: {first['msg']})", hint=hint) from None


def _matching(report: _ReportJson, claim: str) -> list[tuple[FeedbackReport, ReviewedVerdict]]:
    from groundwire.stores.feedback import FeedbackReport, ReviewedVerdict

    keys, flagged = [c.key for c in report.claims], dict.fromkeys(c.key for c in report.claims if c.flagged)
    own = (report.id, report.risk, report.backend, report.profile, len(keys), tuple(flagged))
    judged = FeedbackReport(report_key(keys), *own)
    return [
        (judged, ReviewedVerdict(c.key, c.text, c.status, c.gap_type, c.flagged, c.p1, c.p0, c.budget_gap, c.method))
        for c in report.claims
        if claim in (c.key, c.id)
    ]
