"""One sentence of a stream, read once for all patterns; and the little that is remembered of those before."""

from __future__ import annotations

import re
from collections import OrderedDict, deque
from dataclasses import dataclass, field
from functools import cached_property
from typing import Generic, TypeVar

from groundwire.claims.citations import Mark, marks, resolve
from groundwire.streaming.known import URL, Known
from groundwire.streaming.splitter import Sentence
from groundwire.text.dates import MONTHS, WEEKDAYS, PartialDate, dates
from groundwire.text.gazetteer import is_world
from groundwire.text.names import Name, names
from groundwire.text.numbers import Number, numbers
from groundwire.text.tokens import Word, words

K = TypeVar("K")
V = TypeVar("V")

_DIGIT = re.compile(r"\d")
_MAY_COUNT = re.compile(
    r"\d|[½¼¾⅓⅔⅛]|\b(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|\w+teen|\w+ty|half|third"
    r"|quarter|hundred|thousand|million|billion|dozen)\b|[א-ת]",
    re.IGNORECASE,
)
_MAY_CITE = re.compile(r"[\[(【⁰¹²³⁴⁵⁶⁷⁸⁹]|^(?:[Ss]ource )?S\d", re.MULTILINE)
PART = re.compile(r"[^\W\d_]{2,}")
_ENUMERATOR = re.compile(r"\W*\d{1,3}[.)](?=\s)")
_FENCE = re.compile(r"\s*(?:`{3,}|~{3,})")
_SUPPOSED = re.compile(
    r"\b(?:for example|for instance|e\.g\.|imagine|suppose|assum(?:e|ing)|let's say|hypothetical|say,|if)\b"
    r"|לדוגמה|נניח|אם ",
    re.IGNORECASE,
)
_NEW = 0.5
_TIMES = frozenset((*MONTHS, *WEEKDAYS, "am", "pm", "step", "part", "section"))


class Recent(Generic[K, V]):
    """A table that forgets what was used longest ago, once it holds `size` entries."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._held: OrderedDict[K, V] = OrderedDict()

    def __len__(self) -> int:
        return len(self._held)

    def __contains__(self, key: K) -> bool:
        return key in self._held

    def get(self, key: K) -> V | None:
        if key not in self._held:
            return None
        self._held.move_to_end(key)
        return self._held[key]

    def put(self, key: K, value: V) -> None:
        self._held[key] = value
        self._held.move_to_end(key)
        if len(self._held) > self._size:
            self._held.popitem(last=False)


@dataclass(frozen=True, slots=True)
class Said:
    """A statement kept to be held against later ones: what it says, and of which value.

    `turned`: denied, or said with the opposite word.
    """

    text: str
    start: int
    value: float | None = None
    turned: bool = False


@dataclass(slots=True)
class Past:
    """What a monitor remembers of the stream, bounded however long it gets."""

    in_code: bool = False
    scope: str = ""
    specifics: deque[tuple[int, int]] = field(default_factory=lambda: deque(maxlen=4))
    said: Recent[tuple[object, ...], Said] = field(default_factory=lambda: Recent(1024))
    invented: Recent[str, None] = field(default_factory=lambda: Recent(64))
    defined: Recent[str, None] = field(default_factory=lambda: Recent(512))

    def follow(self, sentence: Sentence) -> None:
        """Step over a fence into code, or out of it."""
        if sentence.line and _FENCE.match(sentence.text):
            self.in_code = not self.in_code


class Seen:
    """A sentence with what it names, counts, dates and cites; each is looked for only when asked for."""

    def __init__(self, sentence: Sentence, known: Known, past: Past) -> None:
        self.text = sentence.text
        self.start = sentence.start
        self.known = known
        self.past = past

    @cached_property
    def digits(self) -> bool:
        return _DIGIT.search(self.text) is not None

    @cached_property
    def words(self) -> list[Word]:
        return words(self.text)

    @cached_property
    def dates(self) -> list[PartialDate]:
        return dates(self.text) if self.digits else []

    @cached_property
    def numbers(self) -> list[Number]:
        """Numbers that are no dates and stand in no address."""
        if not _MAY_COUNT.search(self.text):
            return []
        taken = [(date.start, date.end) for date in self.dates]
        taken += [match.span() for match in URL.finditer(self.text)] if "//" in self.text else []
        taken += [(mark.start, mark.end) for mark in self.marks]
        taken += [match.span()] if (match := _ENUMERATOR.match(self.text)) else []
        return [n for n in numbers(self.text) if not any(a < n.end and n.start < b for a, b in taken)]

    @cached_property
    def names(self) -> list[Name]:
        """Proper names; what is bold or a heading has capitals for another reason."""
        if self.text.startswith("#"):
            return []
        return [name for name in names(self.text) if name.sure and not self._is_label(name)]

    def _is_label(self, name: Name) -> bool:
        return self.text[name.start - 1 : name.start] == "*" or self.text[name.end : name.end + 1] in (
            "*",
            ":",
        )

    @cached_property
    def marks(self) -> list[Mark]:
        return marks(self.text, self.known.ids) if _MAY_CITE.search(self.text) else []

    @cached_property
    def cited(self) -> bool:
        """Whether it names a source that exists."""
        ids = self.known.ids
        return any(resolve(label, ids) in ids for mark in self.marks for label in mark.labels)

    @cached_property
    def supposed(self) -> bool:
        """Whether it only supposes, as an example does."""
        return _SUPPOSED.search(self.text) is not None

    @cached_property
    def strange_numbers(self) -> list[Number]:
        """Those that neither the sources nor the request write."""
        return [n for n in self.numbers if not self.known.has_number(n, self.text[n.start : n.end])]

    @cached_property
    def strange_dates(self) -> list[PartialDate]:
        return [date for date in self.dates if date.year and not self.known.has_date(date)]

    @cached_property
    def strange_names(self) -> list[Name]:
        """Names at least half of whose words no source knows, except those everybody knows."""
        return [name for name in self.names if self.newness(name) >= _NEW and not is_world(name.text)]

    def newness(self, name: Name) -> float:
        """The share of a name's words that are in no source; what opens a sentence is no name by that."""
        parts = [part for part in PART.findall(name.text) if part[0].isupper()]
        new = [part.lower() not in _TIMES and not self.known.has_word(part) for part in parts]
        if not name.start and len(new) > 1:
            new[0] = False
        return sum(new) / max(1, len(new))
