"""Parse a request into what it needs to know: questions, sides of comparisons, premises and names.

The first half is the grammar as regular expressions, for English and Hebrew.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum

from groundwire.openie.mentions import UNITS, mentions
from groundwire.text.names import is_common_name
from groundwire.text.sentences import sentences
from groundwire.text.tokens import names, terms
from groundwire.types import Mention, MentionKind


def _any(words: str) -> str:
    """A regular expression for a list of words or `phrases_with_underscores`."""
    return "|".join(word.replace("_", " ") for word in words.split())


_POLITE = (
    r"\W*(?:(?:please|kindly|hey|hi|hello|ok(?:ay)?|so|and|now|אנא|בבקשה)\W+)*"
    r"(?:(?:can|could|would|will) you (?:please )?|i(?:'d| would) like you to |help me (?:to )?|let's )?"
)
_GREETINGS = _any(
    """
    hi hello hey good_morning good_afternoon good_evening good_night thanks? thank_you bye goodbye see_you
    how_are_you how_are_you_doing how's_it_going who_are_you what's_your_name what_is_your_name
    what_can_you_do are_you_there are_you_an?_(?:bot|ai|human) nice_to_meet_you ok okay great cool perfect
    sure yes no got_it never_?mind שלום היי הי תודה בוקר_טוב ערב_טוב לילה_טוב מה_שלומך מה_נשמע להתראות מי_אתה
    מה_אתה_יודע_לעשות מעולה אוקיי בסדר
    """
)
_AFTER_GREETING = _any("there all everyone friend again then and today so very much for_that רבה לך")
CHAT = re.compile(rf"\W*(?:(?:{_GREETINGS}|{_AFTER_GREETING})\b\W*)+", re.IGNORECASE)

_MAKE = _any("write compose create invent make_up come_up_with draft tell sing generate brainstorm give")
_MADE = _any(
    """
    poem haiku limerick sonnet story tale joke pun song lyrics rap slogans? taglines? riddle dialogue scene
    screenplay names?_for ideas?_for e-?mail letter greeting invitation function script program regex class
    unit_tests? sql_query code
    """
)
_MADE_HE = _any("שיר סיפור בדיחה מכתב חידה סיסמה פונקציה קוד")
CREATIVE = re.compile(
    rf"{_POLITE}(?:(?:{_MAKE})\b.{{0,60}}?\b(?:{_MADE})\b|(?:implement|code|refactor)\s"
    rf"|(?:כתוב|כתבי|כתבו|חבר|חברי|המצא|המציאי|ספר|ספרי)(?: לי)?(?: \S+)? (?:{_MADE_HE}))",
    re.IGNORECASE,
)
_DO_TO_TEXT = _any(
    """
    summari[sz]e translate rewrite rephrase paraphrase proofread correct fix edit shorten simplify format
    convert extract classify count sort explain analy[sz]e review improve spell-?check reply_to respond_to
    סכם סכמי תרגם תרגמי נסח נסחי תקן תקני קצר קצרי
    """
)
ON_TEXT = re.compile(rf"{_POLITE}(?:{_DO_TO_TEXT})\b", re.IGNORECASE)
_MATERIAL = _any(
    """
    text document article passage passages source sources story report above following data table page file
    files paper essay conversation content contents context excerpt letter e-?mail note notes
    הטקסט המסמך המאמר הקטע המקור המקורות הדוח
    """
)
_POINTS = _any(
    "facts? points? key_points? takeaways? main_ideas? highlights? insights? examples? עובדות נקודות"
)
_THESE = _any("this that it them these those everything אותו אותה את_זה זה")
_WHOSE = (
    r"(?:(?:the|this|these|all|my|your|both|את|given|provided|attached|above|following|whole|entire)\s+)*"
)
_SUCH = r"(?:(?:the|some|a few|\w+)\s+)?(?:(?:most\s+)?(?:important|main|key|interesting)\s+)?"
ON_MATERIAL = re.compile(
    rf"{_POLITE}(?:(?:{_DO_TO_TEXT}|list|give|name|tell|describe|outline)\b(?: me)?(?: (?:about|out))?\W+"
    rf"(?:(?:{_THESE})\b|{_WHOSE}(?:{_MATERIAL})\b|{_SUCH}(?:{_POINTS})\b)"
    rf"|what (?:does|do|is|are) (?:the|this|these) (?:{_MATERIAL})\b)"
    r"(?!.*\b(?:about|regarding|concerning|of|on|for|על)\b)",
    re.IGNORECASE | re.DOTALL,
)
"""A task on the given material: "summarise this", "list three facts"."""
GIVEN = re.compile(
    r"```|\n\s*\S+(?:\s+\S+){5,}|[\"“«][^\"”»]{2,}[\"”»]|:\s+\S+(?:\s+\S+){2,}|'[^']{3,}'\s+(?:to|into)\b"
)
SUM = re.compile(
    r"\W*(?:what(?:'s| is)|calculate|compute|how much is|כמה זה)?\s*(?=[^a-z]*\d)[\d\s.,+\-*/×÷^()=%?]+\Z",
    re.IGNORECASE,
)

WH = _any(
    "who whom whose what which when where why how מי מה מתי איפה היכן למה מדוע איך כיצד כמה איזה איזו האם"
)
WH_WORD = re.compile(rf"\b(?:{WH})\b|\bב(?=איז)", re.IGNORECASE)
_HELPERS = _any("is are was were do does did has have had can could will would should")
_TELL = _any(
    """
    tell explain describe list give show name find define compare summari[sz]e outline discuss identify
    ספר הסבר תאר רשום השווה מצא הגדר
    """
)
JOINED = re.compile(
    rf"\s*[,;]?\s*\b(?:and|or|also|plus)\s+(?=(?:{WH})\b)|\s+ו(?=(?:{WH})\b)|(?<=\?)\s+", re.IGNORECASE
)
ASKS = re.compile(
    rf"\W*(?:(?:and|so|but|also|then|ok|please)\W+)*(?:{WH}|{_HELPERS}|{_TELL})\b", re.IGNORECASE
)
LEAD = re.compile(
    r"\W*(?:please\s+|kindly\s+)?(?:(?:can|could|would) you\s+)?"
    rf"(?:(?:{_TELL})\b(?:\s+me)?(?:\s+(?:about|all|if|whether))?\s*"
    r"|(?:i (?:want|need|would like) to know|do you know|i am wondering)\s*)?"
    rf"(?:(?:{WH})\b(?:['’]s)?\s*(?:(?:{_HELPERS})\b)?\s*)?",
    re.IGNORECASE,
)

_MEASURES = _any("many much old tall long far big large high deep fast heavy wide hot cold")
_QUANTITIES = _any(
    "number percentage share price cost population height length weight temperature rate salary age"
)
EXPECTS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (kind, re.compile(pattern, re.IGNORECASE))
    for kind, pattern in (
        (
            "time",
            r"\bwhen\b|\bwhat (?:year|date|day|month|time)\b|\bhow long ago\b|\bsince when\b"
            r"|(?<![א-ת])מתי(?![א-ת])|באיזו שנה|באיזה תאריך",
        ),
        (
            "number",
            rf"\bhow (?:{_MEASURES})\b|\bwhat (?:is|was) the (?:{_QUANTITIES})\b|(?<![א-ת])כמה(?![א-ת])",
        ),
        ("name", r"\bwho(?:m|se)?\b|(?<![א-ת])מי(?![א-ת])"),
    )
)
"""The kind of value that a question asks for."""

WHY = re.compile(
    r"\W*(?:why|how come)\s+(?:(?:is|are|was|were|do|does|did|has|have|had)(?:n't)?\s+)?(?P<said>.+)"
    r"|\W*what (?:caused|causes|led to|triggered|explains)\s+(?P<said2>.+)"
    r"|\W*what (?:is|was) the (?:reason|cause) (?:for|of|behind)\s+(?P<said3>.+)"
    r"|\W*(?:למה|מדוע)\s+(?P<said4>.+)",
    re.IGNORECASE | re.DOTALL,
)
"""A question for a reason, which presupposes the fact."""

SIDES: tuple[re.Pattern[str], ...] = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"\b(?:compare|contrast)\s+(?P<a>.+?)\s+(?:and|with|to|versus|vs\.?|against)\s+(?P<b>.+)",
        r"\bdifferen(?:ces?|tiate)\s+(?:is there\s+)?between\s+(?P<a>.+?)\s+(?:and|&|from)\s+(?P<b>.+)",
        r"\bhow (?:is|are|does|do) (?P<a>.+?) (?:different|differ) from (?P<b>.+)",
        r"\b(?:which|who|what) (?:is|are|was|has|had|costs?|weighs?)\b.{0,40}?[,:]\s*"
        r"(?P<a>.+?)\s+or\s+(?P<b>.+)",
        r"\b(?:is|are|was|were|does|do|did|has|have)\s+(?P<a>[\w' -]{2,40}?)\s+"
        r"(?:\w+er|(?:more|less) [\w ]{2,25}|as \w+)\s+(?:than|as)\s+(?P<b>.+)",
        r"(?P<a>\b[\w.' -]{2,40}?)\s+(?:vs\.?|versus)\s+(?P<b>.+)",
        r"השו(?:ה|אה)\s+(?:בין\s+)?(?P<a>.+?)\s+(?:לבין|ל-?|עם)\s*(?P<b>.+)",
        r"הבדל(?:ים)?\s+בין\s+(?P<a>.+?)\s+(?:לבין|ל-?)\s*(?P<b>.+)",
    )
)
"""Comparisons, with both sides."""

REFERS = re.compile(
    r"\b(?:it|its|he|him|his|she|her|they|them|their|this|these|those)\b"
    r"|(?<![א-ת])(?:הוא|היא|הם|הן|זה|זו|זאת)(?![א-ת])",
    re.IGNORECASE,
)
EMPTY_IT = re.compile(
    r"\b(?:it|this) (?:is|was|takes?|would be)\b.{0,20}\b(?:that|to|for|when|if)\b"
    r"|\b(?:is|does|did|will) it (?:take|cost|rain|snow|mean|possible|safe|normal|ok|better|good|bad)\b"
    r"|\bthis (?:year|month|week|time|morning|way)\b",
    re.IGNORECASE,
)
"""An expletive "it": "is it safe to …", "does it take long"."""

OF_USER = re.compile(
    r"\b(?:what|when|where|which|who|how (?:much|many|old))\b.{0,30}?\b(?:is|was|are|were)\s+(?:my|our)\b"
    r"|\bwhat (?:did|have) i\b|\b(?:remind me|did i (?:say|tell|mention))\b|(?<![א-ת])(?:שלי|אמרתי)(?![א-ת])",
    re.IGNORECASE,
)
"""A question about the user."""

NAMED_HE = re.compile(
    r"(?<![א-ת])(?:חברת|עיריית|פרויקט|אוניברסיטת|בנק|מפלגת|מדינת|העיר|רחוב|מר|גברת|פרופסור|ד\"ר|ד״ר)\s+"
    r"(?P<name>[א-ת][א-ת\"״'-]+)"
)
"""Hebrew has no capitals; names are recognised by the words before them."""

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
