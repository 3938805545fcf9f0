"""What every detector sees: the response taken apart once, and what is known about what it speaks of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime

from groundwire.claims.assertiveness import classify_sentence
from groundwire.claims.markup import PlainText, strip_markup
from groundwire.openie.mentions import is_person, may_be_person, mentions
from groundwire.openie.parser import triples
from groundwire.openie.predicates import normal
from groundwire.openie.tense import times
from groundwire.text.dates import dates, weekdays
from groundwire.text.gazetteer import is_place
from groundwire.text.lexicon import word_set
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
    Span,
    TimeExpression,
    Triple,
    Turn,
    Verifier,
)


@dataclass(frozen=True, slots=True)
class EstablishedClaim:
    """A claim made in an earlier turn."""

    turn: Turn
    claim: Triple


@dataclass(frozen=True, slots=True)
class Dialogue:
    """The conversation before the response: its turns, what was claimed in them, and whom they named."""

    turns: tuple[Turn, ...] = ()
    established: tuple[EstablishedClaim, ...] = ()
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class KBSnapshot:
    """What the knowledge base holds about the names of one response, asked for in one go.

    `matches` is keyed by the name as written, casefolded; `facts` and `entities` by entity id; `values` are
    the names, casefolded, that are no entity but stand as a value somewhere.
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
    """`known` is None without a knowledge base; `verifier` None where nobody can be asked."""

    response: str
    segments: tuple[Segment, ...]
    now: datetime
    dialogue: Dialogue = Dialogue()
    known: KBSnapshot | None = None
    sources: tuple[Source, ...] = ()
    question: str = ""
    verifier: Verifier | None = None


# A flag on a piece of a segment, its content cut from the response's own words.


def temporal_flag(
    segment: Segment, start: int, end: int, confidence: float, suggestion: str, evidence: str = ""
) -> Flag:
    """On response[start:end], which lies in the segment."""
    content = segment.text[start - segment.start : end - segment.start]
    kind = HallucinationType.TEMPORAL_ERROR
    return Flag(kind, start, end, content, confidence, suggestion=suggestion, evidence=evidence)


def logical_flag(
    segment: Segment, start: int, end: int, confidence: float, suggestion: str, evidence: str = ""
) -> Flag:
    """On segment.text[start:end]."""
    kind = HallucinationType.LOGICAL_INCONSISTENCY
    at = segment.start
    return Flag(kind, at + start, at + end, segment.text[start:end], confidence, suggestion, evidence)


# What is known about the names of a response, as text that the budget can be paid from.

_SURE = 0.5
_MAIN = ("subject", "object")
_MOST_LINES = 400


def snapshot_text(known: KBSnapshot, today: date) -> str:
    """A line an attribute or fact that holds today; empty where nothing is known."""
    lines = list(dict.fromkeys(_lines(known, today)))[:_MOST_LINES]
    return "\n".join(lines)


def _lines(known: KBSnapshot, today: date) -> Iterator[str]:
    for match in known.matches.values():
        yield from _attributes(match.entity, today)
        for fact in known.facts.get(match.entity.id, ()):
            if fact.confidence >= _SURE and fact.status in (FactStatus.VERIFIED, FactStatus.ASSERTED):
                yield _fact_sentence(fact)


def _attributes(entity: Entity, today: date) -> Iterator[str]:
    for attribute in entity.attributes:
        if attribute.holds_on(today):
            yield f"{entity.name}'s {attribute.name} is {attribute.value.text}."


def _fact_sentence(fact: Fact) -> str:
    """As it was told, or its subject, predicate and object, with the other roles named."""
    if fact.text:
        return fact.text
    subject, thing = fact.role("subject"), fact.role("object")
    rest = [
        f"{role.name}: {role.value.text}" for role in fact.roles if role.name not in ("subject", "object")
    ]
    main = " ".join(
        value for value in (subject and subject.text, fact.predicate, thing and thing.text) if value
    )
    return f"{main} ({'; '.join(rest)})." if rest else f"{main}."


# The response taken apart, once: sentences, what they claim, whom and what they name, and when.

_HE = word_set("he him his")
_SHE = word_set("she her hers")
_IT = word_set("it its")
_PERSONAL = _HE | _SHE | _IT


@dataclass(frozen=True, slots=True)
class _PlainSentence:
    text: str
    start: int
    end: int
    at: Sequence[int]
    """Where each character of the text stands in the response."""
    assertive: bool
    row: tuple[Triple, ...] | None = None
    """What a table's row says, which has no verbs to read it from."""

    def place(self, start: int, end: int) -> tuple[int, int]:
        return self.at[start], self.at[end - 1] + 1


