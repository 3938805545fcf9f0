"""Split a context into the pieces that a claim is compared with, and analyse each once.

Everything is cached by text, because the contexts of one answer's claims differ in a few pieces only.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from groundwire.text import dates as date_reader
from groundwire.text import numbers as number_reader
from groundwire.text.dates import PartialDate, weekdays
from groundwire.text.lexicon import NEGATIONS, word_set
from groundwire.text.names import Name, names
from groundwire.text.numbers import SCALES, Number
from groundwire.text.structure import MARKERS, pieces
from groundwire.text.structure import TextPiece as RawPiece
from groundwire.text.tokens import Word, is_stop, words
from groundwire.types import UnitKind
from groundwire.verifiers.lexical.tables import LIGHT, NEUTRAL_AFTER_NOT, SAME

_SOURCE = re.compile(r"\n\n(?=\[[\w.:\-]{1,64}\][ \t])")
_CAMEL = re.compile(r"(?<=[a-z]{3})(?=[A-Z])|_")
_ENTRY = re.compile(r"\b\d{1,3} ")
_MARKER = re.compile("|".join(re.escape(marker) for marker in MARKERS))
_CLAUSE_END = re.compile(r"[.,;:!?()\n—–]|--")
_LIST_ITEM = re.compile(r"\d{1,2}(?:[.)](?=\s+[^\W\d_])|(?=\s+[^\W\d_a-z]))")
_PASSAGE = re.compile(
    r"\b(?:passages?|sources?|documents?|steps?|figure|table|section|reference|page|review|out of)\s+"
    r"(?:[\d,& ]|and)*$",
    re.IGNORECASE,
)
_IN_SCALE = re.compile(
    r"\(\s*(?:in )?(thousands|millions|billions)\s*\)|\bin (thousands|millions|billions)\b", re.IGNORECASE
)
_CLAUSE_WORDS = word_set(
    "but while because although though whereas which who if unless since as that so אבל אך כי אם למרות"
)


@dataclass(frozen=True, slots=True)
class Piece:
    """The readable text of one piece and its normalised content words."""

    text: str
    content: frozenset[str]
    structured: bool
    label: tuple[str, ...] = ()


class Clause(NamedTuple):
    """The content words of one clause, whether it is negated, and the words after its negation."""

    content: frozenset[str]
    negated: bool
    denied: frozenset[str]


@dataclass(frozen=True, slots=True)
class Analysis:
    """A claim or a piece with its words, numbers, dates, names and clauses."""

    text: str
    words: tuple[Word, ...]
    content: tuple[Word, ...]
    numbers: tuple[Number, ...]
    dates: tuple[PartialDate, ...]
    names: tuple[Name, ...]
    weekdays: frozenset[int]
    clauses: tuple[Clause, ...]
    norms: frozenset[str]

    def around(self, start: int, end: int, window: int) -> tuple[Word, ...]:
        """The content words at most `window` characters from a position, by binary search."""
        first = bisect_left(self.content, start - window, key=lambda word: word.end)
        last = bisect_right(self.content, end + window, key=lambda word: word.start)
        return self.content[first:last]


@lru_cache(maxsize=8)
def context_pieces(context: str) -> tuple[Piece, ...]:
    """All pieces of a rendered context, in order."""
    return tuple(piece for source in _SOURCE.split(context) for piece in _source_pieces(source))


@lru_cache(maxsize=512)
def _source_pieces(source: str) -> tuple[Piece, ...]:
    found = []
    for piece in map(_with_heading, pieces(source)):
        structured = piece.kind is not UnitKind.SENTENCE
        text = _readable(_MARKER.sub(" ", piece.text), piece.label) if structured else _MARKER.sub(" ", piece.text)
        if text.strip():
            label = tuple(word.norm for word in _words(_CAMEL.sub(" ", piece.label)))
            found.append(Piece(text, content_norms(text) | _joined(label), structured, label))
    return tuple(found)


def _with_heading(piece: RawPiece) -> RawPiece:
    """Put the heading before a line of data, which is about what the heading names."""
    if not piece.under:
        return piece
    label = f"{piece.under} {piece.label}" if piece.label else ""
    return replace(piece, text=f"{piece.under} {piece.text}", label=label)


def _joined(label: tuple[str, ...]) -> frozenset[str]:
    """A label's neighbouring words joined: 'Take Out' matches 'takeout'."""
    return frozenset(a + b for a, b in pairwise(label))


