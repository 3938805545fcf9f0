"""Knowledge base lookups: fetch a snapshot for a response, and compare claims with the known values.

A claim can be looked up from both ends: "Ann founded Acme" is about Ann, and about Acme's founder. The values
of an entity come from its attributes and from the facts it has a role in; both are compared in the same way.

Values are numbers with units, dates of different precision, weekdays, clock times, addresses, names with
aliases, and text. Values of different kinds cannot be compared: the result is OPEN, neither same nor different.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum

from groundwire.detectors.context import DetectionContext, KBSnapshot
from groundwire.openie.lexicon import UNIT_NOUNS, Form, form_of, groups, inverse, normal, same
from groundwire.openie.parser import bare
from groundwire.openie.tense import times
from groundwire.text.dates import MONTH_NAMES, WEEKDAY_NAMES, PartialDate, dates, weekdays
from groundwire.text.dates import compare as compare_dates
from groundwire.text.lexicon import expressions, forms, word_sets, word_table
from groundwire.text.names import COMPANY_NOUNS, COUNTRIES, PERSON_TYPES, PLACE_TYPES, fold, is_place, same_name
from groundwire.text.numbers import CURRENCY_SIGNS, UNITS, Number, numbers
from groundwire.text.numbers import compare as compare_numbers
from groundwire.text.tokens import content_words
from groundwire.types import (
    Coverage,
    CoverageProvider,
    Entity,
    Fact,
    FactStatus,
    KnowledgeBase,
    Match,
    MatchKind,
    MentionKind,
    Segment,
    Tense,
    Triple,
    Value,
    ValueKind,
)


class Comparison(StrEnum):
    SAME = "same"
    DIFFERENT = "different"
    OPEN = "open"


@dataclass(frozen=True, slots=True)
class Replacement:
    """`said[start:end]` should be replaced by `text`."""

    start: int
    end: int
    text: str


_TABLES = word_table("detect_kb")["tables"]
_ACRONYMS = forms(_TABLES["acronyms"])
_SYNONYMS = tuple(map(content_words, _TABLES["synonyms"]))
(_ADDRESS,) = expressions("detect_kb", "address")
_DIGITS = re.compile(r"\d[\d.,]*(?<=\d)")


def compare(value: Value, stated: str, known: KBSnapshot, now: datetime) -> Comparison:
    """Compare the words with the known value."""
    if fold(value.text) == fold(bare(stated)):
        return Comparison.SAME
    for judge in (_addresses, _days, _clocks, _amounts):
        verdict = judge(value, stated, now)
        if verdict is not None:
            return verdict
    if value.kind in (ValueKind.NUMBER, ValueKind.DATE):
        return Comparison.OPEN
    return _names(value, stated, known)


def _addresses(value: Value, stated: str, _: datetime) -> Comparison | None:
    """E-mail, web and telephone: exact comparison, ignoring spaces and punctuation."""
    ours, theirs = _ADDRESS.search(value.text), _ADDRESS.search(stated)
    if not ours or not theirs or dates(stated) or ("@" in ours[0]) != ("@" in theirs[0]):
        return None
    one, two = (re.sub(r"[\s()./-]", "", found[0].casefold()) for found in (ours, theirs))
    return _same(one == two)


def _same(same: bool) -> Comparison:
    return Comparison.SAME if same else Comparison.DIFFERENT


def _days(value: Value, stated: str, now: datetime) -> Comparison | None:
    """Compare dates on the parts both state, weekdays with dates, and relative dates ("tomorrow")."""
    ours = _known_date(value)
    our_weekday = _weekday_of(value, ours)
    theirs = dates(stated)
    if ours and theirs:
        return _of([compare_dates(theirs[0], ours)])
    spoken = weekdays(stated)
    if spoken and our_weekday and not theirs:
        return _same(spoken[0][0] == our_weekday)
    if theirs and theirs[0].day and our_weekday:
        try:
            day = date(theirs[0].year or now.year, theirs[0].month, theirs[0].day)
        except ValueError:
            return None
        return _same(day.isoweekday() == our_weekday)
    return _relative(ours, our_weekday, stated, now)


def _relative(ours: PartialDate | None, our_weekday: int, stated: str, now: datetime) -> Comparison | None:
    if ours is None and not our_weekday:
        return None
    found = next((t for t in times(stated, 0, now) if t.first and t.last), None)
    if found is None or found.first is None or found.last is None:
        return None
    if ours is not None and ours.year:
        low = date(ours.year, ours.month or 1, ours.day or 1)
        high = date(ours.year, ours.month or 12, ours.day or 28)
        return _same(found.first.date() <= high and low <= found.last.date())
    one_day = found.first.date() == found.last.date()
    return _same(found.first.isoweekday() == our_weekday) if our_weekday and one_day else None


def _known_date(value: Value) -> PartialDate | None:
    """The date as precise as written: "1847" is a year, not 1 January 1847."""
    if value.kind is ValueKind.NUMBER and (value.number is None or value.unit or not _is_year(value.number)):
        return None
    written = dates(value.text)
    if written:
        return written[0]
    if re.fullmatch(r"\d{4}", value.text.strip()) and _is_year(float(value.text)):
        return PartialDate(int(value.text), 0, 0, 0, 4)
    if value.day:
        return PartialDate(value.day.year, value.day.month, value.day.day, 0, 0)
    return None


def _is_year(number: float) -> bool:
    return number == int(number) and 1000 <= number <= 2100


def _weekday_of(value: Value, ours: PartialDate | None) -> int:
    spoken = weekdays(value.text)
    if spoken:
        return spoken[0][0]
    if ours and ours.year and ours.month and ours.day:
        return date(ours.year, ours.month, ours.day).isoweekday()
    return 0


def _of(relations: Sequence[str]) -> Comparison:
    if any(relation in ("same", "compatible") for relation in relations):
        return Comparison.SAME
    return Comparison.DIFFERENT if "conflict" in relations else Comparison.OPEN


def _clock(text: str) -> Number | None:
    return next((number for number in numbers(text) if number.unit == "clock"), None)


def _clocks(value: Value, stated: str, _: datetime) -> Comparison | None:
    ours, theirs = _clock(value.text), _clock(stated)
    if ours is None or theirs is None:
        return None
    # "3:00" without am/pm also matches 15:00 (720 minutes later).
    half = re.search(r"[ap]\.?m|1[3-9]:|2\d:", stated, re.IGNORECASE) is None
    return _same(abs(ours.value - theirs.value) in ((0, 720) if half else (0,)))


def _amounts(value: Value, stated: str, _: datetime) -> Comparison | None:
    """Compare numbers of the same unit; if one side has no unit, compare the figures."""
    ours, theirs = _known_number(value), numbers(stated)
    if ours is None or not theirs:
        return None
    same_unit = [n if n.unit and ours.unit else n._replace(unit=ours.unit) for n in theirs]
    return _of([compare_numbers(number, ours) for number in same_unit])


def _known_number(value: Value) -> Number | None:
    if value.kind is ValueKind.NUMBER and value.number is not None:
        unit = UNITS.get(value.unit) or UNITS.get(value.unit.lower())
        scaled = value.number * unit.scale + unit.offset if unit else value.number
        written = numbers(value.text)
        step = written[0].step if written else 1.0
        return Number(scaled, unit.base if unit else "", 0, 0, step=step)
    if value.kind is ValueKind.TEXT and re.match(r"\W*\d", value.text):
        found = numbers(value.text)
        return found[0] if len(found) == 1 else None
    return None


def _names(value: Value, stated: str, known: KBSnapshot) -> Comparison:
    """Compare names and text by entity, alias, partial name, abbreviation and synonym."""
    spoken = strip_unit_noun(stated)
    if not spoken:
        return Comparison.OPEN
    match = known.match(bare(stated)) or known.match(spoken)
    entity = known.entities.get(value.entity)
    if match and value.entity and match.entity.id == value.entity:
        return Comparison.SAME
    ours = [value.text, *((entity.name, *entity.aliases) if entity else ())]
    if any(_alike(strip_unit_noun(name), spoken) for name in ours):
        return Comparison.SAME
    if match and any(_alike(strip_unit_noun(name), strip_unit_noun(match.entity.name)) for name in ours):
        return Comparison.SAME
    # A country and one of its cities do not conflict, and long phrases cannot be compared with a value.
    within = (value.text.casefold() in COUNTRIES) != (spoken.casefold() in COUNTRIES) and is_place(spoken)
    long = len(spoken.split()) > 6 or len(value.text.split()) > 8
    return Comparison.OPEN if within or long else Comparison.DIFFERENT


def strip_unit_noun(name: str) -> str:
    """Remove the article and trailing nouns such as "team" or "department"."""
    plain = bare(name).strip(" .,;:'\"*_`~")
    parts = plain.split()
    while len(parts) > 1 and parts[-1].lower() in UNIT_NOUNS:
        parts = parts[:-1]
    return " ".join(parts).strip("*_`~")


def _alike(ours: str, spoken: str) -> bool:
    left, right = (_ACRONYMS.get(fold(name).replace(".", ""), fold(name)) for name in (ours, spoken))
    if left == right or (len(left) > 2 and same_name(ours, spoken)):
        return True
    a, b = content_words(left), content_words(right)
    if a and b and (a <= b or b <= a):
        return True
    return any(a & group and b & group for group in _SYNONYMS) and len(a | b) <= 3


def replacement(value: Value, stated: str, known: KBSnapshot) -> Replacement | None:
    """Which words to replace, and by what, to correct the sentence; None if it cannot be done in place."""
    for repair in (_fix_day, _fix_clock, _fix_amount):
        found = repair(value, stated)
        if found is not None:
            return found
    entity = known.entities.get(value.entity)
    text = value.text or (entity.name if entity else "")
    if not text or not stated:
        return None
    start = len(stated) - len(bare(stated)) if stated.endswith(bare(stated)) else 0
    replaced = strip_unit_noun(stated) if strip_unit_noun(text) == bare(text) else bare(stated)
    at = stated.find(replaced, start)
    if at < 0 or not replaced:
        return None
    new = bare(text) if start else text
    if stated.lower().startswith(("a ", "an ")):  # the article must agree with the new word
        return Replacement(0, at + len(replaced), f"{'an' if new[:1].lower() in 'aeiou' else 'a'} {new}")
    return Replacement(at, at + len(replaced), new)


def _fix_day(value: Value, stated: str) -> Replacement | None:
    ours, written, named = _known_date(value), dates(stated), weekdays(stated)
    if ours and written:
        start, end = written[0].start, written[0].end
        return Replacement(start, end, _dated(ours, written[0], stated[start:end], value.text))
    weekday = _weekday_of(value, ours)
    if named and weekday:
        return Replacement(named[0][1], named[0][2], WEEKDAY_NAMES[weekday])
    return Replacement(0, len(stated), value.text) if weekday or ours else None


def _dated(ours: PartialDate, spoken: PartialDate, written: str, text: str) -> str:
    """Format the known date with the precision and, if it is a common one, in the form used by the
    response.
    """
    if not spoken.month or not ours.month:
        return str(ours.year) if ours.year else text
    month = MONTH_NAMES[ours.month]
    if re.fullmatch(r"\d{4}-\d\d-\d\d", written) and ours.day:
        return f"{ours.year:04}-{ours.month:02}-{ours.day:02}"
    year = f" {ours.year}" if spoken.year and ours.year else ""
    if not spoken.day or not ours.day:
        return f"{month}{year}"
    if written[:1].isalpha():
        return f"{month} {ours.day}" + (f",{year}" if year else "")
    return f"{ours.day} {month}{year}" if written[:1].isdigit() and re.search(r"[A-Za-z]{3}", written) else text


def _fix_clock(value: Value, stated: str) -> Replacement | None:
    spoken, ours = _clock(stated), _clock(value.text)
    if spoken is None or ours is None:
        return None
    return Replacement(spoken.start, spoken.end, value.text[ours.start : ours.end])


def _fix_amount(value: Value, stated: str) -> Replacement | None:
    """Replace the figure and keep the notation: "$49" becomes "$59", "5 kg" becomes "6 kg"."""
    ours, spoken = _known_number(value), numbers(stated)
    if ours is None or not spoken:
        return None
    first = spoken[0]
    sign = stated[first.start : first.start + 1]
    if sign in CURRENCY_SIGNS and UNITS[sign].base == ours.unit:
        return Replacement(first.start, first.end, f"{sign}{ours.value:,.2f}".removesuffix(".00"))
    digits = _DIGITS.match(stated, first.start, first.end)
    if digits and value.unit and value.number is not None:
        unit = stated[digits.end() : first.end].strip()
        if unit in UNITS and UNITS[unit] == UNITS.get(value.unit):  # the word for the unit stays as it was
            return Replacement(first.start, digits.end(), f"{value.number:,.10g}")
    lacks_unit = bool(first.unit and value.unit) and value.unit not in value.text
    return Replacement(first.start, first.end, f"{value.text} {value.unit}" if lacks_unit else value.text)


# What the knowledge base holds about the names of a response.

MAX_NAMES = 500
"""Only the first names of a longer list are looked up, to bound the size of the queries."""
_MAX_WORDS = 8  # longer phrases are descriptions, not names
_ADJECTIVES, _EVENTS, _PLACES, _DATED, _UNIT_WORDS, _STATUS, _JOBS = word_sets(
    "detect_kb", "adjectives events places dated unit_words status jobs"
)
_PARTS = _UNIT_WORDS | {"office", "staff"}


def fetch_snapshot(kb: KnowledgeBase, segments: Sequence[Segment], spoken: Sequence[str] = ()) -> KBSnapshot:
    """Fetch everything known about the names in the segments.

    `spoken` are names from the dialogue, which pronouns and descriptions may refer to.
    """
    mentions = (m.text for piece in segments for m in piece.mentions if m.kind is not MentionKind.PRONOUN)
    ends = (end for piece in segments for claim in piece.claims for end in (claim.subject, claim.object))
    shapes = (form for name in (*ends, *mentions, *spoken[-20:]) for form in _forms(name))
    names = list(dict.fromkeys(shapes))[:MAX_NAMES]
    # Fuzzy matching is limited to capitalised names: "the price" is not a misspelt "the prince".
    proper = [name for name in names if any(map(str.isupper, name))]
    others = [name for name in names if name not in set(proper)]
    by_name = {**(kb.find(others, fuzzy=False) if others else {}), **(kb.find(proper) if proper else {})}
    matches = {name.casefold(): match for name, match in by_name.items()}
    covering = kb if isinstance(kb, CoverageProvider) else None
    coverage = covering.coverage() if covering else Coverage()
    ids = dict.fromkeys([*(m.entity.id for m in matches.values()), *coverage.only.values()])
    filed: dict[str, list[Fact]] = {}
    for fact in kb.facts_about(list(ids)) if ids else ():
        for entity in {role.value.entity for role in fact.roles} & ids.keys():
            filed.setdefault(entity, []).append(fact)
    facts = {entity: tuple(about) for entity, about in filed.items()}
    found = {match.entity.id: match.entity for match in matches.values()}
    referred = [*coverage.only.values(), *(value.entity for value in _all_values(found.values(), facts))]
    missing = [identity for identity in dict.fromkeys(referred) if identity and identity not in found][:MAX_NAMES]
    entities = found | (kb.entities(missing) if missing else {})
    unknown = [name for name in names if name.casefold() not in matches]
    values = covering.values(unknown) if covering and unknown else set()
    every = {text.casefold() for text in (*values, *(v.text for v in _all_values(entities.values(), facts)))}
    return KBSnapshot(matches, facts, entities, frozenset(every), coverage)


def _forms(name: str) -> Iterator[str]:
    """A name without its article, also without "team" or "project" and without a leading adjective."""
    plain = bare(name)
    if not plain or len(plain.split()) > _MAX_WORDS or not any(map(str.isalpha, plain)):
        return
    yield plain
    words = plain.split()
    if len(words) > 1 and words[-1].lower() in UNIT_NOUNS:
        yield " ".join(words[:-1])
    if len(words) > 1 and words[0].lower() in UNIT_NOUNS | _ADJECTIVES:
        yield " ".join(words[1:])


def _all_values(entities: Iterable[Entity], facts: dict[str, tuple[Fact, ...]]) -> Iterator[Value]:
    for entity in entities:
        yield from (attribute.value for attribute in entity.attributes)
    for found in facts.values():
        yield from (role.value for fact in found for role in fact.roles)


@dataclass(frozen=True, slots=True)
class ClaimAsQuery:
    """A claim as a query about one entity: which predicate, which value, and where it is written."""

    entity: Entity
    predicate: str
    stated: str
    span: tuple[int, int]
    sure: float
    """Confidence that the name refers to this entity, 0 to 1."""


@dataclass(frozen=True, slots=True)
class KnownValue:
    """One known value of an entity; `fact` is None for an attribute."""

    name: str
    value: Value
    many: bool
    current: bool
    fact: Fact | None = None


def claim_queries(context: DetectionContext, claim: Triple) -> list[ClaimAsQuery]:
    """Queries about the subject and, if the predicate has an inverse, about the object."""
    if context.known is None:
        return []
    found: list[ClaimAsQuery] = []
    if subject := resolve_entity(context, claim.subject):
        # "He" and "she" are no things and "it" no person; entities without a type may be either.
        kind, written = subject[0].type.lower(), context.response[slice(*claim.subject_span)].lower()
        if not kind or written not in ("he", "she", "it") or (kind in PERSON_TYPES) == (written != "it"):
            found.append(ClaimAsQuery(subject[0], claim.predicate, claim.object, claim.object_span, subject[1]))
    turned = inverse(claim.predicate)
    holder = resolve_entity(context, claim.object) if turned else None
    if holder:
        found.append(ClaimAsQuery(holder[0], turned, claim.subject, claim.subject_span, holder[1]))
    return found


def resolve_entity(context: DetectionContext, name: str) -> tuple[Entity, float] | None:
    """Find the entity a name or description refers to, with a confidence."""
    known = context.known
    if known is None:
        return None
    plain = bare(name)
    match = known.match(plain) or _short_match(known, plain)
    if match:
        # "The Acme office" is not Acme, though the fuzzy match ignores such head nouns.
        head = plain.rsplit(maxsplit=1)[-1].lower()
        named = " ".join((match.entity.name, *match.entity.aliases)).lower().split()
        if head not in _PARTS or head in named or match.entity.type.lower() in _PARTS:
            return match.entity, 1.0 if match.kind is not MatchKind.FUZZY else match.score
    ours = plain.lower() in ("we", "our", "us")
    if plain != name.strip() or ours:
        return _described(context, known, "company" if ours else plain.lower())
    return None


def _short_match(known: KBSnapshot, name: str) -> Match | None:
    """The match without the noun or adjective: "the Tern project" is Tern where that is a project, "new Vega
    Microscope" a Vega Microscope; "the Acme office" is not Acme."""
    start, _, head = name.rpartition(" ")
    match = known.match(start) if start else None
    kind = match.entity.type.lower() if match else ""
    if match and (kind == head or (kind in _UNIT_WORDS and head in _UNIT_WORDS)):
        return match
    first, _, rest = name.partition(" ")
    return known.match(rest) if rest[:1].isupper() and first.islower() else None


