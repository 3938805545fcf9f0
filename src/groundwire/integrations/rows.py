"""Rows of a batch: a response, its sources and optionally a question and a history, as a line of JSON.

The core of `groundwire batch` and of `GroundwireUDF`: a row goes in, its report comes out as a line of JSON.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

from groundwire._loop import run
from groundwire.config import Config
from groundwire.engine import Groundwire
from groundwire.errors import GroundwireError, InputError
from groundwire.otel import emit_failure, evaluated_span
from groundwire.reports.json import failed_object, report_object
from groundwire.requests import as_sources, as_turns
from groundwire.text.controls import json_text
from groundwire.types import Source, Turn
from groundwire.version import __version__

MAX_ROW_BYTES = 64_000_000
"""A row holds a response and its sources; a larger line is most likely not JSON Lines at all."""
CONCURRENT_ROWS = 8
"""Rows checked concurrently by an engine, so that the model can batch their claims."""
_OTHER_SETTINGS: dict[str, Any] = {
    **dict.fromkeys(("store", "sandbox", "server", "redis", "rag", "realtime", "proxy", "log"), True),
    "hallucination": {"memory_gate", "trace_auditing", "batch_size", "timeout", "cache_ttl"},
    "verification": {"parallel_verification", "max_retries"},
    "limits": {"retries", "requests_per_second", "concurrency", "breaker_failures", "breaker_cooldown"},
    "orchestrator": {"code", "max_turns", "max_depth", "max_calls", "max_tokens"},
}
"""The settings that no verdict depends on, which may change before a batch is resumed. Not the other way round:
a setting that is forgotten here costs a run, one that is missing from a list of those that count mixes two."""


@dataclass(frozen=True, slots=True)
class BatchRow:
    """One line of the input, not parsed yet. `number` counts from 1; 0 if its place is unknown."""

    number: int
    raw: bytes


@dataclass(frozen=True, slots=True)
class ParsedBatchRow:
    response: str
    sources: tuple[Source, ...]
    question: str
    history: tuple[Turn, ...] = ()
    traceparent: str = ""


def row_identity(row: BatchRow) -> str:
    """The id of the row; if it has none or cannot be parsed, its number, or a digest if that is unknown."""
    try:
        identity = json.loads(row.raw).get("id")
    except (ValueError, AttributeError, RecursionError):
        identity = None
    if isinstance(identity, str | int) and not isinstance(identity, bool):
        return str(identity)
    return f"row-{row.number or hashlib.sha256(row.raw.strip()).hexdigest()[:32]}"


def row_group(row: BatchRow, key: str) -> str:
    """The value of a key of the row, which may lie inside others: `meta.model`; "(none)" if it has none."""
    try:
        value = json.loads(row.raw)
        for name in key.split("."):
            value = value[name]
    except (ValueError, TypeError, LookupError, RecursionError):
        value = None
    return "(none)" if value is None else value if isinstance(value, str) else json.dumps(value)


def row_digest(row: BatchRow, config: Config) -> str:
    """A digest of a row and of the settings and the release it is checked with, which `batch --resume` compares."""
    settings = f"{__version__} {config.model_dump_json(exclude=_OTHER_SETTINGS)}"
    return hashlib.sha256(settings.encode() + b"\n" + row.raw.strip()).hexdigest()[:32]


def parse_row(raw: bytes) -> ParsedBatchRow:
    if len(raw) > MAX_ROW_BYTES:
        raise InputError(f"the row has {len(raw):,} bytes", hint=f"the limit is {MAX_ROW_BYTES:,}")
    try:
        row = json.loads(raw)
    except UnicodeDecodeError as error:
        raise InputError(f"the row is not UTF-8 (byte {error.start})") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"the row is not JSON: {error}") from None
    if not isinstance(row, dict):
        raise InputError("the row is not a JSON object")
    response = _text(row, "response")
    if row.get("sources") is None and row.get("context") is None:
        raise InputError("the row has neither 'sources' nor 'context'")
    sources = as_sources({"context": row["context"]} if row.get("sources") is None else row["sources"])
    question, traceparent = (_text(row, key, optional=True) for key in ("question", "traceparent"))
    return ParsedBatchRow(response, sources, question, as_turns(row.get("history") or ()), traceparent)


def _text(row: Mapping[str, Any], key: str, *, optional: bool = False) -> str:
    value = row.get(key)
    if value is None and optional:
        return ""
    if not isinstance(value, str):
        raise InputError(f"'{key}' must be a string" if key in row else f"the row has no '{key}'")
    return value


async def judge_row(engine: Groundwire, row: BatchRow) -> str:
    """The report on one row as a line of JSON. A row that cannot be checked gets a report with an `error`."""
    identity = row_identity(row)
    try:
        parsed = parse_row(row.raw)
        with evaluated_span(parsed.traceparent):
            report = await engine.check(
                parsed.response, parsed.sources, question=parsed.question, response_id=identity, history=parsed.history
            )
        verdict = report_object(report)
    except GroundwireError as error:
        with evaluated_span(_traceparent(row)):
            emit_failure(identity, str(error), include_text=engine.config.log.include_text)
        verdict = failed_object(identity, str(error), engine.backend.name, engine.profile.name)
    return json_text({**verdict, "digest": row_digest(row, engine.config)})


def _traceparent(row: BatchRow) -> str:
    """The span that a row names, if it can be read: the row may be what failed."""
    try:
        found = json.loads(row.raw).get("traceparent")
    except (ValueError, AttributeError, RecursionError):
        return ""
    return found if isinstance(found, str) else ""


def judge_rows(engine: Groundwire, rows: Iterable[BatchRow]) -> Iterator[str]:
    """One report per row, in the order of the rows, with a bounded number of rows in memory."""
    remaining = iter(rows)
    while window := list(islice(remaining, CONCURRENT_ROWS)):
        yield from run(_judge_window(engine, window))


async def _judge_window(engine: Groundwire, window: list[BatchRow]) -> list[str]:
    return await asyncio.gather(*(judge_row(engine, row) for row in window))
