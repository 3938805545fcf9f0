"""`groundwire feedback`: people say which verdicts were right."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console
from rich.text import Text

from groundwire.cli.reported import find
from groundwire.cli.streams import delivered, write_whole
from groundwire.config import Config
from groundwire.errors import InputError
from groundwire.reports.json import feedback_object
from groundwire.reports.plaintext import feedback_line, sanitize
from groundwire.stores.database import open_database
from groundwire.stores.feedback import Entry, Judged, Opinions, Verdict
from groundwire.types import Feedback, Status

RIGHT, WRONG = "right", "wrong"
_NO_VERDICT = (Status.UNCHECKED, Status.UNVERIFIABLE)
_NOTE_CHARS = 2000


def run_mark(claim: str, said: str, note: str, report: Path | None, config: Config, console: Console) -> int:
    """Keep an opinion on the verdict of a claim, and say what it was about."""
    if said not in (RIGHT, WRONG):
        raise InputError(f"a verdict is right or wrong, not '{said}'")
    judged, verdict = find(claim, report, config)
    kept = mark(judged, verdict, said == RIGHT, note, config)
    console.print(Text(f"{verdict.key}  {sanitize(verdict.claim)}"))
    console.print(Text(sanitize(feedback_line(kept))))
    return 0


def mark(judged: Judged, verdict: Verdict, right: bool, note: str, config: Config) -> Feedback:
    if verdict.status in _NO_VERDICT:
        raise InputError(f"there is no verdict on this claim to mark: it is {verdict.status.value}")
    if len(note) > _NOTE_CHARS:
        raise InputError(f"the note has {len(note):,} characters", hint=f"the limit is {_NOTE_CHARS:,}")
    kept = Feedback(right, verdict.status, verdict.flagged, datetime.now(UTC), note.strip())
    with opened(config, create=True) as opinions:
        opinions.add(judged, verdict, kept)
    return kept


def run_list(config: Config, console: Console) -> int:
    with opened(config) as opinions:
        entries = opinions.entries()
    with delivered():
        for entry in entries:
            console.print(Text(f"{entry.verdict.key}  {sanitize(entry.verdict.claim)}"), soft_wrap=True)
            console.print(Text(f"    {sanitize(feedback_line(entry.feedback))}", style="dim"), soft_wrap=True)
        if not entries:
            console.print("nothing was marked yet")
    return 0


def run_export(out: Path | None, config: Config) -> int:
    """A JSON object a line, for whoever wants to train or count."""
    with opened(config) as opinions:
        lines = "".join(_line(entry) for entry in opinions.entries())
    if out is not None:
        write_whole(out, lines)
        return 0
    with delivered():
        sys.stdout.write(lines)
    return 0


def run_forget(key: str, config: Config, console: Console) -> int:
    with opened(config) as opinions:
        gone = opinions.forget(key)
    if not gone:
        raise InputError(f"nothing was said of {key}", hint="groundwire feedback list names the claims")
    console.print(f"{gone} opinion{'s' if gone > 1 else ''} on {key} forgotten", highlight=False)
    return 0


@contextmanager
def opened(config: Config, *, create: bool = False) -> Iterator[Opinions]:
    database = open_database(config.store.url, create=create)
    try:
        yield Opinions(database)
    finally:
        database.close()


def _line(entry: Entry) -> str:
    verdict = entry.verdict
    row = {
        "key": verdict.key,
        "claim": verdict.claim,
        "report": entry.report,
        "gap_type": verdict.gap_type,
        "flagged": verdict.flagged,
        "p1": verdict.p1,
        "p0": verdict.p0,
        "budget_gap": verdict.gap_bits,
        "method": verdict.method,
        **feedback_object(entry.feedback),
    }
    return json.dumps(row, ensure_ascii=False) + "\n"