def _described(context: DetectionContext, known: KBSnapshot, noun: str) -> tuple[Entity, float] | None:
    """ "the company": the entity of this type mentioned last, or the only company in the knowledge base."""
    types = COMPANY_NOUNS | {"organisation", "employer"} if noun in COMPANY_NOUNS else {noun}
    here = (name for s in context.segments for name in (*(m.text for m in s.mentions), *(c.subject for c in s.claims)))
    for spoken in (*here, *reversed(context.dialogue.names)):
        match = known.match(bare(spoken))
        if match and match.entity.type.lower() in types and match.kind is not MatchKind.FUZZY:
            return match.entity, 1.0
    # A company's own knowledge base need not name it; events and projects must be named.
    for kind, identity in known.coverage.only.items() if noun in COMPANY_NOUNS else ():
        if kind.lower() in types and identity in known.entities:
            return known.entities[identity], 1.0
    return None


def known_values(context: DetectionContext, reading: ClaimAsQuery) -> list[KnownValue]:
    """All known values of the entity under an attribute or predicate that can mean the same."""
    today = context.now.date()
    found = [
        KnownValue(a.name, a.value, a.many, a.holds_on(today))
        for a in reading.entity.attributes
        if same_attribute(a.name, reading.predicate)
    ]
    for fact in context.known.facts.get(reading.entity.id, ()) if context.known else ():
        found += _of_fact(fact, reading, today)
    return found


