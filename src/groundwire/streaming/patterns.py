"""Stream patterns: signs of invented content in single sentences. `PATTERNS`, at the end, is the table.

Each pattern has a function that yields hits in a sentence and one that gives a hit's confidence. The
confidences were set by hand and checked on the monitor benchmark; only those above
`realtime.interrupt_threshold` can stop a stream.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from groundwire.claims.citations import CitationMark, resolve
from groundwire.claims.decompose import has_verb
from groundwire.streaming.state import (
    HANDLE,
    JOINT,
    NAME_IN_CODE,
    PART,
    URL,
    PriorStatement,
    SentenceFeatures,
    address,
    handle,
    label,
)
from groundwire.text.dates import MONTHS
from groundwire.text.lexicon import NEGATIONS, expressions, grammar, word_set, word_table
from groundwire.text.names import Name
from groundwire.text.numbers import Number
from groundwire.text.tokens import PRONOUN, Word
from groundwire.types.claims import Risk
from groundwire.verifiers.lexical.tables import OPPOSITES


@dataclass(frozen=True, slots=True)
class PatternHit:
    """A match in a sentence. Hits with the same `key` are reported once per stream."""

    start: int
    end: int
    note: str
    key: str = ""


@dataclass(frozen=True, slots=True)
class StreamPattern:
    """A detector for single sentences. `find` yields hits, `confidence` rates one (0 to 1).

    `needs_sources`: skipped if there are no sources to compare with. `in_code`: also applied inside code.
    """

    name: str
    catches: str
    misses: str
    risk: Risk
    find: Callable[[SentenceFeatures], Iterable[PatternHit]]
    confidence: Callable[[SentenceFeatures, PatternHit], float]
    needs_sources: bool = False
    in_code: bool = False

    def applies(self, seen: SentenceFeatures) -> bool:
        return (seen.known.has_sources or not self.needs_sources) and (self.in_code or not seen.past.in_code)


# The regular expressions are in text/data/stream_patterns.toml.
_SHARE, _RATED, _VERSION, _COMPUTED, _PAPER, _STUDIES, _TICKED, _CALL, _DEFINES = expressions(
    "stream_patterns", "share rated version computed paper studies ticked call defines"
)
_CLAUSE, _HEADING, _OTHER, _OWNED = expressions("stream_patterns", "clause heading other owned")
"""Clauses of `_OTHER` are about something else each time, so they cannot contradict each other."""
_HINTS = tuple(grammar("stream_patterns")["hints"])


# Values: statistics without a source, over-precise numbers, dates and names that no source contains.

_EXACT_DIGITS = 4  # significant digits from which a number is not rounded
_EXACT_PLACES = 2  # decimals, likewise
_MIN_NAME_WORDS = 2  # single words are too often ordinary words
RISING = 3
"""Unsourced details in the last sentence before rising specificity is reported."""
_RISING_TOTAL = 5  # in the last four sentences


def statistics(seen: SentenceFeatures) -> Iterator[PatternHit]:
    """Shares, odds and multiples that are in no source, in a sentence that cites none."""
    strange = seen.unsourced_numbers
    if not strange or seen.cited or seen.supposed or _RATED.search(seen.text):
        return
    for match in _SHARE.finditer(seen.text):
        inside = [n for n in strange if n.start < match.end() and match.start() < n.end]
        if inside and not (inside[0].unit == "%" and inside[0].value in (0, 100)):
            yield PatternHit(match.start(), match.end(), f"no source gives {match[0]}", match[0].lower())


def statistic_confidence(seen: SentenceFeatures, hit: PatternHit) -> float:
    exact = "." in seen.text[hit.start : hit.end]
    return 0.6 + 0.1 * exact + 0.1 * seen.known.has_sources


def exact_numbers(seen: SentenceFeatures) -> Iterator[PatternHit]:
    """Numbers with more digits than a rounded one, that are in no source."""
    if not seen.unsourced_numbers or seen.supposed or _COMPUTED.search(seen.text):
        return
    for number in seen.unsourced_numbers:
        raw = seen.text[number.start : number.end]
        before = seen.text[max(0, number.start - 9) : number.start]
        if _exactness(raw) and raw.count(".") < 2 and number.kind != "time" and not _VERSION.search(before):
            yield PatternHit(number.start, number.end, f"no source has {raw}", raw)


def _exactness(raw: str) -> int:
    """Digits beyond those of a rounded number; 0 for "1,200", "3.5" and "40"."""
    digits = re.sub(r"\D", "", raw)
    places = len((re.search(r"\.(\d+)", raw) or ["", ""])[1])
    whole = len(digits.rstrip("0")) if "." not in raw else len(digits)
    return max(0, whole - _EXACT_DIGITS + 1, places - _EXACT_PLACES + 1 if whole > places else 0)


def exactness_confidence(seen: SentenceFeatures, hit: PatternHit) -> float:
    return min(0.85, 0.55 + 0.1 * _exactness(seen.text[hit.start : hit.end]))


def dates(seen: SentenceFeatures) -> Iterator[PatternHit]:
    """Dates whose year, month or day is in no source."""
    for date in seen.unsourced_dates:
        raw = seen.text[date.start : date.end]
        if not seen.supposed and date.years == 1:
            yield PatternHit(date.start, date.end, f"no source has the date {raw}", raw.lower())


def date_confidence(seen: SentenceFeatures, hit: PatternHit) -> float:
    return 0.7 if len(seen.text[hit.start : hit.end]) > len("2020") else 0.6


def names(seen: SentenceFeatures) -> Iterator[PatternHit]:
    """Names of two or more words that are mostly unknown to the sources."""
    for name in seen.unsourced_names:
        if sum(bool(PART.match(word)) for word in name.text.split()) >= _MIN_NAME_WORDS:
            yield PatternHit(name.start, name.end, f"no source names {name.text}", name.text.casefold())


def name_confidence(seen: SentenceFeatures, hit: PatternHit) -> float:
    """Grows with the share of unknown words."""
    return 0.4 + 0.3 * seen.unknown_share(Name(seen.text[hit.start : hit.end], hit.start, hit.end))


def rising(seen: SentenceFeatures) -> Iterator[PatternHit]:
    """A growing number of details per sentence, most of them in no source."""
    strange = len(seen.unsourced_names) + len(seen.unsourced_dates) + _count(seen.unsourced_numbers)
    total = len(seen.names) + len(seen.dates) + _count(seen.numbers)
    if seen.cited:
        strange = 0
    if not total and len(seen.text.split()) < 4:
        return  # a fragment, not a sentence
    seen.past.specifics.append((strange, total))
    window = list(seen.past.specifics)
    counts = [new for new, _ in window]
    climbing = len(window) >= 3 and 0 < counts[-2] < counts[-1] and counts[-3] <= counts[-2]
    if (
        climbing
        and counts[-1] >= RISING
        and sum(counts) >= _RISING_TOTAL
        and sum(counts) * 2 > sum(total for _, total in window)
    ):
        trend = " → ".join(map(str, counts[-3:]))
        yield PatternHit(0, len(seen.text), f"details without a source, per sentence: {trend}")


def _count(found: list[Number]) -> int:
    """Numbers that are details; small counts ("two of them") are not."""
    return sum(number.value >= 10 or number.unit != "" for number in found)


def rise_confidence(seen: SentenceFeatures, _: PatternHit) -> float:
    return min(0.8, 0.4 + 0.1 * seen.past.specifics[-1][0])


# References: citations, URLs, identifiers and calls that are in no source, and "studies show".

MANY = 3
"""Different invented references from which the answer counts as fabricated."""

_NO_AUTHORS = frozenset(MONTHS) | word_set(
    "spring summer autumn fall winter in since until by from early late mid around about circa"
)


def citations(seen: SentenceFeatures) -> Iterator[PatternHit]:
    """Citation marks without a source, and author-year citations that no source mentions."""
    if seen.known.has_sources:
        for mark in seen.marks:
            lost = [name for name in mark.labels if not _exists(seen, mark, name)]
            if lost:
                raw = seen.text[mark.start : mark.end]
                yield _noted(seen, PatternHit(mark.start, mark.end, f"there is no source {', '.join(lost)}", raw))
    for match in _PAPER.finditer(seen.text) if "(" in seen.text else ():
        authors = [name for name in match.group("one", "two", "one2", "two2") if name]
        year = match["year"] or match["year2"]
        if authors[0].lower() in _NO_AUTHORS or (
            len(authors) == 1 and not (match["al"] or match["al2"]) and match["year"]
        ):
            continue  # "May (2021)", "Avatar (2009)": a date, or a work with its year
        if not all(map(seen.known.has_word, authors)) or int(year[:4]) not in seen.known.years:
            hit = PatternHit(
                match.start(), match.end(), f"no source mentions {match[0].strip('()')}", match[0].casefold()
            )
            yield _noted(seen, hit)


def _exists(seen: SentenceFeatures, mark: CitationMark, name: str) -> bool:
    """True if a label names a source, or something labelled so inside a source ("passage 2")."""
    if resolve(name, seen.known.ids) in seen.known.ids:
        return True
    raw = seen.text[mark.start : mark.end]
    kind = (re.match(r"[\[(]?\s*([^\W\d_]+?)s?\b[\s#:]", raw) or ["", ""])[1].lower()
    return label(raw) in seen.known.marks or f"{kind}{label(name)}" in seen.known.marks


def citation_confidence(seen: SentenceFeatures, hit: PatternHit) -> float:
    raw = seen.text[hit.start : hit.end]
    if _PAPER.fullmatch(raw):
        return 0.85 if seen.known.has_sources else 0.5
    return 0.95


def urls(seen: SentenceFeatures) -> Iterator[PatternHit]:
    """URLs that are neither in a source nor in the request."""
    if "//" not in seen.text and "www." not in seen.text.lower():
        return
    for match in URL.finditer(seen.text):
        url = address(match[0])
        if url not in seen.known.urls and url not in seen.known.hosts and not HANDLE.search(match[0]):
            yield _noted(seen, PatternHit(match.start(), match.end(), "no source has this URL", url))


def url_confidence(seen: SentenceFeatures, hit: PatternHit) -> float:
    """Lower if the sources contain the host and only the page is new."""
    known = hit.key.partition("/")[0] in seen.known.hosts
    return 0.6 if known else 0.85 if seen.known.has_sources else 0.5


def handles(seen: SentenceFeatures) -> Iterator[PatternHit]:
    """DOIs, arXiv numbers, PMIDs and ISBNs that are in no source."""
    if not seen.digits:
        return
    for match in HANDLE.finditer(seen.text):
        if handle(match[0]) not in seen.known.handles:
            yield _noted(seen, PatternHit(match.start(), match.end(), f"no source has {match[0]}", handle(match[0])))


def handle_confidence(seen: SentenceFeatures, _: PatternHit) -> float:
    return 0.9 if seen.known.has_sources else 0.5


def interfaces(seen: SentenceFeatures) -> Iterator[PatternHit]:
    """Calls, attributes and options that are in no source, if the sources contain code at all."""
    text, code = seen.text, seen.known.code
    if not code:
        return
    if seen.past.in_code:
        for name in (part for found in _DEFINES.findall(text) for part in found if part):
            seen.past.defined.put(name, None)
        for match in _CALL.finditer(text):
            root = JOINT.split(match[0])[0]
            if root in code and match[0] not in code and root not in seen.past.defined:
                yield from _unknown_call(match[0], match.start(), code)
        return
    for ticked in _TICKED.finditer(text) if "`" in text else ():
        for match in NAME_IN_CODE.finditer(ticked[1]):
            if match[0] not in code:
                yield from _unknown_call(match[0], ticked.start(1) + match.start(), code)


def _unknown_call(name: str, start: int, code: frozenset[str]) -> Iterator[PatternHit]:
    last = JOINT.split(name)[-1]
    if last not in code:
        yield PatternHit(start, start + len(name), f"no source has {name}", name)


def interface_confidence(seen: SentenceFeatures, hit: PatternHit) -> float:
    """Higher if the object is known and only its attribute is not."""
    root = JOINT.split(hit.key)[0]
    return 0.7 if root != hit.key and root in seen.known.code else 0.55


def studies(seen: SentenceFeatures) -> Iterator[PatternHit]:
    """Anonymous authorities: "studies show", "experts agree", "it is well known"."""
    lowered = seen.text.lower()
    if not any(hint in lowered for hint in _HINTS) or seen.cited:
        return
    for match in _STUDIES.finditer(seen.text):
        who = next((name for name in match.group("who", "who2", "who3", "who4") if name), "")
        word = who.split()[-1] if who else ""
        named = any(name.end <= match.start() + len(who) and name.start < match.end() for name in seen.names)
        if not (word and seen.known.has_word(word)) and not named:
            yield PatternHit(match.start(), match.end(), "an authority without a name", match[0].casefold())


def studies_confidence(seen: SentenceFeatures, _: PatternHit) -> float:
    return 0.65 if seen.unsourced_numbers else 0.5


def fabricated(seen: SentenceFeatures) -> Iterator[PatternHit]:
    """Several invented references in one answer."""
    if len(seen.past.invented) >= MANY:
        note = f"{MANY} or more references that no source holds"
        yield PatternHit(0, len(seen.text), note, "fabricated")


def fabrication_confidence(_: SentenceFeatures, __: PatternHit) -> float:
    return 0.95


def _noted(seen: SentenceFeatures, hit: PatternHit) -> PatternHit:
    if seen.known.has_sources:
        seen.past.invented.put(hit.key, None)
    return hit


# Self-contradictions: clauses are indexed by what they are about and compared with earlier ones.

_MIN_CHARS = 12  # shorter clauses assert nothing
_MIN_WORDS = 2  # content words that identify a statement
_MAX_WORDS = 14  # longer clauses never recur word for word
_APPROXIMATE = 0.05  # relative tolerance for numbers called approximate
_EXACT = 0.005  # relative tolerance otherwise


@dataclass(frozen=True, slots=True)
class _ClauseValue:
    """The one value of a clause: a number with its unit, or a date as a number."""

    at: float
    unit: str
    room: float
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class _Clause:
    """`about` identifies the statement; `turned` is true if an odd number of words negates it."""

    about: tuple[object, ...]
    turned: bool
    value: _ClauseValue | None
    start: int
    end: int


def contradictions(seen: SentenceFeatures) -> Iterator[PatternHit]:
    """The same statement with another value, negated, or with the opposite word."""
    if seen.text.endswith("?") or seen.supposed:
        return
    if _HEADING.match(seen.text):
        seen.past.scope = seen.text[:80]
        return
    for start, end in _clauses(seen.text):
        clause = _read(seen, start, end)
        if clause is not None:
            yield from _compare(seen, clause)


def contradiction_confidence(seen: SentenceFeatures, hit: PatternHit) -> float:
    """Lower for explicit corrections."""
    return 0.5 if _OWNED.search(seen.text) else 0.8 if hit.key.startswith("value") else 0.75


def _clauses(text: str) -> Iterator[tuple[int, int]]:
    begin = 0
    for match in _CLAUSE.finditer(text):
        yield begin, match.start()
        begin = match.end()
    yield begin, len(text)


def _read(seen: SentenceFeatures, start: int, end: int) -> _Clause | None:
    """Parse a clause; None if it does not assert something about a named subject."""
    text = seen.text[start:end]
    if len(text) < _MIN_CHARS or PRONOUN.match(text) or _OTHER.search(text):
        return None
    if text.isascii() and not has_verb(text):
        return None
    value = _value(seen, start, end)
    inside = [word for word in seen.words if start <= word.start < end]
    content = [w for w in inside if not w.is_stop and not (value and value.start <= w.start < value.end)]
    plain, axes, turned = _split_words(inside, content)
    if not plain or not _MIN_WORDS <= len(plain) + len(axes) <= _MAX_WORDS:
        return None
    return _Clause((seen.past.scope, plain, axes, value.unit if value else None), turned, value, start, end)


def _split_words(inside: Sequence[Word], content: Sequence[Word]) -> tuple[frozenset[str], frozenset[int], bool]:
    """The identifying words, the scales of antonyms it uses, and whether it is negated."""
    negations = sum(word.text.lower().replace("’", "'") in NEGATIONS for word in inside)
    sides = [min(OPPOSITES[word.norm]) for word in content if word.norm in OPPOSITES]
    plain = frozenset(
        word.norm for word in content if word.norm not in OPPOSITES and word.text.lower() not in NEGATIONS
    )
    turned = (negations + sum(side for _, side in sides)) % 2 == 1
    return plain, frozenset(axis for axis, _ in sides), turned


def _value(seen: SentenceFeatures, start: int, end: int) -> _ClauseValue | None:
    """The single value a clause states; a date next to a number only says when."""
    numbers = [n for n in seen.numbers if start <= n.start < end and n.kind != "ordinal" and not n.edge]
    if len(numbers) == 1:
        number = numbers[0]
        loose = _APPROXIMATE if number.bound else _EXACT
        room = max(number.step / 2, abs(number.value) * loose)
        return _ClauseValue(number.value, number.unit or "#", room, number.start, number.end)
    dates = [d for d in seen.dates if start <= d.start < end and d.year and d.years == 1]
    if len(dates) == 1 and not numbers:
        date = dates[0]
        return _ClauseValue(date.year, "year", 0.5, date.start, date.end)
    return None


def _compare(seen: SentenceFeatures, clause: _Clause) -> Iterator[PatternHit]:
    """Compare a clause with the previous one about the same matter, then store it."""
    prior = seen.past.statements.get(clause.about)
    now = PriorStatement(seen.text[clause.start : clause.end][:160], seen.start + clause.start,
               clause.value.at if clause.value else None, clause.turned)  # fmt: skip
    seen.past.statements.put(clause.about, now)
    if prior is None:
        return
    other = (
        clause.value is not None
        and prior.value is not None
        and (abs(clause.value.at - prior.value) > clause.value.room)
    )
    if other and clause.turned == prior.turned:
        yield _hit(clause, "value", prior)
    elif clause.turned != prior.turned and not other:
        yield _hit(clause, "denial", prior)


def _hit(clause: _Clause, how: str, prior: PriorStatement) -> PatternHit:
    return PatternHit(clause.start, clause.end, f'earlier: "{prior.text}"', f"{how} {prior.start}")


_FUNCTIONS = {
    "rising_specificity": (rising, rise_confidence),
    "unsourced_statistic": (statistics, statistic_confidence),
    "fake_precision": (exact_numbers, exactness_confidence),
    "invented_date": (dates, date_confidence),
    "invented_name": (names, name_confidence),
    "invented_citation": (citations, citation_confidence),
    "invented_url": (urls, url_confidence),
    "invented_doi": (handles, handle_confidence),
    "invented_api": (interfaces, interface_confidence),
    "self_contradiction": (contradictions, contradiction_confidence),
    "studies_show": (studies, studies_confidence),
    "fabricated_references": (fabricated, fabrication_confidence),
}
PATTERNS = tuple(
    StreamPattern(**{**row, "risk": Risk(row["risk"])}, find=find, confidence=confidence)
    for row in word_table("stream_patterns")["warnings"]
    for find, confidence in (_FUNCTIONS[row["name"]],)
)
"""In the order of evaluation. What each catches and misses is said in text/data/stream_patterns.toml."""
