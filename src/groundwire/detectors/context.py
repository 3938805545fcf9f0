"""The input shared by all detectors: the segmented response, the dialogue and the knowledge base snapshot."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from typing import TypeVar

from groundwire._loop import check_cancelled
from groundwire.claims.assertiveness import classify_sentence
from groundwire.claims.markup import strip_markup
from groundwire.openie.lexicon import is_person, may_be_person, mentions, normal
from groundwire.openie.parser import triples
from groundwire.openie.tense import times
from groundwire.text.dates import dates, weekdays
from groundwire.text.lexicon import word_set
from groundwire.text.names import is_place
from groundwire.text.numbers import numbers
from groundwire.text.sentences import Block, BlockKind, blocks, sentences
from groundwire.types import (
    ClaimKind,
    Coverage,
    Entity,
    Fact,
    FactStatus,
    Flag,
    HallucinationType,
    Match,
    Mention,
    MentionKind,
    Segment,
    Source,
    TimeExpression,
    Triple,
    Turn,
    Verifier,
)


@dataclass(frozen=True, slots=True)
class Dialogue:
    """The conversation before the response, and the names mentioned in it, the latest last."""

    turns: tuple[Turn, ...] = ()
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class KBSnapshot:
    """Everything the knowledge base holds about the names in one response, fetched at once.

    `matches` is keyed by the casefolded name as written, `facts` and `entities` by entity id; `values` are
    the casefolded names that are not entities but occur as a value of some attribute or fact.
    """

    matches: Mapping[str, Match] = field(default_factory=dict)
    facts: Mapping[str, tuple[Fact, ...]] = field(default_factory=dict)
    entities: Mapping[str, Entity] = field(default_factory=dict)
    values: frozenset[str] = frozenset()
    coverage: Coverage = field(default_factory=Coverage)

    def match(self, name: str) -> Match | None:
        return self.matches.get(name.casefold())

    def is_known(self, name: str) -> bool:
        return name.casefold() in self.matches or name.casefold() in self.values


@dataclass(frozen=True, slots=True)
class DetectionContext:
    """The only argument of a detector. `known` is None without a knowledge base."""

    response: str
    segments: tuple[Segment, ...]
    now: datetime
    dialogue: Dialogue = Dialogue()
    known: KBSnapshot | None = None
    sources: tuple[Source, ...] = ()
    question: str = ""
    verifier: Verifier | None = None


def make_flag(
    kind: HallucinationType, segment: Segment, span: tuple[int, int], confidence: float, suggestion: str, evidence: str
) -> Flag:
    """Flag `response[span]`, which lies within the segment."""
    content = segment.text[span[0] - segment.start : span[1] - segment.start]
    return Flag(kind, *span, content, confidence, suggestion, evidence)


_MIN_CONFIDENCE = 0.5
"""Facts below this confidence are not used as evidence for claims."""
_MAX_LINES = 400
"""Upper bound for the evidence text, so that a popular entity does not crowd out the sources."""


def snapshot_text(known: KBSnapshot, today: date) -> str:
    """Render the attributes and facts that are valid today as evidence text, one per line."""
    lines: dict[str, None] = {}
    for match in known.matches.values():
        for attribute in match.entity.attributes:
            if attribute.holds_on(today):
                lines[f"{match.entity.name}'s {attribute.name} is {attribute.value.text}."] = None
        for fact in known.facts.get(match.entity.id, ()):
            if fact.confidence >= _MIN_CONFIDENCE and fact.status in (FactStatus.VERIFIED, FactStatus.ASSERTED):
                lines[_fact_sentence(fact)] = None
    return "\n".join(list(lines)[:_MAX_LINES])


def _fact_sentence(fact: Fact) -> str:
    """The original sentence, or else subject, predicate and object with the other roles in parentheses."""
    if fact.text:
        return fact.text
    subject, thing = fact.role("subject"), fact.role("object")
    rest = [f"{role.name}: {role.value.text}" for role in fact.roles if role.name not in ("subject", "object")]
    main = " ".join(value for value in (subject and subject.text, fact.predicate, thing and thing.text) if value)
    return f"{main} ({'; '.join(rest)})." if rest else f"{main}."


_IT = word_set("it its")
_PEOPLE = word_set("he him his she her hers")
_PERSONAL = _PEOPLE | _IT


_Found = TypeVar("_Found", Triple, Mention, TimeExpression)


@dataclass(frozen=True, slots=True)
class _PlainSentence:
    text: str
    start: int
    end: int
    at: Sequence[int]
    """Offset in the response of each character of `text`."""
    assertive: bool
    row: tuple[Triple, ...] | None = None
    """The triples of a table row, which has no verbs to parse."""

    def place(self, start: int, end: int) -> tuple[int, int]:
        return self.at[start], self.at[end - 1] + 1


def segment_response(response: str, now: datetime, named: Sequence[str] = ()) -> tuple[Segment, ...]:
    """Split a response into sentences with their triples, mentions and times; pronouns are resolved.

    `named` are the names mentioned in the dialogue, the latest last.

    >>> found = segment_response("Acme is **big**. It was founded in 1990.", datetime(2026, 1, 1))
    >>> [s.claims[0].subject for s in found]
    ['Acme', 'Acme']
    """
    found: list[Segment] = []
    latest = tuple(reversed(named))
    people = tuple(filter(is_person, latest))
    antecedents = _Antecedents(people, tuple(name for name in latest if name not in people)[:1])
    for index, sentence in enumerate(_sentences(response)):
        check_cancelled()
        claims = _claims(sentence)
        mentioned = tuple(_placed(mention, sentence) for mention in mentions(sentence.text))
        claims, mentioned, antecedents = _resolved(claims, mentioned, antecedents)
        said, place = response[sentence.start : sentence.end], (sentence.start, sentence.end)
        when = tuple(_placed(time, sentence) for time in times(sentence.text, 0, now))
        found.append(Segment(index, said, *place, claims, mentioned, when, sentence.assertive))
    return tuple(found)


def _sentences(response: str) -> Iterator[_PlainSentence]:
    for block in blocks(response):
        if block.kind in (BlockKind.ROW, BlockKind.HEADER):
            yield from _row(response, block)
        elif block.kind is not BlockKind.CODE:
            prose = strip_markup(response, block.lines)
            for span in sentences(prose.text):
                text, place = prose.text[span.start : span.end], prose.span(span.start, span.end)
                if any(map(str.isalnum, text)):
                    kind = classify_sentence(text, heading=block.kind is BlockKind.HEADING)
                    at, assertive = prose.at[span.start : span.end], kind is ClaimKind.ASSERTION
                    yield _PlainSentence(text, place.start, place.end, at, assertive)


def _row(response: str, block: Block) -> Iterator[_PlainSentence]:
    """A table row states of its first cell one triple per further column."""
    cells = [(cell.start, cell.end) for cell in block.lines if response[cell.start : cell.end].strip()]
    if block.kind is not BlockKind.ROW or not cells or len(block.lines) != len(cells):
        return
    who, start, end = cells[0], cells[0][0], cells[-1][1]
    said = tuple(
        Triple(
            response[slice(*who)], normal(column), response[slice(*cell)], start, cell[1], who, cell,
            text=response[start : cell[1]],
        )
        for column, cell in zip(block.header[1:], cells[1:], strict=False)
        if column.strip()
    )  # fmt: skip
    yield _PlainSentence(response[start:end], start, end, range(start, end), assertive=True, row=said)


def _claims(sentence: _PlainSentence) -> tuple[Triple, ...]:
    if sentence.row is not None:
        return sentence.row
    return tuple(
        replace(
            _placed(claim, sentence),
            subject_span=sentence.place(*claim.subject_span),
            object_span=sentence.place(*claim.object_span),
        )
        for claim in triples(sentence.text)
    )


def _placed(found: _Found, sentence: _PlainSentence) -> _Found:
    start, end = sentence.place(found.start, found.end)
    return replace(found, start=start, end=end)


@dataclass(frozen=True, slots=True)
class _Antecedents:
    """Candidate antecedents of pronouns, latest first: any person mentioned, but things only as subjects."""

    people: tuple[str, ...] = ()
    things: tuple[str, ...] = ()

    def meant(self, pronoun: str) -> str:
        low = pronoun.lower()
        if low in _IT:
            return next(iter(self.things), "")
        if low not in _PEOPLE or self.people:
            return self.people[0] if low in _PEOPLE else ""
        # no name is known to be a person's: the only subject so far, if it could be one
        return self.things[0] if len(self.things) == 1 and may_be_person(self.things[0]) else ""

    def after(self, claims: Sequence[Triple], mentioned: Sequence[Mention]) -> _Antecedents:
        subjects = [c.subject for c in claims if c.subject.lower() not in _PERSONAL]
        names = [m.text for m in mentioned if m.kind is MentionKind.PROPER_NAME]
        full = [name for name in subjects if " " in name and _may_be_antecedent(name)]  # a person, for all we know
        people = dict.fromkeys([*full, *(name for name in [*subjects, *names] if is_person(name))])
        things = dict.fromkeys(name for name in subjects if not is_person(name))
        lists = ({**people, **dict.fromkeys(self.people)}, {**things, **dict.fromkeys(self.things)})
        return _Antecedents(*(tuple(names)[:10] for names in lists))


def _resolved(
    claims: tuple[Triple, ...], mentioned: tuple[Mention, ...], antecedents: _Antecedents
) -> tuple[tuple[Triple, ...], tuple[Mention, ...], _Antecedents]:
    """Resolve the pronouns of a sentence from the sentences before it."""
    known: tuple[Triple, ...] = ()
    for claim in claims:
        if claim.subject.lower() in _PERSONAL:
            meant = _antecedents_at(claim, known, mentioned, antecedents).meant(claim.subject)
            known += (replace(claim, subject=meant or claim.subject),)
        else:
            known += (claim,)
    named = tuple(
        replace(m, resolved=antecedents.meant(m.text)) if m.kind is MentionKind.PRONOUN else m for m in mentioned
    )
    return known, named, antecedents.after(known, mentioned)


def _antecedents_at(
    claim: Triple, before: Sequence[Triple], mentioned: Sequence[Mention], antecedents: _Antecedents
) -> _Antecedents:
    """Antecedents within the same sentence, used only if they are unambiguous.

    "Osprey came in 2025, and it weighs 40 kg" is clear; "Acme sells the Osprey, and it weighs 40 kg" is
    not, and must not be resolved to the sentence before either.
    """
    at = claim.subject_span[0]
    earlier = [c for c in before if c.end <= at and c.subject.lower() not in _PERSONAL]
    if not earlier:
        return antecedents
    spans = {c.subject_span for c in earlier}
    others = [c.object for c in earlier if not (dates(c.object) or numbers(c.object) or weekdays(c.object))]
    subject = earlier[0].subject
    if claim.subject.lower() in _IT:
        sure = len(spans) == 1 and not others and not is_person(subject)
        return _Antecedents((), (subject,) if sure else ())
    names = [m.text for m in mentioned if m.end <= at and m.kind is MentionKind.PROPER_NAME]
    people = dict.fromkeys(n for n in [*(c.subject for c in earlier), *names] if _may_be_antecedent(n))
    return _Antecedents(tuple(people)) if len(people) == 1 else _Antecedents() if people else antecedents


def _may_be_antecedent(name: str) -> bool:
    return is_person(name) or (may_be_person(name) and not is_place(name))


MAX_TURNS = 200
"""Only the latest turns of a longer conversation are read."""
USERS = frozenset({"user", "human", "customer"})
SPEAKERS = USERS | frozenset({"assistant", "ai", "bot", "agent", "model"})
"""Roles whose statements establish something; system and tool messages do not."""


def read_dialogue(history: Sequence[Turn], now: datetime) -> Dialogue:
    """Collect the names mentioned in a conversation, the latest last."""
    turns = tuple(history[-MAX_TURNS:])
    names: dict[str, None] = {}
    for turn in turns:
        for piece in segment_response(turn.text, now, tuple(names)):
            for mention in (m for m in piece.mentions if m.kind is not MentionKind.PRONOUN):
                names.pop(mention.text, None)  # move it to the end
                names[mention.text] = None
    return Dialogue(turns, tuple(names))
