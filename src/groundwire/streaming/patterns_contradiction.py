"""A stream that says one thing and later another: statements kept by what they speak of."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from groundwire.claims.decompose import has_verb
from groundwire.streaming.pattern import Hit
from groundwire.streaming.state import Said, Seen
from groundwire.text.lexicon import NEGATIONS
from groundwire.text.tokens import PRONOUN, Word
from groundwire.verifiers.lexical.tables import OPPOSITES

_CLAUSE = re.compile(r";\s+|,?\s+(?:but|while|whereas|however)\s+|,\s+(?:and|so)\s+|\s+[–—]\s+")
_HEADING = re.compile(r"#{1,6}\s|\*\*[^*]+\*\*:?\Z|[^.!?]{1,60}:\Z")
# Who speaks of another one, of one of several or of an unnamed one speaks of something else each time.
_OTHER = re.compile(
    r"\b(?:another|other|others|one of|some|each|every|several|few|former|latter|first|second|third|next)\b"
    r"|\A\W*(?:an?|one)\b",
    re.IGNORECASE,
)
_OWNED = re.compile(
    r"\b(?:actually|correction|I was wrong|I misspoke|sorry|to be precise|more precisely)\b", re.I
)
_MIN_CHARS = 12
_MIN_WORDS = 2
_MAX_WORDS = 14
_ROUGH = 0.05
_FINE = 0.005


@dataclass(frozen=True, slots=True)
class _Value:
    """The one value of a clause: a number with its unit, or a date as a number."""

    at: float
    unit: str
    room: float
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class _Clause:
    """`about` is what tells statements apart, `turned` whether an odd number of words turns it round."""

    about: tuple[object, ...]
    turned: bool
    value: _Value | None
    start: int
    end: int


def contradictions(seen: Seen) -> Iterator[Hit]:
    """The same words with another value, the same words denied, the opposite word in the same place."""
    if seen.text.endswith("?") or seen.supposed:
        return
    if _HEADING.match(seen.text):
        seen.past.scope = seen.text[:80]
        return
    for start, end in _clauses(seen.text):
        clause = _read(seen, start, end)
        if clause is not None:
            yield from _held_against(seen, clause)


def sure_of_contradiction(seen: Seen, hit: Hit) -> float:
    """Who owns a correction contradicts himself with good reason."""
    return 0.5 if _OWNED.search(seen.text) else 0.8 if hit.key.startswith("value") else 0.75


def _clauses(text: str) -> Iterator[tuple[int, int]]:
    begin = 0
    for match in _CLAUSE.finditer(text):
        yield begin, match.start()
        begin = match.end()
    yield begin, len(text)


def _read(seen: Seen, start: int, end: int) -> _Clause | None:
    """A clause that asserts something of something named; None for any other."""
    text = seen.text[start:end]
    if len(text) < _MIN_CHARS or PRONOUN.match(text) or _OTHER.search(text):
        return None
    if text.isascii() and not has_verb(text):
        return None
    value = _value(seen, start, end)
    inside = [word for word in seen.words if start <= word.start < end]
    content = [w for w in inside if not w.is_stop and not (value and value.start <= w.start < value.end)]
    plain, axes, turned = _taken_apart(inside, content)
    if not plain or not _MIN_WORDS <= len(plain) + len(axes) <= _MAX_WORDS:
        return None
    return _Clause((seen.past.scope, plain, axes, value.unit if value else None), turned, value, start, end)


def _taken_apart(
    inside: Sequence[Word], content: Sequence[Word]
) -> tuple[frozenset[str], frozenset[int], bool]:
    """The words that name, the scales on which the others stand, and whether it is turned round."""
    negations = sum(word.text.lower().replace("’", "'") in NEGATIONS for word in inside)
    sides = [min(OPPOSITES[word.norm]) for word in content if word.norm in OPPOSITES]
    plain = frozenset(
        word.norm for word in content if word.norm not in OPPOSITES and word.text.lower() not in NEGATIONS
    )
    turned = (negations + sum(side for _, side in sides)) % 2 == 1
    return plain, frozenset(axis for axis, _ in sides), turned


def _value(seen: Seen, start: int, end: int) -> _Value | None:
    """The value a clause states, where it states exactly one; a date beside a number only says when."""
    numbers = [n for n in seen.numbers if start <= n.start < end and n.kind != "ordinal" and not n.edge]
    if len(numbers) == 1:
        number = numbers[0]
        loose = _ROUGH if number.bound else _FINE
        room = max(number.step / 2, abs(number.value) * loose)
        return _Value(number.value, number.unit or "#", room, number.start, number.end)
    dates = [d for d in seen.dates if start <= d.start < end and d.year and d.years == 1]
    if len(dates) == 1 and not numbers:
        date = dates[0]
        return _Value(date.year, "year", 0.5, date.start, date.end)
    return None


def _held_against(seen: Seen, clause: _Clause) -> Iterator[Hit]:
    """Compare with what was said of the same, then keep it."""
    said = seen.past.said.get(clause.about)
    now = Said(seen.text[clause.start : clause.end][:160], seen.start + clause.start,
               clause.value.at if clause.value else None, clause.turned)  # fmt: skip
    seen.past.said.put(clause.about, now)
    if said is None:
        return
    other = (
        clause.value is not None
        and said.value is not None
        and (abs(clause.value.at - said.value) > clause.value.room)
    )
    if other and clause.turned == said.turned:
        yield _hit(clause, "value", said)
    elif clause.turned != said.turned and not other:
        yield _hit(clause, "denial", said)


def _hit(clause: _Clause, how: str, said: Said) -> Hit:
    return Hit(clause.start, clause.end, f'earlier: "{said.text}"', f"{how} {said.start}")