def same_attribute(name: str, predicate: str) -> bool:
    """True if the attribute means the predicate in the same direction: the manager of someone has another
    manager of their own."""
    if not inverse(predicate) or normal(predicate) == "employ":  # whom, or how many
        return same(name, predicate)
    form = normal(name)
    return (form_of(form, Form.THIRD) or form) == normal(predicate)


def _of_fact(fact: Fact, reading: ClaimAsQuery, today: date) -> Iterator[KnownValue]:
    """The values a fact gives for the predicate: its object, or the role that the predicate names."""
    current = (fact.valid_from or today) <= today <= (fact.valid_to or today)
    ours = [role for role in fact.roles if _refers_to(role.value, reading.entity)]
    others = [role for role in fact.roles if not _refers_to(role.value, reading.entity)]
    is_subject = any(role.name == "subject" for role in ours) or (bool(ours) and ours[0] is fact.roles[0])
    meant = same_attribute(fact.predicate, reading.predicate)
    backwards = bool(inverse(fact.predicate)) and same(inverse(fact.predicate), reading.predicate)
    # "acquire beta in" and "acquire" name different roles of the same event
    left, right = normal(fact.predicate).split(), normal(reading.predicate).split()
    same_verb = bool(left) and left[:1] == right[:1] and len(right) > 1
    dated, counted = dates(reading.stated), numbers(reading.stated)
    for role in others:
        plain = role.name in ("object", "value") or len(others) == 1
        named = role.name not in ("subject", "object") and same(role.name, reading.predicate)
        alike = same_verb and (dates(role.value.text) if dated else counted and numbers(role.value.text))
        if (meant and is_subject and plain) or (backwards and not is_subject and role.name == "subject"):
            yield KnownValue(fact.predicate, role.value, fact.many, current, fact)
        elif named or alike:
            yield KnownValue(role.name, role.value, fact.many, current, fact)


