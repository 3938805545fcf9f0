"""A context as the pieces a claim is compared with. Everything here is cached by text, since the contexts of
one answer's claims differ in a few pieces only."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from groundwire.text import dates as date_reader
from groundwire.text import numbers as number_reader
from groundwire.text.dates import PartialDate, weekdays
from groundwire.text.lexicon import NEGATIONS
from groundwire.text.names import Name, names
from groundwire.text.numbers import Number
from groundwire.text.structure import MARKERS, pieces
from groundwire.text.words import Word, is_stop, words
from groundwire.types import UnitKind
from groundwire.verify.lexical.tables import NEUTRAL_AFTER_NOT

_SOURCE = re.compile(r"\n\n(?=\[[\w.:\-]{1,64}\][ \t])")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])|_")
_MARKER = re.compile("|".join(re.escape(marker) for marker in MARKERS))
_CLAUSE_END = re.compile(r"[.,;:!?()\n—–]")
_NEGATED_WORDS = 3


@dataclass(frozen=True, slots=True)
class Piece:
    """The readable text of one piece and the comparable forms of its content words."""

    text: str
    content: frozenset[str]
    structured: bool
    label: str = ""


@dataclass(frozen=True, slots=True)
class Analysis:
    """Everything the rules need to know of a claim or a piece."""

    text: str
    words: tuple[Word, ...]
    content: tuple[Word, ...]
    numbers: tuple[Number, ...]
    dates: tuple[PartialDate, ...]
    names: tuple[Name, ...]
    weekdays: frozenset[int]
    negated: frozenset[str]
    norms: frozenset[str]


@lru_cache(maxsize=8)
def context_pieces(context: str) -> tuple[Piece, ...]:
    """All pieces of a rendered context, in order."""
    return tuple(piece for source in _SOURCE.split(context) for piece in _source_pieces(source))


@lru_cache(maxsize=512)
def _source_pieces(source: str) -> tuple[Piece, ...]:
    found = []
    for piece in pieces(source):
        structured = piece.kind is not UnitKind.SENTENCE
        text = (
            _readable(_MARKER.sub(" ", piece.text), piece.label)
            if structured
            else _MARKER.sub(" ", piece.text)
        )
        if text.strip():
            found.append(Piece(text, content_norms(text), structured, _CAMEL.sub(" ", piece.label)))
    return tuple(found)


def _readable(text: str, label: str) -> str:
    """Labels in words: OutdoorSeating reads 'Outdoor Seating'."""
    return _CAMEL.sub(" ", text[: len(label)]) + text[len(label) :]


@lru_cache(maxsize=1 << 15)
def content_norms(text: str) -> frozenset[str]:
    return frozenset(word.norm for word in words(text) if _is_content(word))


def _is_content(word: Word) -> bool:
    return not word.text[0].isdigit() and not is_stop(word.text) and word.text.lower() not in NEGATIONS


@lru_cache(maxsize=1 << 12)
def analyse(text: str) -> Analysis:
    tokens = tuple(words(text))
    found_dates = tuple(date_reader.dates(text))
    return Analysis(
        text=text,
        words=tokens,
        content=tuple(word for word in tokens if _is_content(word)),
        numbers=tuple(n for n in number_reader.numbers(text) if not _inside(n, found_dates)),
        dates=found_dates,
        names=tuple(names(text)),
        weekdays=frozenset(day for day, _, _ in weekdays(text)),
        negated=_negated(text, tokens),
        norms=frozenset(word.norm for word in tokens),
    )


def _inside(number: Number, found: tuple[PartialDate, ...]) -> bool:
    return any(
        date.start <= number.start < date.end or number.start <= date.start < number.end for date in found
    )


def _negated(text: str, tokens: tuple[Word, ...]) -> frozenset[str]:
    """The content words a negation governs: the few that follow it in its clause; a label whose value is no."""
    found: set[str] = set()
    for i, token in enumerate(tokens):
        lowered = token.text.lower().replace("’", "'")
        if lowered not in NEGATIONS and not lowered.endswith("n't"):
            continue
        following = tokens[i + 1 : i + 6]
        if following and following[0].text.lower() in NEUTRAL_AFTER_NOT:
            continue
        if not following and text[: token.start].rstrip().endswith(":"):
            found.update(w.norm for w in tokens[:i] if _is_content(w))
            continue
        found.update(_governed(text, token, following))
    return frozenset(found)


def _governed(text: str, token: Word, following: tuple[Word, ...]) -> list[str]:
    governed: list[str] = []
    end = token.end
    for word in following:
        if _CLAUSE_END.search(text, end, word.start) or len(governed) == _NEGATED_WORDS:
            break
        end = word.end
        if _is_content(word):
            governed.append(word.norm)
    return governed
