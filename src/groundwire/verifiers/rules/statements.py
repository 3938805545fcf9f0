"""A context as statements: each with what it says and what it says it of.

A sentence often leaves out what it is about: the heading above it, the record it stands in, the sentence
before it say so. Here each statement is given that back, so that a value can be held against its own thing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from statistics import median

from groundwire.text.structure import MARKERS, TextPiece, pieces
from groundwire.types import UnitKind
from groundwire.verifiers.lexical.pieces import Analysis, analyse, content_norms

_SOURCE = re.compile(r"\n\n(?=\[[\w.:\-]{1,64}\][ \t])")
_REFERS_BACK = re.compile(
    r"(?:[Ii]ts?|[Hh]e|[Hh]is|[Ss]he|[Hh]er|[Tt]hey|[Tt]heir|[Tt]his|[Tt]hese)\b"
    r"|[Tt]he [a-z]+ (?:is|was|has|had|will|can|also|[a-z]+(?:ed|s))\b"
)
_RECORD_NAME = re.compile(r"(?:name|title|id|label)$", re.IGNORECASE)
_ITEM = re.compile(r"(?:^|\n)[ \t]*(?:[-*•+]|\d{1,3}[.)])[ \t]+$")
_MAX_ITEM_WORDS = 8
_OPENING_WORDS = 4
_MIN_ITEMS = 2
_MAX_VALUE_WORDS = 8


@dataclass(frozen=True, slots=True)
class Statement:
    """`own` is what the text itself holds, `about` what it is said of, both as comparable content words.

    `label` is what a cell or a leaf is called and `column` the last word of it; `value` is what comes behind.
    `structured` statements say one thing of one thing.
    """

    text: str
    analysis: Analysis
    own: frozenset[str]
    about: frozenset[str]
    label: frozenset[str] = frozenset()
    column: str = ""
    value: str = ""
    structured: bool = False
    norms: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "norms", self.own | self.about)


@dataclass(frozen=True, slots=True)
class Listing:
    """Things told one by one: how many, which, and the words that introduce them."""

    items: tuple[str, ...]
    lead: frozenset[str]
    text: str


@dataclass(frozen=True, slots=True)
class Told:
    """All that a context states and lists."""

    statements: tuple[Statement, ...]
    listings: tuple[Listing, ...]


@lru_cache(maxsize=64)
def told(context: str) -> Told:
    found = [_read(source) for source in _SOURCE.split(context)]
    return Told(
        tuple(s for statements, _ in found for s in statements),
        tuple(listing for _, listings in found for listing in listings),
    )


@lru_cache(maxsize=256)
def _read(source: str) -> tuple[tuple[Statement, ...], tuple[Listing, ...]]:
    cut = [piece for piece in pieces(source) if not any(marker in piece.text for marker in MARKERS)]
    return tuple(_statements(source, cut)), tuple(_listings(source, cut))


def _statements(source: str, cut: list[TextPiece]) -> Iterator[Statement]:
    heading: frozenset[str] = frozenset()
    name = _record_name(cut)
    subject: frozenset[str] = frozenset()
    end = 0
    for piece in cut:
        if "\n\n" in source[end : piece.start]:
            subject = frozenset()
        end = piece.end
        if piece.heading:
            heading = content_norms(piece.text)
            yield _plain(piece.text, frozenset())
        elif piece.kind is UnitKind.SENTENCE:
            statement = _plain(piece.text, heading | (subject if _refers_back(piece.text) else frozenset()))
            subject = statement.about - heading if _refers_back(piece.text) else _subject(statement)
            yield statement
        else:
            yield from _cells(piece, heading | name)


def _record_name(cut: list[TextPiece]) -> frozenset[str]:
    """The name of the one thing that a whole source is a record of."""
    named = [piece for piece in cut if piece.label and _RECORD_NAME.fullmatch(piece.label)]
    return content_norms(named[0].text[len(named[0].label) :]) if len(named) == 1 else frozenset()


def _plain(text: str, about: frozenset[str]) -> Statement:
    return Statement(text, analyse(text), content_norms(text), about)


def _refers_back(text: str) -> bool:
    return bool(_REFERS_BACK.match(text))


def _subject(statement: Statement) -> frozenset[str]:
    """What the next sentence means by 'it': the first name, else what the sentence opens with."""
    analysis = statement.analysis
    if analysis.names:
        return content_norms(analysis.names[0].text)
    opening = analysis.words[_OPENING_WORDS - 1].end if len(analysis.words) >= _OPENING_WORDS else None
    return content_norms(statement.text[:opening])


def _cells(piece: TextPiece, about: frozenset[str]) -> Iterator[Statement]:
    """A leaf is one statement; a row, or a leaf with several things in it, one a cell."""
    if piece.kind is UnitKind.ROW:
        parts = piece.text.split("; ")
        first = content_norms(parts[0].partition(": ")[2] or parts[0])
        for part in parts:
            yield _labelled(part, about | first)
        return
    parts = piece.text[len(piece.label) :].removeprefix(": ").split("; ")
    if len(parts) == 1:
        yield _labelled(piece.text, about, piece.label)
        return
    for part in parts:
        yield _labelled(part, about | content_norms(piece.label), "")


def _labelled(text: str, about: frozenset[str], label: str | None = None) -> Statement:
    name = text.partition(": ")[0] if label is None else label
    own = content_norms(text)
    called = analyse(name).content or analyse(text).content[:1]
    return Statement(
        text, analyse(text), own, about,
        label=content_norms(name) if name else own,
        column=called[-1].norm if called else "",
        value=text[len(name) :].removeprefix(": ") if name else "",
        structured=len(text.split()) - len(name.split()) <= _MAX_VALUE_WORDS,
    )  # fmt: skip


def _listings(source: str, cut: list[TextPiece]) -> Iterator[Listing]:
    lead = ""
    items: list[str] = []
    named = content_norms(" ".join(_names_of(cut)))
    for piece in cut:
        if piece.kind is UnitKind.SENTENCE and not piece.heading and _is_item(source, piece):
            items.append(piece.text)
            continue
        yield from _listed(items, lead)
        items = []
        if piece.kind is UnitKind.SENTENCE:
            lead = piece.text
            if not piece.heading:
                yield from in_line(piece.text)
        elif piece.kind is UnitKind.LEAF:
            yield from in_line(piece.text, named)
    yield from _listed(items, lead)


def _names_of(cut: list[TextPiece]) -> list[str]:
    return [p.text[len(p.label) :] for p in cut if p.label and _RECORD_NAME.fullmatch(p.label)][:1]


def _is_item(source: str, piece: TextPiece) -> bool:
    return bool(_ITEM.search(source[: piece.start][-12:])) and len(piece.text.split()) <= _MAX_ITEM_WORDS


def _listed(items: list[str], lead: str) -> Iterator[Listing]:
    if len(items) >= _MIN_ITEMS and lead:
        yield Listing(tuple(items), content_norms(lead), f"{lead} {', '.join(items)}")


_PART = r"[^,;:.()\n]+"
_SERIES = re.compile(  # begins where a part does, and gives none of it back: a long line is read once
    rf"(?<![^,;:.()\n]){_PART}+(?:(?:, {_PART})+,? (?:and|or) {_PART}|(?:, {_PART}){{2,}})"
)
_BETWEEN = re.compile(r",? (?:and|or) |, ")


def in_line(text: str, about: frozenset[str] = frozenset()) -> Iterator[Listing]:
    """'… are A, B and C': the series, its first item without the words that lead up to it."""
    for match in _SERIES.finditer(text):
        parts = [part.strip() for part in _BETWEEN.split(match[0]) if part.strip()]
        usual = int(median(len(part.split()) for part in parts[1:-1] or parts[1:]))
        if usual > _MAX_ITEM_WORDS:
            continue
        items = (" ".join(parts[0].split()[-usual:]), *parts[1:-1], " ".join(parts[-1].split()[:usual]))
        listed = frozenset().union(*(content_norms(item) for item in items))
        yield Listing(items, (content_norms(text) - listed) | about, text)
