"""A stream of text as sentences, each as soon as the next one begins: the same ones however it is cut.

A cut is made only where no later text could move it, and everything a decision looks at is bounded, so that
neither the cost of a token nor the memory grows with the text. Coarser than `text.segment`, which sees the
whole: good enough to look for patterns in.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

LONGEST = 1000
"""A sentence without an end is cut here."""

_GUARD = 300  # no boundary is longer: what begins before LONGEST is decided by LONGEST + _GUARD
_CLOSER = r"[\"'”’»)\]*_`]{0,6}"
_MARK = r"(?:[ \t]{0,2}(?:\[(?:[^\]\n.!?…。！？]{1,20}|[^\]\s。！？]{1,40})\]|\(S\d{1,4}\)))"
_BOUNDARY = re.compile(
    rf"\n|[。！？]++[”’」』）]?(?=[^\s”’」』）。！？])"
    rf"|(?<![.!?…])[.!?…]++{_CLOSER}{_MARK}{{0,4}}[^\S\n]++(?=[^\sa-z\[(])"
)
_STOP = re.compile(r"[.!?…。！？\n]")
_OPEN_END = re.compile(
    r"(?<![.!?…。！？])[.!?…。！？]++[^\w\n\[(]*+(?:[\[(][^\])\n]{0,41}+[\])]?[^\w\n\[(]*+){0,6}+\Z"
)
_SHORT = re.compile(
    r"(?:(?<![^\W\d_])[^\W\d_]|(?<!\w)(?:Dr|Mr|Mrs|Ms|Prof|St|Sr|Jr|vs|No|Nos|Fig|Eq|Vol|pp?|cf|ca|approx"
    r"|e\.g|i\.e|al|Inc|Ltd|Co|Corp|U\.S|U\.K|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec|Gen|Gov|Sen|Rep"
    r"|\d{1,2}))\Z"
)
_LOOK_BACK = 12
_BITE = 2000  # so much is looked at at once, however much comes


@dataclass(frozen=True, slots=True)
class Sentence:
    """`text` stood at `start` in the stream. `line` says that it begins a line."""

    text: str
    start: int
    line: bool = True

    @property
    def end(self) -> int:
        return self.start + len(self.text)


class Splitter:
    """Feed it text, take the sentences that are complete; `rest()` is what no sentence end followed."""

    def __init__(self) -> None:
        self._pending = ""
        self._at = 0
        self._from = 0
        self._open = False
        self._line = True

    def feed(self, text: str) -> Sequence[Sentence]:
        if len(text) <= _BITE:
            return self._feed(text)
        bites = (text[at : at + _BITE] for at in range(0, len(text), _BITE))
        return [sentence for bite in bites for sentence in self._feed(bite)]

    def _feed(self, text: str) -> Sequence[Sentence]:
        self._pending += text
        if not self._open and len(self._pending) < LONGEST + _GUARD and not _STOP.search(text):
            return ()
        found: list[Sentence] = []
        while (cut := self._cut()) > 0:
            found += self._take(cut)
        self._open = _OPEN_END.search(self._pending, max(0, len(self._pending) - _GUARD)) is not None
        self._from = max(self._from, len(self._pending) - _GUARD)
        return found

    def rest(self) -> Sequence[Sentence]:
        return list(self._take(len(self._pending)))

    def _cut(self) -> int:
        """How much of what is pending is a sentence; 0 where that cannot be said yet."""
        at = self._from
        while match := _BOUNDARY.search(self._pending, at):
            if match.start() >= LONGEST:
                break
            if match.end() - match.start() < _GUARD and not self._is_short(match):
                return match.end()
            at = match.start() + 1
        if len(self._pending) < LONGEST + _GUARD:
            return 0
        return self._pending.rfind(" ", 1, LONGEST) + 1 or LONGEST

    def _is_short(self, match: re.Match[str]) -> bool:
        """The stop of an abbreviation, an initial or an enumerator."""
        if not match[0].startswith(".") or match[0].startswith(".."):
            return False
        start = max(0, match.start() - _LOOK_BACK)
        return _SHORT.search(self._pending[start : match.start()]) is not None

    def _take(self, cut: int) -> Iterator[Sentence]:
        raw, self._pending = self._pending[:cut], self._pending[cut:]
        left = len(raw) - len(raw.lstrip())
        text = raw.strip()
        if any(map(str.isalnum, text)) or "`" in text:
            yield Sentence(text, self._at + left, self._line)
        self._line = raw.endswith("\n") or (self._line and not text)
        self._at += cut
        self._from = 0
