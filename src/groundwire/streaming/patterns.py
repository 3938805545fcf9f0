"""Stream patterns: signs of invented content in single sentences. `PATTERNS`, at the end, is the table.

Each pattern has a function that yields hits in a sentence, with a confidence. The confidences were set by hand
and checked on the monitor benchmark; only those above `realtime.interrupt_threshold` can stop a stream.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from groundwire.claims.markup import CitationMark, marks, resolve
from groundwire.text.dates import MONTHS, WEEKDAYS, PartialDate
from groundwire.text.dates import dates as dates_in
from groundwire.text.lexicon import expressions, word_set, word_table
from groundwire.text.names import Name, is_common_name
from groundwire.text.names import names as names_in
from groundwire.text.numbers import Number, number_words, numbers
from groundwire.types import Risk, Source

_WORD = re.compile(r"[^\W_]+")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_NUMBER, _URL, _HANDLE, _LABEL, _BOUNDARY, _OPEN_END, _SHORT, _MAY_COUNT, _SUPPOSED = expressions(
    "stream_patterns", "number url handle label boundary open_end short may_count supposed"
)
_SCALES = {
    **dict.fromkeys(("thousand", "k"), 1e3),
    **dict.fromkeys(("million", "m", "mn"), 1e6),
    **dict.fromkeys(("billion", "b", "bn"), 1e9),
    "trillion": 1e12,
}
_APPROXIMATE_TOLERANCE = 0.005  # relative, for numbers the answer calls approximate


class KnownContent:
    """Words, numbers, URLs and identifiers of the sources and the request; each set is built on first use."""

    def __init__(self, sources: Sequence[Source] = (), request: str = "") -> None:
        self.ids = tuple(source.id for source in sources)
        self._texts = (*(source.text for source in sources), *((request,) if request else ()))
        self.has_sources = any(source.text.strip() for source in sources)

    def read(self) -> None:
        """Build all sets now; takes time if the sources are long."""
        for made in (self.words, self.years, self.hosts, self.handles, self.marks):
            len(made)

    def _found(self, pattern: re.Pattern[str]) -> Iterable[str]:
        return (match[0] for text in self._texts for match in pattern.finditer(text))

    @cached_property
    def words(self) -> frozenset[str]:
        """Without case and accents; `BusinessParking` also yields business and parking."""
        found = set(self._found(_WORD))
        found |= {part for word in found if _CAMEL.search(word) for part in _CAMEL.sub(" ", word).split()}
        return frozenset(map(plain, found))

    @cached_property
    def values(self) -> list[float]:
        """All numbers in the sources, in digits or words, sorted."""
        found: set[float] = set()
        for text in self._texts:
            for digits, scale in _NUMBER.findall(text):
                value = float(digits.replace(",", ""))
                found |= {value, value * _SCALES.get(scale.lower(), 1.0)}
            found.update(value for value, *_ in number_words(text))
        return sorted(found)

    @cached_property
    def years(self) -> frozenset[int]:
        return frozenset(int(value) for value in self.values if 1000 <= value <= 2199 and value.is_integer())

    @cached_property
    def urls(self) -> frozenset[str]:
        return frozenset(map(address, self._found(_URL)))

    @cached_property
    def hosts(self) -> frozenset[str]:
        return frozenset(url.partition("/")[0] for url in self.urls)

    @cached_property
    def handles(self) -> frozenset[str]:
        return frozenset(map(handle, self._found(_HANDLE)))

    @cached_property
    def marks(self) -> frozenset[str]:
        """Labels inside the sources' own text ("[5]", "passage 2"), which an answer may mention."""
        return frozenset(map(label, self._found(_LABEL)))

    def has_word(self, word: str) -> bool:
        folded = plain(word)
        return folded in self.words or folded.removesuffix("s") in self.words or f"{folded}s" in self.words

    def has_number(self, number: Number, raw: str = "") -> bool:
        """True if the sources contain this number to the answer's precision, in any unit."""
        if number.kind == "time":
            hour = int(number.value // 60)
            return self._has(hour) or self._has(hour % 12 or 12)
        written = _NUMBER.search(raw)
        values = {number.value, number.value / 100 if number.unit == "%" else number.value}
        values |= {float(written[1].replace(",", ""))} if written else set()
        for value in values:
            # to the last written digit, or with a tolerance if the answer says "about"
            place = number.step if value == number.value else min(number.step, 1.0)
            room = max(place / 2, abs(value) * _APPROXIMATE_TOLERANCE if number.bound else 0.0) + 1e-9
            if self._has(value, room):
                return True
        return False

    def has_date(self, date: PartialDate) -> bool:
        """True if its year and, if given, its month and day occur in the sources."""
        if date.year and date.years == 1 and date.year not in self.years:
            return False
        month = not date.month or self._has(date.month) or bool(_NAMES[date.month] & self.words)
        return month and (not date.day or self._has(date.day))

    def _has(self, value: float, room: float = 0.0) -> bool:
        at = bisect_left(self.values, value - room)
        return at < len(self.values) and self.values[at] <= value + room


def plain(word: str) -> str:
    """A word without case and accents.

    >>> plain("Zoë")
    'zoe'
    """
    if word.isascii():
        return word.lower()
    folded = unicodedata.normalize("NFKD", word.casefold())
    return "".join(letter for letter in folded if not unicodedata.combining(letter))


def address(url: str) -> str:
    """A URL in comparable form.

    >>> address("https://www.Example.org/a/b/?x=1."), address("http://example.org/a/b")
    ('example.org/a/b', 'example.org/a/b')
    """
    bare = re.sub(r"^(?:https?://)?(?:www\.)?", "", url.rstrip(".,;:!?*_"), flags=re.IGNORECASE)
    return bare.partition("?")[0].partition("#")[0].rstrip("/").lower()


def label(text: str) -> str:
    """A label in comparable form: "[Passage 2]" and "passage #2" are both "passage2"."""
    return re.sub(r"[\W_]", "", text).lower()


def handle(text: str) -> str:
    """A DOI, arXiv number, PMID or ISBN in comparable form."""
    return re.sub(r"[\s:-]", "", text.rstrip(".,;:")).lower()


_NAMES = {number: frozenset(plain(n) for n, m in MONTHS.items() if m == number) for number in range(1, 13)}

# Sentences of a stream, each emitted when the next one begins, independent of how the text is cut.
#
# A cut is made only where later text cannot move it, and every decision looks at a bounded window, so neither
# the cost per token nor the memory grows with the text. Coarser than `text.sentences`, which sees the whole
# text, but sufficient for patterns.

MAX_SENTENCE_CHARS = 1000
"""A sentence without an end is cut here."""

_MAX_BOUNDARY_CHARS = 300  # a boundary is never longer, so this much lookahead decides a cut
_STOP = re.compile(r"[.!?…。！？\n]")
_ABBREVIATION_CHARS = 12  # the longest abbreviation with its context
_FEED_CHARS = 2000  # larger inputs are processed in pieces of this size


@dataclass(frozen=True, slots=True)
class StreamSentence:
    """`text` begins at offset `start` of the stream; `line` is true if it begins a line."""

    text: str
    start: int
    line: bool = True


class SentenceSplitter:
    """Feed text and take the complete sentences; `rest()` returns the unfinished one."""

    def __init__(self) -> None:
        self._pending = ""
        self._at = 0
        self._from = 0
        self._open = False
        self._line = True

    def feed(self, text: str) -> Sequence[StreamSentence]:
        if len(text) > _FEED_CHARS:
            bites = (text[at : at + _FEED_CHARS] for at in range(0, len(text), _FEED_CHARS))
            return [sentence for bite in bites for sentence in self.feed(bite)]
        self._pending += text
        if not self._open and len(self._pending) < MAX_SENTENCE_CHARS + _MAX_BOUNDARY_CHARS and not _STOP.search(text):
            return ()
        found: list[StreamSentence] = []
        while (cut := self._cut()) > 0:
            found += self._take(cut)
        self._open = _OPEN_END.search(self._pending, max(0, len(self._pending) - _MAX_BOUNDARY_CHARS)) is not None
        self._from = max(self._from, len(self._pending) - _MAX_BOUNDARY_CHARS)
        return found

    def rest(self) -> Sequence[StreamSentence]:
        return list(self._take(len(self._pending)))

    def _cut(self) -> int:
        """Length of the first pending sentence; 0 if it may not be complete yet."""
        at = self._from
        while match := _BOUNDARY.search(self._pending, at):
            start = match.start()
            if start >= MAX_SENTENCE_CHARS:
                break
            # A single full stop may end an abbreviation, an initial or an enumerator.
            short = (
                match[0].startswith(".")
                and not match[0].startswith("..")
                and _SHORT.search(self._pending[max(0, start - _ABBREVIATION_CHARS) : start])
            )
            if match.end() - start < _MAX_BOUNDARY_CHARS and not short:
                return match.end()
            at = start + 1
        if len(self._pending) < MAX_SENTENCE_CHARS + _MAX_BOUNDARY_CHARS:
            return 0
        return self._pending.rfind(" ", 1, MAX_SENTENCE_CHARS) + 1 or MAX_SENTENCE_CHARS

    def _take(self, cut: int) -> Iterator[StreamSentence]:
        raw, self._pending = self._pending[:cut], self._pending[cut:]
        text = raw.strip()
        if any(map(str.isalnum, text)) or "`" in text:
            yield StreamSentence(text, self._at + len(raw) - len(raw.lstrip()), self._line)
        self._line = raw.endswith("\n") or (self._line and not text)
        self._at += cut
        self._from = 0


_MAY_CITE = re.compile(r"[\[(【⁰¹²³⁴⁵⁶⁷⁸⁹]|^(?:[Ss]ource )?S\d", re.MULTILINE)
_PART = re.compile(r"[^\W\d_]{2,}")
_ENUMERATOR = re.compile(r"\W*\d{1,3}[.)](?=\s)")
_FENCE = re.compile(r"\s*(?:`{3,}|~{3,})")
_UNKNOWN_NAME_SHARE = 0.5  # a name counts as unsourced if at least half of its words are unknown
_TIMES = frozenset((*MONTHS, *WEEKDAYS, "am", "pm", "step", "part", "section"))


@dataclass(slots=True)
class StreamState:
    """The state of a monitored stream; its size is bounded."""

    in_code: bool = False
    specifics: deque[tuple[int, int]] = field(default_factory=lambda: deque(maxlen=4))
    invented: set[str] = field(default_factory=set)

    def follow(self, sentence: StreamSentence) -> None:
        """Track code fences."""
        if sentence.line and _FENCE.match(sentence.text):
            self.in_code = not self.in_code


class SentenceFeatures:
    """The names, numbers, dates and citations of a sentence, each extracted on first use."""

    def __init__(self, sentence: StreamSentence, known: KnownContent, past: StreamState) -> None:
        self.text = sentence.text
        self.start = sentence.start
        self.known = known
        self.past = past

    @cached_property
    def digits(self) -> bool:
        return re.search(r"\d", self.text) is not None

    @cached_property
    def dates(self) -> list[PartialDate]:
        return dates_in(self.text) if self.digits else []

    @cached_property
    def numbers(self) -> list[Number]:
        """Numbers outside dates, URLs, citation marks and enumerators."""
        if not _MAY_COUNT.search(self.text):
            return []
        taken = [(date.start, date.end) for date in self.dates] + [(mark.start, mark.end) for mark in self.marks]
        taken += [match.span() for match in _URL.finditer(self.text)] if "//" in self.text else []
        taken += [match.span()] if (match := _ENUMERATOR.match(self.text)) else []
        return [n for n in numbers(self.text) if not any(a < n.end and n.start < b for a, b in taken)]

    @cached_property
    def names(self) -> list[Name]:
        """Proper names; headings and bold labels are skipped, since they are capitalised anyway."""
        text = self.text
        return [
            name
            for name in ([] if text.startswith("#") else names_in(text))
            if name.sure
            and text[name.start - 1 : name.start] != "*"
            and text[name.end : name.end + 1] not in ("*", ":")
        ]

    @cached_property
    def marks(self) -> list[CitationMark]:
        return marks(self.text, self.known.ids) if _MAY_CITE.search(self.text) else []

    @cached_property
    def cited(self) -> bool:
        """True if it cites an existing source."""
        ids = self.known.ids
        return any(resolve(label, ids) in ids for mark in self.marks for label in mark.labels)

    @cached_property
    def supposed(self) -> bool:
        """True for hypothetical sentences and examples."""
        return _SUPPOSED.search(self.text) is not None

    @cached_property
    def unsourced_numbers(self) -> list[Number]:
        """Numbers that occur neither in the sources nor in the request."""
        return [n for n in self.numbers if not self.known.has_number(n, self.text[n.start : n.end])]

    @cached_property
    def unsourced_dates(self) -> list[PartialDate]:
        return [date for date in self.dates if date.year and not self.known.has_date(date)]

    @cached_property
    def unsourced_names(self) -> list[Name]:
        """Names that are mostly unknown to the sources, except widely known ones."""
        unknown = (name for name in self.names if self.unknown_share(name) >= _UNKNOWN_NAME_SHARE)
        return [name for name in unknown if not is_common_name(name.text)]

    def unknown_share(self, name: Name) -> float:
        """Share of a name's words that are in no source. A sentence-initial word counts as known."""
        parts = [part for part in _PART.findall(name.text) if part[0].isupper()]
        new = [part.lower() not in _TIMES and not self.known.has_word(part) for part in parts]
        if not name.start and len(new) > 1:
            new[0] = False
        return sum(new) / max(1, len(new))


# The patterns.


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
        if sum(bool(_PART.match(word)) for word in name.text.split()) >= _MIN_NAME_WORDS:
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
        raw = seen.text[mark.start : mark.end]
        lost = [name for name in mark.labels if not _exists(seen, mark, name)]
        if lost and not _PAPER.fullmatch(raw):  # authors and a year are looked for below
            hit = PatternHit(mark.start, mark.end, f"there is no source {', '.join(lost)}", 0.95, raw)
            yield _recorded(seen, hit)
    for match in _PAPER.finditer(seen.text) if "(" in seen.text else ():
        authors = [name for name in match.group("one", "two", "one2", "two2") if name]
        year = match["year"] or match["year2"]
        alone = len(authors) == 1 and not (match["al"] or match["al2"]) and match["year"]
        if authors[0].lower() in _NO_AUTHORS or alone:
            continue  # "May (2021)", "Avatar (2009)": a date, or a work with its year
        if not all(map(seen.known.has_word, authors)) or int(year[:4]) not in seen.known.years:
            named = match[0].strip("()") if match[0].startswith("(") else match[0]
            note = f"no source mentions {named}"
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
    for match in _URL.finditer(seen.text):
        url = address(match[0])
        if url not in seen.known.urls and url not in seen.known.hosts and not _HANDLE.search(match[0]):
            known_host = url.partition("/")[0] in seen.known.hosts  # only the page is new
            confidence = 0.6 if known_host else 0.85 if seen.known.has_sources else 0.5
            yield _recorded(seen, PatternHit(*match.span(), "no source has this URL", confidence, url))


def handles(seen: SentenceFeatures) -> Iterator[PatternHit]:
    """DOIs, arXiv numbers, PMIDs and ISBNs that are in no source."""
    for match in _HANDLE.finditer(seen.text) if seen.digits else ():
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