def _readable(text: str, label: str) -> str:
    """Split labels into words: OutdoorSeating is 'Outdoor Seating'; the numbers of entries are removed."""
    return _ENTRY.sub("", _CAMEL.sub(" ", text[: len(label)])) + text[len(label) :]


@lru_cache(maxsize=1 << 15)
def content_norms(text: str) -> frozenset[str]:
    return frozenset(word.norm for word in _words(text) if _is_content(word))


def _words(text: str) -> list[Word]:
    """The words, with abbreviations and spelling variants unified."""
    return [w._replace(norm=SAME[w.norm]) if w.norm in SAME else w for w in words(text)]


def _is_content(word: Word) -> bool:
    return not word.text[0].isdigit() and not is_stop(word.text) and word.text.lower() not in NEGATIONS


@lru_cache(maxsize=1 << 12)
def analyse(text: str) -> Analysis:
    tokens = tuple(_words(text))
    found_dates = tuple(date_reader.dates(text))
    dated = covered(text, ((d.start, d.end) for d in found_dates))
    found_numbers = tuple(n for n in _numbers(text) if not _inside(n.start, n.end, dated))
    taken = covered(text, [(d.start, d.end) for d in found_dates] + [(n.start, n.end) for n in found_numbers])
    return Analysis(
        text=text,
        words=tokens,
        content=tuple(w for w in tokens if _is_content(w) and not _inside(w.start, w.end, taken)),
        numbers=found_numbers,
        dates=found_dates,
        names=tuple(n for n in names(text) if not _inside(n.start, n.end, taken)),
        weekdays=frozenset(day for day, _, _ in weekdays(text)),
        clauses=tuple(_clauses(text, tokens)),
        norms=frozenset(word.norm for word in tokens),
    )


def covered(text: str, ranges: Iterable[tuple[int, int]]) -> bytearray:
    """One byte per character, 1 inside a range: testing a position then takes constant time."""
    marks = bytearray(len(text))
    for start, end in ranges:
        marks[start:end] = b"\1" * (end - start)
    return marks


def _inside(start: int, end: int, marks: bytearray) -> bool:
    return marks.find(1, start, end) >= 0


def _numbers(text: str) -> list[Number]:
    """The numbers, but those of list items and passages; a column 'in millions' is scaled."""
    found = [n for n in number_reader.numbers(text) if not _is_label(text, n)]
    column = _IN_SCALE.search(text)
    if column is None:
        return found
    scale = SCALES[(column[1] or column[2]).lower()]
    return [_scaled(n, scale) if n.start > column.end() and n.step <= 1 and not n.unit else n for n in found]


def _is_label(text: str, number: Number) -> bool:
    before = text[max(0, number.start - 14) : number.start]
    return bool(_LIST_ITEM.match(text, number.start) and not before.strip("*-• \t")) or bool(_PASSAGE.search(before))


def _scaled(number: Number, scale: float) -> Number:
    return number._replace(value=number.value * scale, step=number.step * scale)


def _clauses(text: str, tokens: tuple[Word, ...]) -> Iterator[Clause]:
    """Split at punctuation and conjunctions; 'label: no' is one negated clause."""
    begin = 0
    for i, token in enumerate(tokens):
        end = tokens[i - 1].end if i else 0
        cut = token.text.lower() in _CLAUSE_WORDS or _CLAUSE_END.search(text, end, token.start)
        answer = i == len(tokens) - 1 and _is_denial(tokens, i)
        if cut and i > begin and not answer:
            yield _clause(tokens, begin, i)
            begin = i
    yield _clause(tokens, begin, len(tokens))


def _clause(tokens: tuple[Word, ...], begin: int, end: int) -> Clause:
    content = [(i, tokens[i].norm) for i in range(begin, end) if _is_content(tokens[i]) and tokens[i].norm not in LIGHT]
    denials = [i for i in range(begin, end) if _is_denial(tokens, i)]
    behind = (bisect_right(content, at, key=lambda word: word[0]) for at in denials)
    denied = {norm for first in behind for _, norm in content[first : first + 2]}
    if denials and denials[-1] == end - 1:
        denied.update(norm for _, norm in content)
    return Clause(frozenset(norm for _, norm in content), len(denials) % 2 == 1, frozenset(denied))


def _is_denial(tokens: tuple[Word, ...], i: int) -> bool:
    """Return True for 'not', 'never', 'isn't' …, but not for 'not only'."""
    lowered = tokens[i].text.lower().replace("’", "'")
    if lowered not in NEGATIONS and not lowered.endswith("n't"):
        return False
    return i + 1 >= len(tokens) or tokens[i + 1].text.lower() not in NEUTRAL_AFTER_NOT
