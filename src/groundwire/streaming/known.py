"""What an answer may rest on, as sets: words, numbers, addresses and names of its sources and its request."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from functools import cached_property

from groundwire.text.dates import MONTHS, PartialDate
from groundwire.text.numbers import Number
from groundwire.text.numbers import number_words as in_words
from groundwire.types import Source

_WORD = re.compile(r"[^\W_]+")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_NUMBER = re.compile(
    r"(?<![\w.])(\d[\d,]*(?:\.\d+)?)(?:[\s-]?(thousand|million|billion|trillion|[kKmMbB]n?)\b)?"
)
_SCALES = {
    **dict.fromkeys(("thousand", "k"), 1e3),
    **dict.fromkeys(("million", "m", "mn"), 1e6),
    **dict.fromkeys(("billion", "b", "bn"), 1e9),
    "trillion": 1e12,
}
URL = re.compile(r"\b(?:https?://|www\.)[^\s<>\"'`)\]}|\\^]+", re.IGNORECASE)
HANDLE = re.compile(
    r"\b10\.\d{4,9}/[^\s\"'<>)\]]+|\barXiv:\s?\d{4}\.\d{4,5}|\bPMID:?\s?\d{5,9}"
    r"|\bISBN[-:\s]*(?:97[89][-\s]?)?\d[\d\s-]{7,15}[\dX]\b",
    re.IGNORECASE,
)
NAME_IN_CODE = re.compile(
    r"--[a-z][\w-]+|\$?[A-Za-z_]\w*(?:(?:\.|::|->)[A-Za-z_]\w*)+|\b\w+_\w+\b|\b\w+(?=\()"
)
JOINT = re.compile(r"\.|::|->")
_LABEL = re.compile(
    r"\[\^?[\w-]{1,12}\]|\b(?:passage|source|document|doc|section|ref|reference|figure|table|chapter|page|part"
    r"|article|item|step|note|מקור|מסמך|קטע)s?\s?[#:]?\s?\d{1,3}\b",
    re.IGNORECASE,
)
_LOOSE = 0.005


class Known:
    """Built once from the sources and the request; each set only when something first asks for it."""

    def __init__(self, sources: Sequence[Source] = (), request: str = "") -> None:
        self.ids = tuple(source.id for source in sources)
        self._texts = (*(source.text for source in sources), *((request,) if request else ()))
        self.sourced = any(source.text.strip() for source in sources)

    def read(self) -> None:
        """Make all sets now, which takes some time where the sources are long."""
        for made in (self.words, self.years, self.hosts, self.handles, self.code, self.marks):
            len(made)

    def _found(self, pattern: re.Pattern[str]) -> Iterable[str]:
        return (match[0] for text in self._texts for match in pattern.finditer(text))

    @cached_property
    def words(self) -> frozenset[str]:
        """Without case and accents; `BusinessParking` is also business and parking."""
        found = {word for text in self._texts for word in _WORD.findall(text)}
        found |= {part for word in found if _CAMEL.search(word) for part in _CAMEL.sub(" ", word).split()}
        return frozenset(map(plain, found))

    @cached_property
    def values(self) -> list[float]:
        """Every number the sources write, in digits or in words, sorted."""
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
    def code(self) -> frozenset[str]:
        """Identifiers, options and calls, and the parts of dotted ones."""
        found = set(self._found(NAME_IN_CODE))
        return frozenset(found | {part for name in found for part in JOINT.split(name)})

    @cached_property
    def marks(self) -> frozenset[str]:
        """Labels that stand in the sources' own text ("[5]", "passage 2"): an answer may speak of them."""
        return frozenset(map(label, self._found(_LABEL)))

    def has_word(self, word: str) -> bool:
        folded = plain(word)
        return folded in self.words or folded.removesuffix("s") in self.words or f"{folded}s" in self.words

    def has_number(self, number: Number, raw: str = "") -> bool:
        """Whether the sources write this number (`raw` as written), as exactly as the answer, in any unit."""
        if number.kind == "time":
            hour = int(number.value // 60)
            return self._has(hour) or self._has(hour % 12 or 12)
        written = _NUMBER.search(raw)
        values = {number.value, number.value / 100 if number.unit == "%" else number.value}
        values |= {_parsed(written[1])} if written else set()
        return any(self._has_near(value, number) for value in values)

    def _has_near(self, value: float, number: Number) -> bool:
        """As exact as the last place that is written, or as rough as the answer calls it."""
        place = number.step if value == number.value else min(number.step, 1.0)
        room = max(place / 2, abs(value) * _LOOSE if number.bound else 0.0) + 1e-9
        at = bisect_left(self.values, value - room)
        return at < len(self.values) and self.values[at] <= value + room

    def has_date(self, date: PartialDate) -> bool:
        """Whether its year, and where it names them its month and day, stand somewhere in the sources."""
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
