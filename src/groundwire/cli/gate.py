"""What a batch comes to: its tally, the gate it must pass, and the files that tell a build about it."""

from __future__ import annotations

import heapq
import json
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from tempfile import TemporaryFile
from types import TracebackType
from typing import IO, Any, Self

from groundwire.cli.streams import write_whole
from groundwire.errors import InputError
from groundwire.reports.junit import junit_case, junit_document
from groundwire.reports.markdown import LISTED_ROWS, BatchSummary, batch_markdown, percent

FINE, FLAGGED, COULD_NOT_CHECK = 0, 1, 3
_OUTCOMES = {FINE: "passed", FLAGGED: "failed", COULD_NOT_CHECK: "undecided"}


@dataclass(frozen=True, slots=True)
class Gate:
    """`max_rate` is the share of responses that may be flagged; `junit` and `summary` are files to write."""

    max_rate: float | None = None
    junit: Path | None = None
    summary: Path | None = None

    def __post_init__(self) -> None:
        if self.max_rate is not None and not 0.0 <= self.max_rate <= 1.0:
            raise InputError(f"--max-rate is a share between 0 and 1, not {self.max_rate:g}")
        for path in self.files:
            if path.is_dir() or not path.parent.is_dir():
                raise InputError(f"cannot write {path}", hint="name a file in a folder that exists")
        if self.junit is not None and self.junit == self.summary:
            raise InputError("--junit and --summary name the same file")

    @property
    def files(self) -> tuple[Path, ...]:
        return tuple(path for path in (self.junit, self.summary) if path is not None)

    def exit_code(self, figures: BatchSummary) -> int:
        """Without a rate: 1 where anything is flagged, else 3 where anything was not checked.

        With one, a response that was not checked may be either, and the gate is passed, or failed, only where
        it is so whatever those are.
        """
        if self.max_rate is None:
            return FLAGGED if figures.flagged else COULD_NOT_CHECK if figures.failed else FINE
        allowed = self.max_rate * figures.rows + 1e-9
        if figures.flagged > allowed:
            return FLAGGED
        sure = figures.rows and figures.flagged + figures.failed <= allowed
        return FINE if sure else COULD_NOT_CHECK

    def told(self, figures: BatchSummary) -> str:
        """The gate in one line; nothing where there is none."""
        if self.max_rate is None:
            return ""
        if not figures.rows:
            return "gate undecided: there were no rows"
        low, high = figures.flagged / figures.rows, (figures.flagged + figures.failed) / figures.rows
        found = percent(low) if low == high else f"{percent(low)} to {percent(high)}"
        outcome = _OUTCOMES[self.exit_code(figures)]
        return f"gate {outcome}: {found} flagged, at most {percent(self.max_rate)} allowed"


@dataclass(slots=True)
class Ledger:
    """Hears every verdict of a run, old ones too where it goes on, in memory that does not grow."""

    name: str
    gate: Gate = field(default_factory=Gate)
    figures: BatchSummary = field(default_factory=BatchSummary)
    _cases: IO[str] | None = None
    _worst: list[tuple[float, int, Mapping[str, Any]]] = field(default_factory=list)
    _errors: list[Mapping[str, Any]] = field(default_factory=list)
    _numbers: Iterator[int] = field(default_factory=count)
    _open: ExitStack = field(default_factory=ExitStack)

    def __enter__(self) -> Self:
        if self.gate.junit is not None:
            # On disk: the counts that stand first in the file are known last.
            file = TemporaryFile("w+", encoding="utf-8", errors="replace", newline="")
            self._cases = self._open.enter_context(file)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open.close()

    def add(self, line: str) -> None:
        verdict: dict[str, Any] = json.loads(line)
        figures = self.figures
        figures.rows += 1
        figures.flagged += verdict["flagged"] is True
        figures.failed += verdict["flagged"] is None
        if not self.gate.files:
            return
        figures.claims += len(verdict["claims"])
        bad = [claim for claim in verdict["claims"] if claim["flagged"]]
        figures.flagged_claims += len(bad)
        figures.statuses.update(claim["gap_type"] or claim["status"].lower() for claim in bad)
        self._remember(verdict)
        if self._cases is not None:
            self._cases.write(junit_case(verdict, self.name))

    def _remember(self, verdict: Mapping[str, Any]) -> None:
        if verdict["flagged"] is None and len(self._errors) < LISTED_ROWS:
            self._errors.append(verdict)
        elif verdict["flagged"]:
            # The number makes ties go to the earlier row, and keeps verdicts from being compared.
            ranked = (verdict["risk"] or 0.0, -next(self._numbers), verdict)
            (heapq.heappush if len(self._worst) < LISTED_ROWS else heapq.heappushpop)(self._worst, ranked)

    def write(self) -> None:
        """The files, each whole or not at all."""
        figures = self.figures
        figures.worst = [verdict for _, _, verdict in sorted(self._worst, key=lambda r: r[:2], reverse=True)]
        figures.errors = self._errors
        if self.gate.junit is not None and self._cases is not None:
            counts = {"tests": figures.rows, "failures": figures.flagged, "errors": figures.failed}
            self._cases.seek(0)
            write_whole(self.gate.junit, junit_document(self.name, counts, self._cases))
        if self.gate.summary is not None:
            write_whole(self.gate.summary, batch_markdown(self.name, figures, self.gate.told(figures)))

    @property
    def exit_code(self) -> int:
        return self.gate.exit_code(self.figures)
