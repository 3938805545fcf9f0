"""Stream patterns: signs of invented content in single sentences. `PATTERNS`, at the end, is the table.

Each pattern has a function that yields hits in a sentence, with a confidence. The confidences were set by hand
and checked on the monitor benchmark; only those above `realtime.interrupt_threshold` can stop a stream.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from groundwire.claims.markup import CitationMark, resolve
from groundwire.streaming.state import HANDLE, PART, URL, SentenceFeatures, address, handle, label
from groundwire.text.dates import MONTHS
from groundwire.text.lexicon import expressions, word_set, word_table
from groundwire.text.numbers import Number
from groundwire.types import Risk


@dataclass(frozen=True, slots=True)
class PatternHit:
    """A match in a sentence. Hits with the same `key` are reported once per stream."""

    start: int
    end: int
    note: str
    confidence: float
    key: str = ""


@dataclass(frozen=True, slots=True)
class StreamPattern:
    """A detector for single sentences.

    `needs_sources`: skipped if there are no sources to compare with. `in_code`: also applied inside code.
    """

    name: str
    catches: str
    misses: str
    risk: Risk
    find: Callable[[SentenceFeatures], Iterable[PatternHit]]
    needs_sources: bool = False
    in_code: bool = False

    def applies(self, seen: SentenceFeatures) -> bool:
        return (seen.known.has_sources or not self.needs_sources) and (self.in_code or not seen.past.in_code)


_SHARE, _RATED, _VERSION, _COMPUTED, _PAPER = expressions("stream_patterns", "share rated version computed paper")
_EXACT_DIGITS = 4  # significant digits from which a number is not rounded
_EXACT_PLACES = 2  # decimals, likewise
_MIN_NAME_WORDS = 2  # single words are too often ordinary words
_RISING = 3  # unsourced details in the last sentence before rising specificity is reported
_RISING_TOTAL = 5  # in the last four sentences
_MANY_REFERENCES = 3  # different invented references from which the answer counts as fabricated
_NO_AUTHORS = frozenset(MONTHS) | word_set(
    "spring summer autumn fall winter in since until by from early late mid around about circa"
)


def statistics(seen: SentenceFeatures) -> Iterator[PatternHit]:
    """Shares, odds and multiples that are in no source, in a sentence that cites none."""
    strange = seen.unsourced_numbers
    if not strange or seen.cited or seen.supposed or _RATED.search(seen.text):
        return
    for match in _SHARE.finditer(seen.text):
        inside = [n for n in strange if n.start < match.end() and match.start() < n.end]
        if inside and not (inside[0].unit == "%" and inside[0].value in (0, 100)):
            confidence = 0.6 + 0.1 * ("." in match[0]) + 0.1 * seen.known.has_sources
            yield PatternHit(*match.span(), f"no source gives {match[0]}", confidence, match[0].lower())


def exact_numbers(seen: SentenceFeatures) -> Iterator[PatternHit]:
    """Numbers with more digits than a rounded one, that are in no source."""
    if not seen.unsourced_numbers or seen.supposed or _COMPUTED.search(seen.text):
        return
    for number in seen.unsourced_numbers:
        raw = seen.text[number.start : number.end]
        before = seen.text[max(0, number.start - 9) : number.start]
        exactness = _exactness(raw)
        if exactness and raw.count(".") < 2 and number.kind != "time" and not _VERSION.search(before):
            confidence = min(0.85, 0.55 + 0.1 * exactness)
            yield PatternHit(number.start, number.end, f"no source has {raw}", confidence, raw)


def _exactness(raw: str) -> int:
    """Digits beyond those of a rounded number; 0 for "1,200", "3.5" and "40"."""
    digits = re.sub(r"\D", "", raw)
    places = len((re.search(r"\.(\d+)", raw) or ["", ""])[1])
    whole = len(digits.rstrip("0")) if "." not in raw else len(digits)
    return max(0, whole - _EXACT_DIGITS + 1, places - _EXACT_PLACES + 1 if whole > places else 0)


def dates(seen: SentenceFeatures) -> Iterator[PatternHit]:
    """Dates whose year, month or day is in no source."""
    for date in seen.unsourced_dates:
        raw = seen.text[date.start : date.end]
        if not seen.supposed and date.years == 1:
            confidence = 0.7 if len(raw) > len("2020") else 0.6
            yield PatternHit(date.start, date.end, f"no source has the date {raw}", confidence, raw.lower())


def names(seen: SentenceFeatures) -> Iterator[PatternHit]:
    """Names of two or more words that are mostly unknown to the sources."""
    for name in seen.unsourced_names:
        if sum(bool(PART.match(word)) for word in name.text.split()) >= _MIN_NAME_WORDS:
            confidence = 0.4 + 0.3 * seen.unknown_share(name)
            yield PatternHit(name.start, name.end, f"no source names {name.text}", confidence, name.text.casefold())


def rising(seen: SentenceFeatures) -> Iterator[PatternHit]:
    """A growing number of details per sentence, most of them in no source."""
    strange = len(seen.unsourced_names) + len(seen.unsourced_dates) + _details(seen.unsourced_numbers)
    total = len(seen.names) + len(seen.dates) + _details(seen.numbers)
    if not total and len(seen.text.split()) < 4:
        return  # a fragment, not a sentence
    seen.past.specifics.append((0 if seen.cited else strange, total))
    counts = [new for new, _ in seen.past.specifics]
    climbing = len(counts) >= 3 and 0 < counts[-2] < counts[-1] and counts[-3] <= counts[-2]
    mostly = sum(counts) * 2 > sum(total for _, total in seen.past.specifics)
    if climbing and mostly and counts[-1] >= _RISING and sum(counts) >= _RISING_TOTAL:
        note = f"details without a source, per sentence: {' → '.join(map(str, counts[-3:]))}"
        yield PatternHit(0, len(seen.text), note, min(0.8, 0.4 + 0.1 * counts[-1]))


def _details(found: Sequence[Number]) -> int:
    """Numbers that are details; small counts ("two of them") are not."""
    return sum(number.value >= 10 or number.unit != "" for number in found)


def citations(seen: SentenceFeatures) -> Iterator[PatternHit]:
    """Citation marks without a source, and author-year citations that no source mentions."""
    for mark in seen.marks if seen.known.has_sources else ():
        lost = [name for name in mark.labels if not _exists(seen, mark, name)]
        if lost:
            raw = seen.text[mark.start : mark.end]
            hit = PatternHit(mark.start, mark.end, f"there is no source {', '.join(lost)}", 0.95, raw)
            yield _recorded(seen, hit)
    for match in _PAPER.finditer(seen.text) if "(" in seen.text else ():
        authors = [name for name in match.group("one", "two", "one2", "two2") if name]
        year = match["year"] or match["year2"]
        alone = len(authors) == 1 and not (match["al"] or match["al2"]) and match["year"]
        if authors[0].lower() in _NO_AUTHORS or alone:
            continue  # "May (2021)", "Avatar (2009)": a date, or a work with its year
        if not all(map(seen.known.has_word, authors)) or int(year[:4]) not in seen.known.years:
            note = f"no source mentions {match[0].strip('()')}"
            confidence = 0.85 if seen.known.has_sources else 0.5
            yield _recorded(seen, PatternHit(*match.span(), note, confidence, match[0].casefold()))


def _exists(seen: SentenceFeatures, mark: CitationMark, name: str) -> bool:
    """True if a label names a source, or something labelled so inside a source ("passage 2")."""
    if resolve(name, seen.known.ids) in seen.known.ids:
        return True
    raw = seen.text[mark.start : mark.end]
    kind = (re.match(r"[\[(]?\s*([^\W\d_]+?)s?\b[\s#:]", raw) or ["", ""])[1].lower()
    return label(raw) in seen.known.marks or f"{kind}{label(name)}" in seen.known.marks


def urls(seen: SentenceFeatures) -> Iterator[PatternHit]:
    """URLs that are neither in a source nor in the request."""
    if "//" not in seen.text and "www." not in seen.text.lower():
        return
    for match in URL.finditer(seen.text):
        url = address(match[0])
        if url not in seen.known.urls and url not in seen.known.hosts and not HANDLE.search(match[0]):
            known_host = url.partition("/")[0] in seen.known.hosts  # only the page is new
            confidence = 0.6 if known_host else 0.85 if seen.known.has_sources else 0.5
            yield _recorded(seen, PatternHit(*match.span(), "no source has this URL", confidence, url))


def handles(seen: SentenceFeatures) -> Iterator[PatternHit]:
    """DOIs, arXiv numbers, PMIDs and ISBNs that are in no source."""
    for match in HANDLE.finditer(seen.text) if seen.digits else ():
        if handle(match[0]) not in seen.known.handles:
            confidence = 0.9 if seen.known.has_sources else 0.5
            yield _recorded(seen, PatternHit(*match.span(), f"no source has {match[0]}", confidence, handle(match[0])))


def fabricated(seen: SentenceFeatures) -> Iterator[PatternHit]:
    """Several invented references in one answer."""
    if len(seen.past.invented) >= _MANY_REFERENCES:
        note = f"{_MANY_REFERENCES} or more references that no source holds"
        yield PatternHit(0, len(seen.text), note, 0.95, "fabricated")


def _recorded(seen: SentenceFeatures, hit: PatternHit) -> PatternHit:
    if seen.known.has_sources and len(seen.past.invented) < _MANY_REFERENCES:
        seen.past.invented.add(hit.key)
    return hit


_FUNCTIONS: dict[str, Callable[[SentenceFeatures], Iterable[PatternHit]]] = {
    "rising_specificity": rising,
    "unsourced_statistic": statistics,
    "fake_precision": exact_numbers,
    "invented_date": dates,
    "invented_name": names,
    "invented_citation": citations,
    "invented_url": urls,
    "invented_doi": handles,
    "fabricated_references": fabricated,
}
PATTERNS = tuple(
    StreamPattern(**{**row, "risk": Risk(row["risk"])}, find=_FUNCTIONS[row["name"]])
    for row in word_table("stream_patterns")["warnings"]
)
"""In the order of evaluation. What each catches and misses is said in text/data/stream_patterns.toml."""
