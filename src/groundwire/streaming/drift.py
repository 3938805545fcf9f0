"""Semantic drift: a term that was defined, spelled out or used in one sense, and now in another.

Catches definitions that change ("by X we mean …", "X stands for …"), abbreviations spelled out in two ways,
and words that kept one company before and keep quite another now. Misses shifts in words used once or twice.
There are no embeddings here: company is counted in words, so it takes several sentences on both sides.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt

from groundwire.streaming.goalposts import OWNED
from groundwire.text.numbers import numbers
from groundwire.text.sentences import sentences
from groundwire.text.tokens import words
from groundwire.types import Turn
from groundwire.types.realtime import Drift

ALIKE = 0.5
"""Definitions that share less than this are two."""
_APART, _TOGETHER, _USES = 0.08, 0.2, 3
_TURNS, _LONGEST = 40, 400
_REDEFINES = re.compile(
    r"\b(?:from (?:now|here) on|redefine[sd]?|in this (?:section|part|chapter|context)|"
    r"for (?:this|the) purposes?|in another sense|in a different sense|not to be confused)\b|מעתה|בהקשר אחר",
    re.IGNORECASE,
)
_TERM = r"[\"“'‘*_]*(?P<term>[\w][\w' -]{1,40}?)[\"”'’*_]*"
_IS = r"(?:we|I|you|they|the \w+) (?:mean|understand|refer to|denote)s?"
_DEFINITIONS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"\bby {_TERM},? {_IS} (?P<what>[^.;!?]+)",
        rf"(?:^|[,;:]\s*)(?:the term |the word |here,? |an? |the )?{_TERM} "
        rf"(?:means|is defined as|are defined as|is understood as|refers to|refer to|denotes|stands for|"
        rf"is short for) (?P<what>[^.;!?]+)",
        rf"\bdefine {_TERM} (?:as|to be|to mean) (?P<what>[^.;!?]+)",
        rf"(?:^|\s)ב-?{_TERM} (?:הכוונה ל|הכוונה היא ל|אנו מתכוונים ל)-?(?P<what>[^.;!?]+)",
        rf"(?:^|[,;:]\s*){_TERM} (?:פירושו|פירושה|מוגדר כ|מוגדרת כ|משמעו|משמעותו) ?(?P<what>[^.;!?]+)",
    )
)
_SPELLED = re.compile(r"(?P<long>(?:[A-Za-z][\w-]*[ -]){1,7}[A-Za-z][\w-]*) \((?P<short>[A-Z]{2,6})s?\)")
_SPELLED_AFTER = re.compile(
    r"\b(?P<short>[A-Z]{2,6})s? \((?P<long>(?:[A-Za-z][\w-]*[ -]){1,7}[A-Za-z][\w-]*)\)"
)


@dataclass(frozen=True, slots=True)
class _Definition:
    term: str
    what: str


def drifts(new_content: str, history: Sequence[Turn]) -> tuple[Drift, ...]:
    """Definitions first, then terms by their company; a term at most once."""
    before = [turn.text for turn in history[-_TURNS:]]
    if not before:
        return ()
    found: dict[str, Drift] = {}
    for drift in (*_redefined(new_content, before), *_moved(new_content, before)):
        found.setdefault(drift.term.casefold(), drift)
    return tuple(found.values())


def _redefined(new_content: str, before: Iterable[str]) -> Iterator[Drift]:
    known = {_key(d.term): d for text in before for d in _definitions(text)}
    for definition in _definitions(new_content, owned=False):
        earlier = known.get(_key(definition.term))
        if earlier is None:
            continue
        alike = _dice(_content(earlier.what), _content(definition.what))
        if alike < ALIKE or _figures(earlier.what) != _figures(definition.what):
            yield Drift(definition.term, earlier.what, definition.what, round(alike, 3))


def _definitions(text: str, *, owned: bool = True) -> Iterator[_Definition]:
    """What a text defines; where not `owned`, without what it says it defines anew."""
    for span in sentences(text):
        sentence = text[span.start : span.end][:_LONGEST]
        if not owned and (OWNED.search(sentence) or _REDEFINES.search(sentence)):
            continue
        for pattern in _DEFINITIONS:
            for match in pattern.finditer(sentence):
                yield _Definition(match["term"].strip(" '"), match["what"].strip())
        for pattern in (_SPELLED, _SPELLED_AFTER):
            for match in pattern.finditer(sentence):
                if long := _spelling(match["short"], match["long"]):
                    yield _Definition(match["short"], long)


def _spelling(short: str, long: str) -> str:
    """The words whose initials make the abbreviation, from the nearest ones; "" where they do not."""
    parts = re.split(r"[ -]", long)[-len(short) :]
    return " ".join(parts) if "".join(part[0] for part in parts).upper() == short else ""


def _key(term: str) -> str:
    return " ".join(word.norm for word in words(term) if not word.is_stop) or term.casefold()


def _content(text: str) -> frozenset[str]:
    return frozenset(word.norm for word in words(text) if not word.is_stop)


def _figures(text: str) -> frozenset[tuple[float, str]]:
    return frozenset((number.value, number.unit) for number in numbers(text))


def _dice(one: frozenset[str], other: frozenset[str]) -> float:
    return 2 * len(one & other) / (len(one) + len(other)) if one or other else 1.0


def _moved(new_content: str, before: Sequence[str]) -> Iterator[Drift]:
    """Terms that keep one company before and another now, each of them consistently."""
    if OWNED.search(new_content) or _REDEFINES.search(new_content):
        return
    mine, theirs = _company([new_content]), _company(before)
    for term in sorted(mine.keys() & theirs.keys()):
        now, then = mine[term], theirs[term]
        if min(len(now), len(then)) < _USES or min(_within(now), _within(then)) < _TOGETHER:
            continue
        alike = _cosine(_sum(now), _sum(then))
        if alike < _APART:
            yield Drift(term, _typical(then, term), _typical(now, term), round(alike, 3))


def _company(texts: Iterable[str]) -> Mapping[str, list[Counter[str]]]:
    """For each content word the words it stands with, a count for each sentence that has it."""
    found: defaultdict[str, list[Counter[str]]] = defaultdict(list)
    for text in texts:
        for span in sentences(text):
            around = Counter(w.norm for w in words(text[span.start : span.end][:_LONGEST]) if not w.is_stop)
            for term in around:
                if len(term) > 2 and term.isalpha():
                    found[term].append(Counter({w: n for w, n in around.items() if w != term}))
    return found


def _sum(uses: Sequence[Counter[str]]) -> Counter[str]:
    total: Counter[str] = Counter()
    for use in uses:
        total.update(use)
    return total


def _within(uses: Sequence[Counter[str]]) -> float:
    """How alike a use is to the others, on the average."""
    total = _sum(uses)
    return sum(_cosine(use, total - use) for use in uses) / len(uses)


def _cosine(one: Mapping[str, int], other: Mapping[str, int]) -> float:
    shared = sum(n * other[word] for word, n in one.items() if word in other)
    size = sqrt(sum(n * n for n in one.values())) * sqrt(sum(n * n for n in other.values()))
    return shared / size if size else 0.0


def _typical(uses: Sequence[Counter[str]], term: str) -> str:
    common = [word for word, _ in _sum(uses).most_common(4)]
    return f"{term} with {', '.join(common)}"