def segment_response(response: str, now: datetime, named: Sequence[str] = ()) -> tuple[Segment, ...]:
    """The sentences of a response in order, pronouns resolved; `named` is whom the dialogue spoke of last.

    >>> found = segment_response("Acme is **big**. It was founded in 1990.", datetime(2026, 1, 1))
    >>> [s.claims[0].subject for s in found]
    ['Acme', 'Acme']
    """
    found: list[Segment] = []
    latest = tuple(reversed(named))
    people = tuple(filter(is_person, latest))
    standing = _Antecedents(people, tuple(name for name in latest if name not in people)[:1])
    for index, sentence in enumerate(_sentences(response)):
        claims = _claims(sentence)
        mentioned = _mentions(sentence)
        claims, mentioned, standing = _resolved(claims, mentioned, standing)
        found.append(
            Segment(
                index,
                response[sentence.start : sentence.end],
                sentence.start,
                sentence.end,
                claims,
                mentioned,
                _times(sentence, now),
                sentence.assertive,
            )
        )
    return tuple(found)


def _sentences(response: str) -> Iterator[_PlainSentence]:
    for block in blocks(response):
        if block.kind is BlockKind.CODE:
            continue
        if block.kind in (BlockKind.ROW, BlockKind.HEADER):
            yield from _row(response, block)
            continue
        prose = strip_markup(response, block.lines)
        for span in sentences(prose.text):
            yield from _sentence(prose, span, heading=block.kind is BlockKind.HEADING)


def _row(response: str, block: Block) -> Iterator[_PlainSentence]:
    """A table's row says of its first cell what the other cells say under their columns' names."""
    cells = [(cell.start, cell.end) for cell in block.lines if response[cell.start : cell.end].strip()]
    if block.kind is BlockKind.ROW and cells and len(block.lines) == len(cells):
        start, end = cells[0][0], cells[-1][1]
        said = tuple(_said_in(response, cells, block.header))
        yield _PlainSentence(response[start:end], start, end, range(start, end), assertive=True, row=said)


def _said_in(response: str, cells: Sequence[tuple[int, int]], header: Sequence[str]) -> Iterator[Triple]:
    who = cells[0]
    for column, cell in zip(header[1:], cells[1:], strict=False):
        if column.strip():
            subject, what = response[slice(*who)], response[slice(*cell)]
            yield Triple(
                subject, normal(column), what, who[0], cell[1], who, cell, text=response[who[0] : cell[1]]
            )


def _sentence(prose: PlainText, span: Span, *, heading: bool) -> Iterator[_PlainSentence]:
    text = prose.text[span.start : span.end]
    if not any(map(str.isalnum, text)):
        return
    place = prose.span(span.start, span.end)
    kind = classify_sentence(text, heading=heading)
    yield _PlainSentence(
        text, place.start, place.end, prose.at[span.start : span.end], kind is ClaimKind.ASSERTION
    )


def _claims(sentence: _PlainSentence) -> tuple[Triple, ...]:
    if sentence.row is not None:
        return sentence.row
    return tuple(_placed(claim, sentence) for claim in triples(sentence.text))


def _placed(claim: Triple, sentence: _PlainSentence) -> Triple:
    start, end = sentence.place(claim.start, claim.end)
    return replace(
        claim,
        start=start,
        end=end,
        subject_span=sentence.place(*claim.subject_span),
        object_span=sentence.place(*claim.object_span),
    )


def _mentions(sentence: _PlainSentence) -> tuple[Mention, ...]:
    found = mentions(sentence.text)
    return tuple(
        replace(m, start=sentence.place(m.start, m.end)[0], end=sentence.place(m.start, m.end)[1])
        for m in found
    )


def _times(sentence: _PlainSentence, now: datetime) -> tuple[TimeExpression, ...]:
    found = times(sentence.text, 0, now)
    return tuple(
        replace(t, start=sentence.place(t.start, t.end)[0], end=sentence.place(t.start, t.end)[1])
        for t in found
    )


