"""Parse a request into what it needs to know: questions, sides of comparisons, premises and names.

The grammar of English and Hebrew requests is in text/data/requests.toml.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum

from groundwire.openie.mentions import UNITS, mentions
from groundwire.text.lexicon import expressions, grammar
from groundwire.text.names import is_common_name
from groundwire.text.sentences import sentences
from groundwire.text.tokens import names, terms
from groundwire.types import Mention, MentionKind

_GRAMMAR = grammar("requests")
CHAT, CREATIVE, ON_TEXT, ON_MATERIAL, GIVEN, SUM, WH_WORD, JOINED, ASKS, LEAD, WHY = expressions(
    "requests", "chat creative on_text on_material given sum wh_word joined asks lead why"
)
"""`ON_MATERIAL`: a task on the given text ("list three facts"). `WHY` presupposes the fact it asks about."""
REFERS, EMPTY_IT, OF_USER, NAMED_HE = expressions("requests", "refers empty_it of_user named_he")
"""`EMPTY_IT`: "is it safe to …". `NAMED_HE`: Hebrew has no capitals; names show by the words before them."""
SIDES = tuple(re.compile(pattern, re.IGNORECASE) for pattern in _GRAMMAR["sides"])
EXPECTS = tuple((kind, re.compile(pattern, re.IGNORECASE)) for kind, pattern in _GRAMMAR["expects"])

_SHORT_QUESTION_TERMS = 3  # a question with fewer content words is about the sentence before it
_HEAD_CHARS = 400  # the kind of a request shows in its beginning
_REQUEST_CHARS = 2000  # the end of a long request is parsed
_MAX_NEEDS = 12
_MIN_PREMISE_WORDS = 2


class RequestKind(StrEnum):
    """The kind of a request. Only a question needs knowledge from outside the request."""

    QUESTION = "question"
    CHAT = "chat"
    CREATIVE = "creative"
    GIVEN_TEXT = "given_text"
    SUM = "sum"


@dataclass(frozen=True, slots=True)
class Need:
    """Something a request needs to know. `expects` is the kind of answer: "time", "number" or "name".

    `about` is what a pronoun in it refers to, if the request says so.
    """

    text: str
    kind: str = "question"
    explicit: bool = True
    expects: str = ""
    about: str = ""


def kind_of(request: str) -> RequestKind:
    """Classify a request.

    >>> [kind_of(r).value for r in ("Hi there!", "Write a poem on rain", "2 + 2?", "When did Acme move?")]
    ['chat', 'creative', 'sum', 'question']
    """
    head = request[:_HEAD_CHARS]
    if not any(map(str.isalnum, head)) or CHAT.fullmatch(head):
        return RequestKind.CHAT
    if SUM.fullmatch(head):
        return RequestKind.SUM
    if CREATIVE.match(head):
        return RequestKind.CREATIVE
    if ON_TEXT.match(head) and GIVEN.search(request[:_REQUEST_CHARS]):
        return RequestKind.GIVEN_TEXT
    return RequestKind.QUESTION


def needs(request: str) -> list[Need]:
    """The knowledge that a request needs, explicit needs first; empty if it is not a question.

    >>> [(n.kind, n.text) for n in needs("Why did Atlas Mining fail?")]
    [('question', 'Why did Atlas Mining fail?'), ('premise', 'Atlas Mining fail'), ('entity', 'Atlas Mining')]
    """
    if kind_of(request) is not RequestKind.QUESTION:
        return []
    if ON_MATERIAL.match(request[:_HEAD_CHARS]) and not _named(request[:_HEAD_CHARS]):
        return [Need(request[:_HEAD_CHARS].strip(), "material")]
    found: dict[tuple[str, str], Need] = {}
    text = request[-_REQUEST_CHARS:]
    for question in questions(text):
        before = text[: max(0, text.find(question))]
        about = _subject(question, before)
        for need in (*_explicit_needs(question), *_implied_needs(question, before)):
            found.setdefault((need.kind, need.text.casefold()), replace(need, about=about))
    return list(found.values())[:_MAX_NEEDS]


def _subject(question: str, before: str) -> str:
    """The subject of a short question or one with a pronoun, from the text before it."""
    if len(terms(question)) < _SHORT_QUESTION_TERMS and before.strip():
        last = sentences(before)[-1]
        return before[last.start : last.end]
    return names(before) if REFERS.search(question) else ""


def questions(request: str) -> list[str]:
    """The questions of a request; statements around them are ignored.

    >>> questions("I run a shop. Who founded Acme and when was it sold?")
    ['Who founded Acme', 'when was it sold?']
    """
    text = request[-_REQUEST_CHARS:]
    pieces = [text[span.start : span.end] for span in sentences(text)]
    asked = [part for part in pieces if "?" in part or ASKS.match(part)] or pieces
    parts = (piece.strip() for part in asked for piece in JOINED.split(part))
    return [part for part in parts if any(map(str.isalnum, part))]


def _explicit_needs(question: str) -> Iterator[Need]:
    """The question itself, or both sides of a comparison."""
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


def _implied_needs(question: str, before: str) -> Iterator[Need]:
    """The presuppositions of a question: premises, names, descriptions and referents."""
    why = WHY.match(question)
    premise = next((part for part in why.groups() if part), "").strip(" ?.!") if why else ""
    if len(premise.split()) >= _MIN_PREMISE_WORDS:
        yield Need(premise, "premise", explicit=False)
    mentioned = mentions(question)
    named = _named(question)
    yield from (Need(m.text, "entity", explicit=False) for m in named)
    yield from (Need(m["name"], "entity", explicit=False) for m in NAMED_HE.finditer(question))
    lead = LEAD.match(question)
    begin = lead.end() if lead else 0
    for mention in mentioned:
        # Right after "what is …" comes what is asked for, not a presupposition.
        if mention.kind is MentionKind.DEFINITE and mention.start > begin + 1 and _tells(mention.text):
            yield Need(mention.text, "description", explicit=False)
    pronoun = REFERS.search(question)
    if pronoun and not (before.strip() or EMPTY_IT.search(question) or terms(question[: pronoun.start()])):
        yield Need(pronoun[0], "referent", explicit=False)


def _named(text: str) -> list[Mention]:
    """Names in a text, except widely known ones."""
    return [m for m in mentions(text) if m.kind is MentionKind.PROPER_NAME and not is_common_name(m.text)]


def _tells(description: str) -> bool:
    """True if a description identifies one thing: "the Atlas project", not "the effects"."""
    words = description.split()[1:]
    return any(word[:1].isupper() for word in words) or bool(words and words[-1].lower() in UNITS)
