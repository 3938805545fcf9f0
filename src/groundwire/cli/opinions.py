"""Reports shown together with what people said of the same claims before."""

from __future__ import annotations

import json
import sqlite3
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from groundwire.config import Config
from groundwire.errors import GroundwireError
from groundwire.reports.json import feedback_object
from groundwire.types import HallucinationReport

if TYPE_CHECKING:
    from groundwire.stores.database import Database


class Said:
    """Looks claims up in the store, if there is one and anything was ever said.

    A store in trouble is told of once and left alone: no check fails for an opinion.
    """

    def __init__(self, config: Config) -> None:
        self._url = config.store.url
        self._database: Database | None = None
        self._on = _anything(self._url)

    def report(self, report: HallucinationReport) -> HallucinationReport:
        found = self._of([claim.key for claim in report.claims])
        if not found:
            return report
        claims = tuple(replace(claim, feedback=found.get(claim.key)) for claim in report.claims)
        return replace(report, claims=claims)

    def line(self, line: str) -> str:
        """The same for a report that is JSON already."""
        if not self._on:
            return line
        report: dict[str, Any] = json.loads(line)
        found = self._of([claim["key"] for claim in report["claims"]])
        for claim in report["claims"]:
            if claim["key"] in found:
                claim["feedback"] = feedback_object(found[claim["key"]])
        return json.dumps(report, ensure_ascii=False) if found else line

    def _of(self, keys: list[str]) -> dict[str, Any]:
        if not self._on or not keys:
            return {}
        from groundwire.stores.database import open_database
        from groundwire.stores.feedback import Opinions

        try:
            self._database = self._database or open_database(self._url, create=False)
            return dict(Opinions(self._database).of(keys))
        except GroundwireError as error:
            self._on = False
            print(f"groundwire: no feedback is shown: {error}", file=sys.stderr)
            return {}

    def close(self) -> None:
        if self._database is not None:
            self._database.close()

    def __enter__(self) -> Said:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _anything(url: str) -> bool:
    """Whether it is worth opening. A file is looked into without the weight of a database layer."""
    if "://" in url:
        return True
    try:
        path = Path(url).expanduser()
        if not path.is_file():
            return False
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as file:
            return file.execute("SELECT 1 FROM feedback LIMIT 1").fetchone() is not None
    except (sqlite3.Error, OSError, RuntimeError):  # no such table, no store at all, no home folder
        return False
