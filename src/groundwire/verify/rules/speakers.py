"""Who said it: what one speaker of a conversation says is not what another one says."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from groundwire.text.names import same_name
from groundwire.verify.lexical.pieces import content_norms
from groundwire.verify.rules.finding import Ruling

_LIKELY = 0.85
_ALL_OF_IT, _LITTLE = 0.75, 0.34
_MIN_WORDS = 3
_NAME = r"[A-Z][\w.'’-]{0,24}(?: [A-Z][\w.'’-]{0,24}){0,2}"
_BEFORE = r"^[ \t]*(?:[-*•][ \t]+)?(?:[\[(][^\])\n]{1,20}[\])][ \t]*)?"
_TURN = re.compile(
    rf"{_BEFORE}<?({_NAME})>?(?: \([^)\n]{{1,30}}\))?[ \t]*:?[ \t](?<=[:>][ \t])[ \t]*(\S.*)$", re.MULTILINE
)
# to agree, to confirm, to ask: what they are about may well stand in somebody else's words
_SAYS = (
    r"(?:said|says|stated|states|mentioned|mentions|explained|explains|noted|notes|reported|reports"
    r"|announced|announces|claimed|claims|promised|promises|told (?:the \w+|everyone|them|us|[A-Z]\w+))"
)
_REPORT = re.compile(rf"({_NAME}) {_SAYS},? (?:that )?(.{{8,}})", re.DOTALL)
_ACCORDING = re.compile(rf"According to ({_NAME}), (.{{8,}})", re.DOTALL)
_ASSENT = re.compile(
    r"\W*(?:yes|yeah|yep|right|exactly|agreed|ok|okay|sure|true|indeed|correct|absolutely|same|me too)\b",
    re.I,
)


@dataclass(frozen=True, slots=True)
class Turn:
    speaker: str
    text: str
    norms: frozenset[str]


def misquoted(claim: str, context: str) -> Iterator[Ruling]:
    """Words put into the mouth of one speaker that another one said, and this one did not."""
    told = _REPORT.match(claim) or _ACCORDING.match(claim)
    if told is None:
        return
    said = content_norms(told.group(2))
    spoken = turns(context)
    own = [turn for turn in spoken if same_name(turn.speaker, told.group(1))]
    others = [turn for turn in spoken if not same_name(turn.speaker, told.group(1))]
    if len(said) < _MIN_WORDS or not own or _assents(spoken, told.group(1)):
        return
    other = max(others, key=lambda turn: _share(said, turn), default=None)
    if other is None or _share(said, other) < _ALL_OF_IT:
        return
    if max(_share(said, turn) for turn in own) <= _LITTLE:
        start, end = told.span(1)
        yield Ruling("no", _LIKELY, start, end, f"the sources have {other.speaker} say this")


@lru_cache(maxsize=64)
def turns(context: str) -> tuple[Turn, ...]:
    """The turns of a conversation, where a context is one: at least two lines begin with who speaks."""
    found = [
        Turn(match.group(1), match.group(2), frozenset(content_norms(match.group(2))))
        for match in _TURN.finditer(context)
    ]
    return tuple(found) if len({turn.speaker for turn in found}) > 1 else ()


def _share(said: frozenset[str], turn: Turn) -> float:
    return len(said & turn.norms) / len(said)


def _assents(spoken: Sequence[Turn], speaker: str) -> bool:
    """Whoever says yes has said what was asked of him."""
    return any(same_name(turn.speaker, speaker) and _ASSENT.match(turn.text) for turn in spoken)