@dataclass(frozen=True, slots=True)
class _Antecedents:
    """Whom a pronoun can mean, the latest first: people by any mention, things only as a subject."""

    people: tuple[str, ...] = ()
    things: tuple[str, ...] = ()

    def meant(self, pronoun: str) -> str:
        low = pronoun.lower()
        if low in _IT:
            return next(iter(self.things), "")
        return next(iter(self.people), "") or self._only_name() if low in _HE | _SHE else ""

    def _only_name(self) -> str:
        """Where nobody is known for a person, the one subject so far that may be one's name."""
        return self.things[0] if len(self.things) == 1 and may_be_person(self.things[0]) else ""

    def after(self, claims: Sequence[Triple], mentioned: Sequence[Mention]) -> _Antecedents:
        subjects = [c.subject for c in claims if c.subject.lower() not in _PERSONAL]
        names = [m.text for m in mentioned if m.kind is MentionKind.PROPER_NAME]
        full = [name for name in subjects if " " in name and _may_be_meant(name)]  # a person, for all we know
        people = dict.fromkeys([*full, *(name for name in [*subjects, *names] if is_person(name))])
        things = dict.fromkeys(name for name in subjects if not is_person(name))
        return _Antecedents(_ahead(people, self.people), _ahead(things, self.things))


def _ahead(fresh: dict[str, None], before: tuple[str, ...]) -> tuple[str, ...]:
    return (*fresh, *(name for name in before if name not in fresh))[:10]


def _resolved(
    claims: tuple[Triple, ...], mentioned: tuple[Mention, ...], standing: _Antecedents
) -> tuple[tuple[Triple, ...], tuple[Mention, ...], _Antecedents]:
    """Pronouns of a sentence mean what the sentences before spoke of."""
    known: tuple[Triple, ...] = ()
    for claim in claims:
        known += (_of_whom(claim, _standing_at(claim, known, mentioned, standing)),)
    named = tuple(
        replace(m, resolved=standing.meant(m.text)) if m.kind is MentionKind.PRONOUN else m for m in mentioned
    )
    return known, named, standing.after(known, mentioned)


def _standing_at(
    claim: Triple, before: Sequence[Triple], mentioned: Sequence[Mention], standing: _Antecedents
) -> _Antecedents:
    """Whom a pronoun within a sentence can mean: its clause's neighbours, where only one of them will do.

    "Osprey came in 2025, and it weighs 40 kg" is clear; in "Acme sells the Osprey, and it weighs 40 kg"
    the pronoun means neither Acme for sure nor what the sentence before spoke of.
    """
    at = claim.subject_span[0]
    earlier = [c for c in before if c.end <= at and c.subject.lower() not in _PERSONAL]
    if claim.subject.lower() not in _PERSONAL or not earlier:
        return standing
    spans = {c.subject_span for c in earlier}
    others = [c.object for c in earlier if not _is_figure(c.object)]
    subject = earlier[0].subject
    if claim.subject.lower() in _IT:
        sure = len(spans) == 1 and not others and not is_person(subject)
        return _Antecedents((), (subject,) if sure else ())
    names = [m.text for m in mentioned if m.end <= at and m.kind is MentionKind.PROPER_NAME]
    people = dict.fromkeys(n for n in [*(c.subject for c in earlier), *names] if _may_be_meant(n))
    return _Antecedents(tuple(people)) if len(people) == 1 else _Antecedents() if people else standing


def _may_be_meant(name: str) -> bool:
    return is_person(name) or (may_be_person(name) and not is_place(name))


def _is_figure(said: str) -> bool:
    return bool(dates(said) or numbers(said) or weekdays(said))


def _of_whom(claim: Triple, standing: _Antecedents) -> Triple:
    if claim.subject.lower() not in _PERSONAL:
        return claim
    return replace(claim, subject=standing.meant(claim.subject) or claim.subject)


# The conversation before the response: what both sides claimed in it, and whom they named.

MAX_TURNS = 200
"""Of a longer conversation only the latest turns are read."""
_SPEAKERS = frozenset({"user", "assistant", "human", "ai", "bot", "agent", "customer", "model"})


def read_dialogue(history: Sequence[Turn], now: datetime) -> Dialogue:
    """Claims count from assertive sentences only, whoever made them; system and tool messages name things,
    but establish nothing."""
    turns = tuple(history[-MAX_TURNS:])
    established: list[EstablishedClaim] = []
    names: dict[str, None] = {}
    for turn in turns:
        for piece in segment_response(turn.text, now, tuple(names)):
            if piece.assertive and turn.role.lower() in _SPEAKERS:
                established += [EstablishedClaim(turn, claim) for claim in piece.claims]
            for mention in filter(_is_named, piece.mentions):
                names.pop(mention.text, None)  # the latest stands last
                names[mention.text] = None
    return Dialogue(turns, tuple(established), tuple(names))


def _is_named(mention: Mention) -> bool:
    return mention.kind is not MentionKind.PRONOUN
