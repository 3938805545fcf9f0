"""What the network reads beside a statement: the calls of a ledger in order, cut down to the lines that matter for it.

>>> calls = [CallRecord("mail.createDraft", '{"to": ["a@x.example"], "at": "2026-11-20T14:30:00Z"}', "saved", False)]
>>> ledger_window(calls, "The mail is sent.")
'mail create Draft: to: a@x.example; at: Fri 20 Nov 2026 14:30 → saved'
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from groundwire.text.tokens import is_stop, terms
from groundwire.types import CallRecord

WINDOW_TOKENS = 170
"""Longest window, by an estimate of its tokens: with the statement it must fit into what the network reads."""

LINE_WORDS = 14
"""Longest line in words. Lines are what a window leaves out or keeps."""

MAX_CHARS = 6000
"""Of one result: its beginning and end, where outcomes are."""

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_BREAK = re.compile(r"\n+|(?<=[.;!?])\s+(?=\S)")
_TOKEN = re.compile(r"[^\W\d_]{1,6}|\d{1,3}|[^\w\s]|_")
_TIMESTAMP = re.compile(r"\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?(?![\d-])")


@dataclass(frozen=True, slots=True)
class _LedgerLine:
    """A line of the written-out ledger. `call` is its number; the name of a call is its first line."""

    call: int
    text: str
    weight: float
    """What the line counts apart from the words it shares with a statement."""


def ledger_window(calls: Sequence[CallRecord], statement: str) -> str:
    """All calls by name, with as many lines of arguments and results as fit, the closest to the statement first."""
    lines = [line for number, call in enumerate(calls) for line in _lines(number, call)]
    wanted = {term for term in terms(statement) if not is_stop(term)}
    scores = [line.weight + len(wanted.intersection(terms(line.text))) for line in lines]
    room = WINDOW_TOKENS
    kept: set[int] = set()
    for place in sorted(range(len(lines)), key=lambda place: (-scores[place], -lines[place].call, place)):
        size = len(_TOKEN.findall(lines[place].text))
        if size <= room:
            kept.add(place)
            room -= size
    return " ".join(_joined(lines, kept))


def _joined(lines: Sequence[_LedgerLine], kept: set[int]) -> Iterator[str]:
    last = -1
    for place in sorted(kept):
        if last >= 0 and lines[place].call != lines[last].call:
            yield "|"
        if last >= 0 and lines[place].call == lines[last].call and place != last + 1:
            yield "…"
        yield lines[place].text
        last = place


_NAME, _ENDS = 2.0, 0.6
"""Weights: a call's name stands for an action that would else seem not to have been made; the first line of its
arguments, and the first and the last of its result, say what was done and how it ended."""


def _lines(number: int, call: CallRecord) -> Iterator[_LedgerLine]:
    name = " ".join(re.split(r"[_.]+", _CAMEL.sub(" ", call.name)))
    given = list(_cut(_plain(call.arguments)))
    yield _LedgerLine(number, f"{name}:", _NAME)
    for place, text in enumerate(given):
        yield _LedgerLine(number, text, 0.0 if place else _ENDS)
    result = list(_cut(_plain(call.result) or "no message"))
    mark = "→ error:" if call.failed else "→"
    for place, text in enumerate(result):
        ends = place in (0, len(result) - 1)
        yield _LedgerLine(number, text if place else f"{mark} {text}", _ENDS if ends else 0.0)


def _plain(text: str) -> str:
    """JSON as "key: value" pairs, other text as it is; times with their day of the week."""
    text = text if len(text) <= MAX_CHARS else f"{text[: MAX_CHARS // 2]}\n{text[-MAX_CHARS // 2 :]}"
    try:
        text = "; ".join(_pairs("", json.loads(text)))
    except (ValueError, RecursionError):
        text = text.replace("\\n", "\n").strip()
    return _TIMESTAMP.sub(_spoken, text)


def _spoken(match: re.Match[str]) -> str:
    """ "Fri 20 Nov 2026 14:30" for a time in ISO format: statements name days, and the network cannot count them."""
    try:
        moment = datetime.fromisoformat(match[0])
    except ValueError:
        return match[0]
    return (
        f"{moment:%a} {moment.day} {moment:%b %Y %H:%M}"
        if len(match[0]) > 10
        else f"{moment:%a} {moment.day} {moment:%b %Y}"
    )


def _pairs(key: str, value: object) -> Iterator[str]:
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _pairs(str(name).replace("_", " "), inner)
    elif isinstance(value, list) and any(isinstance(inner, dict) for inner in value):
        for inner in value:
            yield from _pairs(key, inner)
    else:
        shown = ", ".join(map(str, value)) if isinstance(value, list) else "none" if value is None else str(value)
        yield f"{key}: {shown}" if key else shown


def _cut(text: str) -> Iterator[str]:
    """The text in lines of at most `LINE_WORDS` words, broken behind sentences and pairs where there is room."""
    line: list[str] = []
    for words in map(str.split, _BREAK.split(text)):
        if line and len(line) + len(words) > LINE_WORDS:
            yield " ".join(line)
            line = []
        line += words
        while len(line) > LINE_WORDS:
            yield " ".join(line[:LINE_WORDS])
            line = line[LINE_WORDS:]
    if line:
        yield " ".join(line)