def _refers_to(value: Value, entity: Entity) -> bool:
    names = (entity.name, *entity.aliases)
    return value.entity == entity.id if value.entity else value.text.casefold() in {n.casefold() for n in names}


def type_compatible(context: DetectionContext, holding: KnownValue, reading: ClaimAsQuery) -> bool:
    """True if the claimed text can be a value of this attribute at all: a place is not a department."""
    kinds = groups(holding.name)
    stated = reading.stated
    if normal(reading.predicate) == "be":
        return _compatible_with_be(kinds, holding, stated)
    if not _is_specific(kinds, holding, reading):
        return False
    timed = bool(dates(stated) or weekdays(stated))
    if timed and not (kinds & _DATED) and not dates(holding.value.text) and not weekdays(holding.value.text):
        return False
    if "joined" in kinds and not dates(stated):
        return False  # "joined on Tuesday" is about a call, not about employment
    near = any(word in stated.lower() for word in ("today", "tomorrow", "next", "last"))
    if not timed and (kinds & groups(reading.predicate)) <= _DATED and not near and not numbers(stated):
        return normal(holding.name) == normal(reading.predicate)
    match = context.known.match(bare(stated)) if context.known else None
    place = is_place(bare(stated)) or (match is not None and match.entity.type.lower() in PLACE_TYPES)
    if place and reading.predicate in ("be in", "be at") and reading.entity.type.lower() in PERSON_TYPES:
        return False  # "is in Berlin" says where a person is today, not where they work or live
    if place and normal(holding.name) != normal(reading.predicate):
        return bool(kinds & _PLACES)
    if set(stated.lower().split()) & _UNIT_WORDS:
        return not kinds <= _PLACES
    return True


