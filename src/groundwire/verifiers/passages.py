"""A context as the short passages a claim is read against.

Leaves that only make sense together are joined: a week of opening hours, a set of yes/no flags.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from groundwire.text.structure import TextPiece, pieces
from groundwire.types import UnitKind

DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_FLAGS = ("yes", "no", "not stated")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])|_")
_TIMES = re.compile(r"^(\d{1,2}):(\d{1,2})\s?-\s?(\d{1,2}):(\d{1,2})$")
_LONG_VALUE = 12
# "Ana: …", "Dr. Reed (chair): …": who speaks belongs to what is said, however long
_SPEAKER = re.compile(r"[A-Z][\w.'’-]*(?: [A-Z(#][\w.'’)#-]*){0,2}")
_MAX_WORDS = 60


@dataclass(frozen=True, slots=True)
class Passage:
    """Readable text; `label` and `values` are set where it came from structured data."""

    text: str
    label: str = ""
    values: tuple[tuple[str, str], ...] = ()


def passages(context: str) -> list[Passage]:
    """All passages of a context, in order.

    >>> [p.text for p in passages('{"hours": {"Monday": "9:0-17:0", "Tuesday": "9:0-17:0"}}')][0][:29]
    'hours: Monday to Tuesday 9:00'
    """
    found: list[Passage] = []
    for (parent, kind), run in groupby(pieces(context), key=_group):
        members = list(run)
        if kind == "week":
            found.append(_week(parent, members))
        elif kind == "flags" and len(members) > 1:
            found.append(_flags(parent, members))
        else:
            for piece in members:
                found.extend(_single(piece))
    return found


def readable(label: str) -> str:
    """`attributes RestaurantsTakeOut` → `attributes restaurants take out`."""
    return " ".join(_CAMEL.sub(" ", label).lower().split())


def value_of(piece: TextPiece) -> str:
    """The leaf's value as a reader would say it."""
    value = piece.text[len(piece.label) :].removeprefix(":").strip() if piece.label else piece.text
    if value in ("not given", "null", "None", ""):
        return "not stated"
    times = _TIMES.match(value)
    if times:
        a, b, c, d = (int(part) for part in times.groups())
        return f"{a}:{b:02d} to {c}:{d:02d}"
    return value


def _group(piece: TextPiece) -> tuple[str, str]:
    if piece.kind is not UnitKind.LEAF or " " not in piece.label:
        return "", ""
    parent, _, last = piece.label.rpartition(" ")
    if last in DAYS:
        return parent, "week"
    # one level below the top means attributes of different kinds; those stay apart
    if " " in parent and value_of(piece) in _FLAGS:
        return parent, "flags"
    return "", ""


def _week(parent: str, members: Sequence[TextPiece]) -> Passage:
    table = {piece.label.rpartition(" ")[2]: value_of(piece) for piece in members}
    runs: list[tuple[int, int, str]] = []
    for number, day in enumerate(DAYS):
        text = table.get(day, "closed")
        if runs and runs[-1][2] == text:
            runs[-1] = (runs[-1][0], number, text)
        else:
            runs.append((number, number, text))
    said = "; ".join(f"{DAYS[a]} {text}" if a == b else f"{DAYS[a]} to {DAYS[b]} {text}" for a, b, text in runs)
    name = readable(parent)
    return Passage(f"{name}: {said}", name, tuple(table.items()))


def _flags(parent: str, members: Sequence[TextPiece]) -> Passage:
    name = readable(parent.rpartition(" ")[2])
    values = tuple((readable(piece.label.rpartition(" ")[2]), value_of(piece)) for piece in members)
    parts = [
        f"{', '.join(key for key, value in values if value == word)}: {word}"
        for word in _FLAGS
        if any(value == word for _, value in values)
    ]
    return Passage(f"{name}: {'; '.join(parts)}", name, values)


def _single(piece: TextPiece) -> Iterator[Passage]:
    if piece.kind is UnitKind.LEAF and piece.label:
        label, value = readable(piece.label), value_of(piece)
        if len(value.split()) <= _LONG_VALUE:
            yield Passage(f"{label}: {value}", label, ((label, value),))
            return
        speaker = f"{piece.label}: " if _SPEAKER.fullmatch(piece.label) else ""
        yield from _cut(value, label, speaker)
    else:
        yield from _cut(piece.text, readable(piece.label))


def _cut(text: str, label: str, lead: str = "") -> Iterator[Passage]:
    words = text.split()
    for start in range(0, len(words), _MAX_WORDS):
        yield Passage(lead + " ".join(words[start : start + _MAX_WORDS]), label)
