"""What a request needs to know: its questions, both sides of its comparisons, what it takes for granted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum

from groundwire.openie.mentions import UNITS, mentions
from groundwire.streaming.asking import (
    ASKS,
    CHAT,
    CREATIVE,
    EMPTY_IT,
    EXPECTS,
    GIVEN,
    JOINED,
    LEAD,
    NAMED_HE,
    OF_USER,
    ON_MATERIAL,
    ON_TEXT,
    REFERS,
    SIDES,
    SUM,
    WH_WORD,
    WHY,
)
from groundwire.text.gazetteer import is_world
from groundwire.text.sentences import sentences
from groundwire.text.tokens import names, terms
from groundwire.types import Mention, MentionKind

_LITTLE = 3
_HEAD = 400
_LONGEST = 2000
_MOST = 12
_MIN_PREMISE_WORDS = 2


class RequestKind(StrEnum):
    """Only a question needs to know what the request itself does not hold."""

    QUESTION = "question"
    CHAT = "chat"
    CREATIVE = "creative"
    GIVEN_TEXT = "given_text"
    SUM = "sum"


@dataclass(frozen=True, slots=True)
class Need:
    """Something a request needs to know. `expects` is what the answer holds: "time", "number" or "name".

    `about` is what a pronoun in it stands for, as far as the request says.
    """

    text: str
    kind: str = "question"
    explicit: bool = True
    expects: str = ""
    about: str = ""


def kind_of(request: str) -> RequestKind:
    """What kind of request it is.

    >>> [kind_of(r).value for r in ("Hi there!", "Write a poem on rain", "2 + 2?", "When did Acme move?")]
    ['chat', 'creative', 'sum', 'question']
    """
    head = request[:_HEAD]
    if not any(map(str.isalnum, head)) or CHAT.fullmatch(head):
        return RequestKind.CHAT
    if SUM.fullmatch(head):
        return RequestKind.SUM
    if CREATIVE.match(head):
        return RequestKind.CREATIVE
    if ON_TEXT.match(head) and GIVEN.search(request[:_LONGEST]):
        return RequestKind.GIVEN_TEXT
    return RequestKind.QUESTION


def needs(request: str) -> list[Need]:
    """All that a request needs, what it asks for first; nothing where it is no question.

    >>> [(n.kind, n.text) for n in needs("Why did Atlas Mining fail?")]
    [('question', 'Why did Atlas Mining fail?'), ('premise', 'Atlas Mining fail'), ('entity', 'Atlas Mining')]
    """
    if kind_of(request) is not RequestKind.QUESTION:
        return []
    if ON_MATERIAL.match(request[:_HEAD]) and not _named(request[:_HEAD]):
        return [Need(request[:_HEAD].strip(), "material")]
    found: dict[tuple[str, str], Need] = {}
    text = request[-_LONGEST:]
    for question in questions(text):
        before = text[: max(0, text.find(question))]
        about = _told(question, before)
        for need in (*_asked(question), *_granted(question, before)):
            found.setdefault((need.kind, need.text.casefold()), replace(need, about=about))
    return list(found.values())[:_MOST]


def _told(question: str, before: str) -> str:
    """What a question that says little is about: whom the request named before, or what it told."""
    if len(terms(question)) < _LITTLE and before.strip():
        last = sentences(before)[-1]
        return before[last.start : last.end]
    return names(before) if REFERS.search(question) else ""


def questions(request: str) -> list[str]:
    """The questions of a request, one by one; statements around them are what the user tells.

    >>> questions("I run a shop. Who founded Acme and when was it sold?")
    ['Who founded Acme', 'when was it sold?']
    """
    text = request[-_LONGEST:]
    said = [text[span.start : span.end] for span in sentences(text)]
    asked = [part for part in said if "?" in part or ASKS.match(part)] or said
    parts = (piece.strip() for part in asked for piece in JOINED.split(part))
    return [part for part in parts if any(map(str.isalnum, part))]


def _asked(question: str) -> Iterator[Need]:
    """The question itself, or where it compares both things it compares."""
    first = WH_WORD.search(question)
    expects = next(
        (kind for kind, pattern in EXPECTS if first and pattern.match(question, first.start())), ""
    )
    if OF_USER.search(question):
        yield Need(question, "user", expects=expects)
        return
    sides = next((match for pattern in SIDES if (match := pattern.search(question))), None)
    if sides is None:
        yield Need(question, expects=expects)
        return
    for side in (sides["a"], sides["b"]):
        yield Need(side.strip(" ?.!,"), "side")


def _granted(question: str, before: str) -> Iterator[Need]:
    """What must be so for the question to make sense."""
    why = WHY.match(question)
    said = next((part for part in why.groups() if part), "").strip(" ?.!") if why else ""
    if len(said.split()) >= _MIN_PREMISE_WORDS:
        yield Need(said, "premise", explicit=False)
    spoken_of = mentions(question)
    named = _named(question)
    yield from (Need(m.text, "entity", explicit=False) for m in named)
    yield from (Need(m["name"], "entity", explicit=False) for m in NAMED_HE.finditer(question))
    lead = LEAD.match(question)
    begin = lead.end() if lead else 0
    for mention in spoken_of:
        # What stands right behind "what is …" is what is asked for, not what is taken for granted.
        if mention.kind is MentionKind.DEFINITE and mention.start > begin + 1 and _tells(mention.text):
            yield Need(mention.text, "description", explicit=False)
    pronoun = REFERS.search(question)
    if pronoun and not (before.strip() or EMPTY_IT.search(question) or terms(question[: pronoun.start()])):
        yield Need(pronoun[0], "referent", explicit=False)


def _named(text: str) -> list[Mention]:
    """Whom a text names, except those everybody knows."""
    return [m for m in mentions(text) if m.kind is MentionKind.PROPER_NAME and not is_world(m.text)]


def _tells(description: str) -> bool:
    """Whether a description means one certain thing: "the Atlas project", not "the effects"."""
    words = description.split()[1:]
    return any(word[:1].isupper() for word in words) or bool(words and words[-1].lower() in UNITS)