def _is_specific(kinds: frozenset[str], holding: KnownValue, reading: ClaimAsQuery) -> bool:
    """Common nouns count as a value only if the predicate names the attribute, or for jobs and teams."""
    stated = reading.stated
    if any(c.isupper() or c.isdigit() or c == "@" for c in bare(stated)) or numbers(stated):
        return True
    words = set(stated.lower().split())
    if words & _UNIT_WORDS or ("title" in kinds and words & _JOBS):
        return True
    return normal(holding.name) == normal(reading.predicate)


def _compatible_with_be(kinds: frozenset[str], holding: KnownValue, stated: str) -> bool:
    """ "is" can state anything; only jobs, dates and states can be recognised by their form."""
    words = set(stated.lower().replace(",", " ").split())
    if "title" in kinds and words & _JOBS:
        if "of" in words:  # "head of the choir" is a role besides the job
            return False
        return set(holding.value.text.lower().split()) & _JOBS != set()
    if "status" in kinds:
        return bool(words & _STATUS) and len(words) <= 2
    return bool(kinds & _DATED and (dates(stated) or weekdays(stated)) and not stated.lower().startswith(("a ", "an ")))


@dataclass(frozen=True, slots=True)
class LookupResult:
    """Result of comparing a claim with the known values; `holding` is the decisive one."""

    verdict: Comparison
    reading: ClaimAsQuery
    holding: KnownValue | None = None


