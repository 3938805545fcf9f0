"""Who said it: what one speaker of a conversation says is not what another one says."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from groundwire.text.lexicon import NEGATIONS, word_set
from groundwire.text.names import key, same_name
from groundwire.verifiers.lexical.pieces import content_norms
from groundwire.verifiers.rules.finding import RuleResult

_LIKELY = 0.85
_ALL_OF_IT, _LITTLE = 0.75, 0.34
_MIN_WORDS = 3
_FEW = 4
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
_REPORT = re.compile(rf"({_NAME}) {_SAYS},? (?!to )(?:that )?(.{{8,}})", re.DOTALL)
_ACCORDING = re.compile(rf"According to ({_NAME}), (.{{8,}})", re.DOTALL)
_ASSENT = re.compile(
    r"\W*(?:yes|yeah|yep|right|exactly|agreed|ok|okay|sure|true|indeed|correct|absolutely|same|me too)\b", re.I
)
# what refers back in a reply may take over what was said before
_TAKES_UP = re.compile(
    r"\W*(?:it|they|he|she)\b"
    r"|.*\b(?:that|this|these|those|so|same|too|as well|agree\w*|confirm\w*|heard|told|said|know|noted)\b",
    re.I,
)
_SECOND_HAND = re.compile(
    r"\b(?:said|says|saying|told|tells|announced|wrote|writes|mentioned|explained|reported|promised|quot(?:e|ing)"
    r"|heard|according to|per)\b",
    re.I,
)
_SENTENCE = re.compile(r"(?<=[.!?])\s+")
_NO_SPEAKER = word_set(
    """
    q a question answer note notes nb ps from to cc bcc re subject date time body message product price
    summary title name address phone email tip warning important example step update location place agenda
    topic action actions decision decisions minutes item total status source sources context monday tuesday
    wednesday thursday friday saturday sunday
    """
)


@dataclass(frozen=True, slots=True)
class SpeakerTurn:
    speaker: str
    text: str
    norms: frozenset[str]
    states: frozenset[str]
    """Of `norms` those that are not only asked."""


def misquoted(claim: str, context: str) -> Iterator[RuleResult]:
    """Words put into the mouth of one speaker that another one said, and this one did not."""
    told = _REPORT.match(claim) or _ACCORDING.match(claim)
    if told is None:
        return
    name, said = told.group(1), content_norms(told.group(2))
    spoken = turns(context)
    own = [turn for turn in spoken if same_name(turn.speaker, name)]
    if len(said) < _MIN_WORDS or not own or _assents(own):
        return
    others = [turn for turn in spoken if not same_name(turn.speaker, name)]
    other = max(others, key=lambda turn: _share(said, turn.states), default=None)
    if other is None or _share(said, other.states) < _ALL_OF_IT or _hands_on(other, name):
        return
    elsewhere = [*(turn.norms for turn in own), *_between(context)]
    taken_up = any(_takes_up(spoken, at, name) for at, turn in enumerate(spoken) if turn is other)
    if taken_up or max(_share(said, norms) for norms in elsewhere) > _LITTLE:
        return
    if _denies(told.group(2)) == _denies(_nearest(said, other.text)):
        start, end = told.span(1)
        yield RuleResult("no", _LIKELY, start, end, f"the sources have {other.speaker} say this")


def reports(claim: str, context: str) -> bool:
    """Whether a claim tells what one of the speakers said."""
    told = _REPORT.match(claim) or _ACCORDING.match(claim)
    return told is not None and any(same_name(turn.speaker, told.group(1)) for turn in turns(context))


@lru_cache(maxsize=64)
def turns(context: str) -> tuple[SpeakerTurn, ...]:
    """The turns of a conversation, where a context is one: at least two lines begin with who speaks."""
    found = [_turn(*match.groups()) for match in _TURN.finditer(context)]
    found = [turn for turn in found if turn.speaker.lower() not in _NO_SPEAKER]
    return tuple(found) if len({turn.speaker for turn in found}) > 1 else ()


def _turn(speaker: str, text: str) -> SpeakerTurn:
    stated = " ".join(part for part in _SENTENCE.split(text) if not part.endswith("?"))
    return SpeakerTurn(speaker, text, content_norms(text), content_norms(stated))


@lru_cache(maxsize=64)
def _between(context: str) -> tuple[frozenset[str], ...]:
    """The lines that nobody is named for: more of what the one above says, or what is told of them all."""
    return tuple(content_norms(line) for line in _TURN.sub("", context).splitlines() if line.strip())


def _share(said: frozenset[str], norms: frozenset[str]) -> float:
    return len(said & norms) / len(said)


def _assents(own: Sequence[SpeakerTurn]) -> bool:
    """Whoever says yes has said what was asked of him."""
    return any(_ASSENT.match(turn.text) for turn in own)


def _hands_on(turn: SpeakerTurn, name: str) -> bool:
    """Whether it may be told as somebody else's words."""
    words = {word.lower() for word in re.findall(r"\w+", turn.text)}
    return bool(_SECOND_HAND.search(turn.text)) or not words.isdisjoint(key(name))


def _takes_up(spoken: Sequence[SpeakerTurn], at: int, name: str) -> bool:
    """Whether whoever is named speaks next, and says no more than a word or two or refers back."""
    after = spoken[at + 1 : at + 2]
    return any(
        same_name(turn.speaker, name) and (len(turn.text.split()) <= _FEW or bool(_TAKES_UP.match(turn.text)))
        for turn in after
    )


def _nearest(said: frozenset[str], text: str) -> str:
    return max(_SENTENCE.split(text), key=lambda sentence: _share(said, content_norms(sentence)))


def _denies(text: str) -> bool:
    words = re.findall(r"[\w'’]+", text.lower())
    return any(word in NEGATIONS or word.endswith(("n't", "n’t")) for word in words)
