"""The input of the stream patterns: the content of the sources, the stream's sentences, and its state."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from groundwire.claims.markup import CitationMark, marks, resolve
from groundwire.text.dates import MONTHS, WEEKDAYS, PartialDate, dates
from groundwire.text.lexicon import expressions
from groundwire.text.names import Name, is_common_name, names
from groundwire.text.numbers import Number, numbers
from groundwire.text.numbers import number_words as in_words
from groundwire.types import Source

_WORD = re.compile(r"[^\W_]+")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_NUMBER, URL, HANDLE, _LABEL, _BOUNDARY, _OPEN_END, _SHORT, _MAY_COUNT, _SUPPOSED = expressions(
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
        found = {word for text in self._texts for word in _WORD.findall(text)}
        found |= {part for word in found if _CAMEL.search(word) for part in _CAMEL.sub(" ", word).split()}
        return frozenset(map(plain, found))

    @cached_property
    def values(self) -> list[float]:
        """All numbers in the sources, in digits or words, sorted."""
        found: set[float] = set()
        for text in self._texts:
            for digits, scale in _NUMBER.findall(text):
                value = _parsed(digits)
                found |= {value, value * _SCALES.get(scale.lower(), 1.0)}
            found.update(value for value, *_ in in_words(text))
        return sorted(found)

    @cached_property
    def years(self) -> frozenset[int]:
        return frozenset(int(value) for value in self.values if 1000 <= value <= 2199 and value.is_integer())

    @cached_property
    def urls(self) -> frozenset[str]:
        return frozenset(map(address, self._found(URL)))

    @cached_property
    def hosts(self) -> frozenset[str]:
        return frozenset(url.partition("/")[0] for url in self.urls)

    @cached_property
    def handles(self) -> frozenset[str]:
        return frozenset(map(handle, self._found(HANDLE)))

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
        values |= {_parsed(written[1])} if written else set()
        return any(self._has_near(value, number) for value in values)

    def _has_near(self, value: float, number: Number) -> bool:
        """Compare to the last written digit, or with a tolerance if the answer says "about"."""
        place = number.step if value == number.value else min(number.step, 1.0)
        room = max(place / 2, abs(value) * _APPROXIMATE_TOLERANCE if number.bound else 0.0) + 1e-9
        at = bisect_left(self.values, value - room)
        return at < len(self.values) and self.values[at] <= value + room

    def has_date(self, date: PartialDate) -> bool:
        """True if its year and, if given, its month and day occur in the sources."""
        if date.year and date.years == 1 and date.year not in self.years:
            return False
        month = not date.month or self._has(date.month) or bool(_NAMES[date.month] & self.words)
        return month and (not date.day or self._has(date.day))

    def _has(self, value: int) -> bool:
        at = bisect_left(self.values, value)
        return at < len(self.values) and self.values[at] == value


def _parsed(digits: str) -> float:
    return float(digits.replace(",", ""))


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
    """A label in comparable form.

    >>> label("[Passage 2]"), label("passage #2")
    ('passage2', 'passage2')
    """
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

    @property
    def end(self) -> int:
        return self.start + len(self.text)


class SentenceSplitter:
    """Feed text and take the complete sentences; `rest()` returns the unfinished one."""

    def __init__(self) -> None:
        self._pending = ""
        self._at = 0
        self._from = 0
        self._open = False
        self._line = True

    def feed(self, text: str) -> Sequence[StreamSentence]:
        if len(text) <= _FEED_CHARS:
            return self._feed(text)
        bites = (text[at : at + _FEED_CHARS] for at in range(0, len(text), _FEED_CHARS))
        return [sentence for bite in bites for sentence in self._feed(bite)]

    def _feed(self, text: str) -> Sequence[StreamSentence]:
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
            if match.start() >= MAX_SENTENCE_CHARS:
                break
            if match.end() - match.start() < _MAX_BOUNDARY_CHARS and not self._is_short(match):
                return match.end()
            at = match.start() + 1
        if len(self._pending) < MAX_SENTENCE_CHARS + _MAX_BOUNDARY_CHARS:
            return 0
        return self._pending.rfind(" ", 1, MAX_SENTENCE_CHARS) + 1 or MAX_SENTENCE_CHARS

    def _is_short(self, match: re.Match[str]) -> bool:
        """True if the full stop ends an abbreviation, an initial or an enumerator."""
        if not match[0].startswith(".") or match[0].startswith(".."):
            return False
        start = max(0, match.start() - _ABBREVIATION_CHARS)
        return _SHORT.search(self._pending[start : match.start()]) is not None

    def _take(self, cut: int) -> Iterator[StreamSentence]:
        raw, self._pending = self._pending[:cut], self._pending[cut:]
        left = len(raw) - len(raw.lstrip())
        text = raw.strip()
        if any(map(str.isalnum, text)) or "`" in text:
            yield StreamSentence(text, self._at + left, self._line)
        self._line = raw.endswith("\n") or (self._line and not text)
        self._at += cut
        self._from = 0


_DIGIT = re.compile(r"\d")
_MAY_CITE = re.compile(r"[\[(【⁰¹²³⁴⁵⁶⁷⁸⁹]|^(?:[Ss]ource )?S\d", re.MULTILINE)
PART = re.compile(r"[^\W\d_]{2,}")
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
        return _DIGIT.search(self.text) is not None

    @cached_property
    def dates(self) -> list[PartialDate]:
        return dates(self.text) if self.digits else []

    @cached_property
    def numbers(self) -> list[Number]:
        """Numbers outside dates, URLs, citation marks and enumerators."""
        if not _MAY_COUNT.search(self.text):
            return []
        taken = [(date.start, date.end) for date in self.dates]
        taken += [match.span() for match in URL.finditer(self.text)] if "//" in self.text else []
        taken += [(mark.start, mark.end) for mark in self.marks]
        taken += [match.span()] if (match := _ENUMERATOR.match(self.text)) else []
        return [n for n in numbers(self.text) if not any(a < n.end and n.start < b for a, b in taken)]

    @cached_property
    def names(self) -> list[Name]:
        """Proper names; headings and bold labels are skipped, since they are capitalised anyway."""
        if self.text.startswith("#"):
            return []
        return [name for name in names(self.text) if name.sure and not self._is_label(name)]

    def _is_label(self, name: Name) -> bool:
        return self.text[name.start - 1 : name.start] == "*" or self.text[name.end : name.end + 1] in ("*", ":")

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
        return [
            name
            for name in self.names
            if self.unknown_share(name) >= _UNKNOWN_NAME_SHARE and not is_common_name(name.text)
        ]

    def unknown_share(self, name: Name) -> float:
        """Share of a name's words that are in no source. A sentence-initial word counts as known."""
        parts = [part for part in PART.findall(name.text) if part[0].isupper()]
        new = [part.lower() not in _TIMES and not self.known.has_word(part) for part in parts]
        if not name.start and len(new) > 1:
            new[0] = False
        return sum(new) / max(1, len(new))