def look_up(context: DetectionContext, claim: Triple, reading: ClaimAsQuery) -> LookupResult | None:
    """Compare a claim with the known values; None if there are none for its predicate."""
    values = known_values(context, reading)
    if not values or context.known is None:
        return None
    fitting = [h for h in values if type_compatible(context, h, reading)]
    past = claim.tense is Tense.PAST
    comparable = [h for h in fitting if h.current or past]
    verdicts = [(compare(h.value, reading.stated, context.known, context.now), h) for h in comparable]
    alike = next((h for verdict, h in verdicts if verdict is Comparison.SAME), None)
    if alike:
        return LookupResult(Comparison.DIFFERENT if claim.denied and alike.current else Comparison.SAME, reading, alike)
    decided = []
    for verdict, h in verdicts:
        at_once = {other.value.text.casefold() for other in fitting if other.name == h.name and other.current}
        single = not h.many and len(at_once) == 1  # one value at a time
        # a state may have been different in the past; the date of an event cannot
        state = past and not groups(h.name) & _EVENTS and not dates(h.value.text)
        if verdict is Comparison.DIFFERENT and h.current and single and not state:
            decided.append(h)
    if not decided or claim.denied or any(v is Comparison.OPEN for v, _ in verdicts):
        return LookupResult(Comparison.OPEN, reading)
    asked = reading.predicate  # the attribute whose name is closest to the predicate decides
    key = {h.name: (normal(h.name) == normal(asked), len(groups(h.name) & groups(asked))) for h in decided}
    nearest = max(decided, key=lambda h: (*key[h.name], -len(groups(h.name))))
    return LookupResult(Comparison.DIFFERENT, reading, nearest)


def reliability(holding: KnownValue) -> float:
    """The confidence of the fact, reduced by 20 % if it was stored unverified; 1 for attributes."""
    if holding.fact is None:
        return 1.0
    return holding.fact.confidence * (0.8 if holding.fact.status is FactStatus.UNVERIFIED else 1.0)


def is_licensed(context: DetectionContext, name: str) -> bool:
    """True if the sources, the question or the dialogue contain the name as whole words."""
    wanted = fold(strip_unit_noun(name) or bare(name))
    texts = (*(s.text for s in context.sources), *(turn.text for turn in context.dialogue.turns), context.question)
    found = re.compile(rf"(?<!\w){re.escape(wanted)}(?!\w)")
    if not wanted or any(found.search(fold(text)) for text in texts if text):
        return True
    return any(same_name(bare(name), spoken) for spoken in context.dialogue.names)
