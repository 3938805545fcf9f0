"""The procedural suite (SPEC-16): generated sources, with responses that agree with them or do not.

Items come in pairs over the same sources: a supported response and one of the same form with a wrong fact, so
that they differ in the fact only. The same seed and number give the same items.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field, replace
from random import Random

from benchmarks.procedural_domains import (
    SMALL,
    Domain,
    GeneratedFact,
    GeneratedValue,
    capital,
    domains,
    draw,
    draw_other,
    lay_out,
    nearest,
    prose,
    response_sentences,
    source_sentence,
    word_list,
)

DISTANCES = (4, 16, 64, 256)
"""Facts between the right value and the one that a `swapped_binding` uses instead."""
_SLOT = re.compile(r"\{(person|city|money|percent|year|count|measure)(?::([^}]*))?\}")
_CHOICE = re.compile(r"<([^|>]+)\|([^|>]+)>")
_WORDS = {
    False: word_list("strawberry banana committee parallel assessment mississippi embarrass occurrence bookkeeper"),
    True: word_list("accommodate tennessee possession millennium raccoon successful cinnamon referee suppress"),
}
_QUOTED = {
    False: ('According to the document, "{q}"', 'The text says: "{q}"', "The document states that {i}"),
    True: ('As the source puts it, "{q}"', 'The report reads "{q}"', "The report notes that {i}"),
}
_DETAILED = {
    False: ("{claim} {pronoun} {detail}.", "{open}, and {thing} {detail}.", "{thing} {detail}."),
    True: ("{claim} Also, {thing} {detail}.", "{thing} {detail}. {claim}", "{thing}, it should be noted, {detail}."),
}
_WORKED = {
    False: ("{claim}", "The {label} are {list}. {claim}", "Counting {list}: {claim}"),
    True: ("{claim}", "They are {list}. {claim}", "One by one: {list}. {claim}"),
}
_SPELLED = {
    False: ("The word {w} contains the letter {x} {n} times.", "There are {n} occurrences of {x} in the word {w}."),
    True: ("The letter {x} occurs {n} times in the word {w}.", "In the word {w}, the letter {x} is found {n} times."),
}


@dataclass(frozen=True, slots=True)
class ProceduralItem:
    """A response with its sources: `label` is 1 if they support it; `held` marks the held-out half."""

    id: str
    kind: str
    domain: str
    response: str
    sources: dict[str, str]
    label: int
    question: str = ""
    held: bool = False
    distance: int = 0


@dataclass(frozen=True, slots=True)
class Pair:
    sources: dict[str, str]
    right: str
    wrong: str
    question: str = ""
    distance: int = field(default=0, kw_only=True)
    domain: str = field(default="", kw_only=True)


def generate(items: int = 1050, seed: int = 0) -> list[ProceduralItem]:
    """Generate about `items` responses, balanced over kinds, halves, domains and labels."""
    return [item for number in range(max(1, items // 2)) for item in _two(number, seed)]


def _two(number: int, seed: int) -> Iterator[ProceduralItem]:
    kind = list(KINDS)[number % len(KINDS)]
    turn = number // len(KINDS)
    held, turn = bool(turn % 2), turn // 2
    half = domains(held=held)
    domain = half[turn % len(half)]
    pair = KINDS[kind](domain, Random(f"{seed}/{kind}/{held}/{turn}"), turn)
    for label, response in ((1, pair.right), (0, pair.wrong)):
        yield ProceduralItem(
            id=f"{kind}-{number:04d}-{'control' if label else 'wrong'}",
            kind=kind,
            domain=pair.domain or domain.name,
            response=response,
            sources=pair.sources,
            label=label,
            question=pair.question,
            held=held,
            distance=pair.distance,
        )


def as_line(item: ProceduralItem) -> str:
    return json.dumps(asdict(item), ensure_ascii=False)


def scene(domain: Domain, rng: Random, things: int, attributes: int) -> list[GeneratedFact]:
    """Facts about some attributes of some things; no value occurs twice."""
    chosen = rng.sample(domain.attributes, attributes)
    taken: dict[str, set[str]] = {attribute.label: set() for attribute in chosen}
    facts = []
    for thing in domain.things(rng, things):
        for attribute in chosen:
            value = _unused(attribute.value, taken[attribute.label], rng)
            taken[attribute.label].add(value.plain)
            facts.append(GeneratedFact(thing, attribute, value))
    return facts


def _unused(spec: str, taken: set[str], rng: Random) -> GeneratedValue:
    """A new value, if possible one that is not a rounding of an earlier one."""
    if len(taken) < 12 and not spec.startswith(("of", "city")):
        return draw_other(spec, taken, rng)
    value = draw(spec, rng)
    tries = 0
    while value.plain in taken and tries < 200:
        value, tries = draw(spec, rng), tries + 1
    return value


def _question(fact: GeneratedFact) -> str:
    return f"What is the {fact.attribute.label} of {fact.thing}?"


def named(domain: Domain, thing: str) -> str:
    article = any("The {e}" in form for attribute in domain.attributes for form in attribute.said)
    return f"the {thing}" if article else thing


def _sourced(facts: list[GeneratedFact], domain: Domain, rng: Random) -> dict[str, str]:
    """One source per thing, all in the same layout."""
    layout = rng.randrange(1 << 30)
    things = list(dict.fromkeys(fact.thing for fact in facts))
    return {
        f"S{n}": lay_out([fact for fact in facts if fact.thing == thing], domain, Random(layout))
        for n, thing in enumerate(things)
    }


def wrong_value(domain: Domain, rng: Random, _: int) -> Pair:
    """The right source and topic, but a value that occurs nowhere."""
    facts = scene(domain, rng, rng.randint(3, 5), rng.randint(2, 3))
    fact = rng.choice(facts)
    taken = {f.value.plain for f in facts if f.attribute is fact.attribute}
    drawn = [draw_other(fact.attribute.value, taken, rng) for _ in range(rng.choice((1, 40)))]
    right, wrong = response_sentences(fact, rng, nearest(fact.value, drawn))
    if rng.random() < 0.5:
        return Pair({"S0": lay_out(facts, domain, rng)}, right, wrong, _question(fact))
    sources = _sourced(facts, domain, rng)
    at = list(dict.fromkeys(f.thing for f in facts)).index(fact.thing)
    return Pair(sources, _cite(right, f"[S{at}]"), _cite(wrong, f"[S{at}]"), _question(fact))


def _cite(sentence: str, mark: str) -> str:
    return f"{sentence.removesuffix('.')} {mark}."


def cited_unsupported(domain: Domain, rng: Random, _: int) -> Pair:
    """A true claim that cites an existing source that does not support it."""
    facts = scene(domain, rng, rng.randint(3, 5), rng.randint(2, 3))
    sources = _sourced(facts, domain, rng)
    things = list(dict.fromkeys(f.thing for f in facts))
    fact = rng.choice(facts)
    at = things.index(fact.thing)
    other = rng.choice([n for n in range(len(things)) if n != at])
    (claim,) = response_sentences(fact, rng)
    return Pair(sources, _cite(claim, f"[S{at}]"), _cite(claim, f"[S{other}]"), _question(fact))


def phantom_citation(domain: Domain, rng: Random, _: int) -> Pair:
    """A true claim that cites a source that does not exist."""
    facts = scene(domain, rng, rng.randint(2, 4), 2)
    sources = _sourced(facts, domain, rng)
    things = list(dict.fromkeys(f.thing for f in facts))
    fact = rng.choice(facts)
    (claim,) = response_sentences(fact, rng)
    at, nowhere = things.index(fact.thing), len(things) + rng.randint(1, 8)
    form = rng.choice(("[S{}]", "(S{})", "(source: S{})"))
    return Pair(sources, _cite(claim, form.format(at)), _cite(claim, form.format(nowhere)), _question(fact))


def swapped_binding(domain: Domain, rng: Random, turn: int) -> Pair:
    """The value that the same attribute has for another thing, some facts further on."""
    between = DISTANCES[(turn + turn // len(DISTANCES)) % len(DISTANCES)]
    wide = [a for a in domain.attributes if between < 64 or not a.value.startswith(("of", "city", "small"))]
    attribute = rng.choice(wide)
    facts = scene(replace(domain, attributes=(attribute,)), rng, between + 2 + rng.randint(0, 3), 1)
    at = rng.randrange(len(facts) - between - 1)
    ends = [facts[at], facts[at + between + 1]]
    rng.shuffle(ends)
    fact, other = ends
    right, wrong = response_sentences(fact, rng, other.value)
    return Pair({"S0": lay_out(facts, domain, rng)}, right, wrong, _question(fact), distance=between)


def confabulated_detail(domain: Domain, rng: Random, _: int) -> Pair:
    """A plausible detail that occurs nowhere; the control adds one that does."""
    facts = scene(domain, rng, 2, rng.randint(2, 3))
    fact = rng.choice(facts)
    details = rng.sample(domain.details, 3)
    known, absent, third = (fill(detail, rng) for detail in details)
    thing = named(domain, fact.thing)
    own = [f for f in facts if f.thing == fact.thing]
    other = [f for f in facts if f.thing != fact.thing]
    stated = [f"{capital(thing)} {known}.", f"{rng.choice((domain.pronoun, capital(thing)))} {third}."]
    rng.shuffle(stated)
    # Often another thing has the same or a similar detail, so that its words occur in the source.
    beside = rng.choice(("", absent, fill(details[1], rng)))
    about_other = prose(other, domain, rng)
    if beside:
        about_other += f" {capital(named(domain, other[0].thing))} {beside}."
    paragraphs = [" ".join([*(source_sentence(f, rng) for f in own), *stated]), about_other]
    rng.shuffle(paragraphs)
    frame = rng.choice(_DETAILED[domain.held])
    (claim,) = response_sentences(fact, rng)

    def response(detail: str) -> str:
        filled = frame.format(
            claim=claim, open=claim.removesuffix("."), pronoun=domain.pronoun, thing=thing, detail=detail
        )
        return capital(filled)

    return Pair({"S0": "\n\n".join(paragraphs)}, response(known), response(absent))


def fill(text: str, rng: Random) -> str:
    def one(match: re.Match[str]) -> str:
        return draw(f"{match[1]}:{match[2] or ''}", rng).plain

    return _SLOT.sub(one, text)


def misquoted(domain: Domain, rng: Random, _: int) -> Pair:
    """A sentence of the source, quoted with one word replaced."""
    facts = scene(domain, rng, 2, 2)
    statement = rng.choice(domain.statements)
    if not statement.startswith(("{e}", "<")):
        statement = statement[0].lower() + statement[1:]  # capitalised only at the start of a sentence
    statement = statement.replace("{e}", facts[0].thing)
    choices = list(_CHOICE.finditer(statement))
    turned = rng.choice(choices).start()
    right = _CHOICE.sub(lambda m: m[1], statement)
    wrong = _CHOICE.sub(lambda m: m[2] if m.start() == turned else m[1], statement)
    sentences = [source_sentence(fact, rng) for fact in facts]
    sentences.insert(rng.randint(0, len(sentences)), capital(right))
    frame = rng.choice(_QUOTED[domain.held])
    return Pair({"S0": " ".join(sentences)}, _quote(frame, right), _quote(frame, wrong))


def _quote(frame: str, sentence: str) -> str:
    return frame.format(q=capital(sentence), i=sentence)


def miscounted(domain: Domain, rng: Random, turn: int) -> Pair:
    """The source lists all members and often their number; the response miscounts them."""
    if turn % 4 == 3:
        return _letters(domain, rng)
    group = domain.group
    members = rng.sample(group.members, rng.randint(4, 10))
    thing = domain.things(rng, 1)[0]
    right, wrong = len(members), _miscount(len(members), rng)
    listed = _join(members)
    template = rng.choice(group.claimed)
    frame = rng.choice(_WORKED[domain.held])
    in_words = rng.random() < 0.5

    def response(number: int) -> str:
        count = SMALL[number] if in_words else str(number)
        claim = capital(template.format(e=thing, n=count))
        return frame.format(claim=claim, label=group.label, list=listed)

    return Pair({"S0": _listing(domain, thing, members, rng)}, response(right), response(wrong))


def _miscount(number: int, rng: Random) -> int:
    return max(1, number + rng.choice((-2, -1, 1, 2)))


def _join(members: list[str]) -> str:
    return f"{', '.join(members[:-1])} and {members[-1]}"


def _listing(domain: Domain, thing: str, members: list[str], rng: Random) -> str:
    group, total = domain.group, len(members)
    with_total = rng.random() < 0.5
    match rng.randrange(4):
        case 0:
            text = rng.choice(group.said).format(e=thing, list=_join(members))
            return f"{capital(text)} That makes {total} {group.label} in all." if with_total else capital(text)
        case 1:
            lines = [f"{n}. {member}" for n, member in enumerate(members, 1)]
            end = [f"Total number of {group.label}: {total}"] if with_total else []
            return "\n".join([f"{capital(group.label)} of {named(domain, thing)}:", *lines, *end])
        case 2:
            lines = [f"- {member}" for member in members]
            end = [f"\n{capital(named(domain, thing))} has {total} {group.label}."] if with_total else []
            return "\n".join([f"## {capital(group.label)} of {named(domain, thing)}\n", *lines, *end])
    record: dict[str, object] = {"name": thing, group.label.replace(" ", "_"): members}
    if with_total:
        record[f"number_of_{group.label.replace(' ', '_')}"] = total
    return json.dumps(record, ensure_ascii=False)


def _letters(domain: Domain, rng: Random) -> Pair:
    """The example of SPEC-16: the letters are spelled out, then miscounted."""
    word = rng.choice(_WORDS[domain.held])
    letter = rng.choice([x for x, count in Counter(word).items() if count >= 2])
    places = [str(n) for n, x in enumerate(word, 1) if x == letter]
    spelled = rng.choice((f"{word}: {'-'.join(word)}", f"Spelled out, the word {word} is {' '.join(word)}."))
    where = f"The letter {letter} stands at positions {_join(places)}."
    total = rng.choice(("", f" So the letter {letter} occurs {len(places)} times in {word}."))
    template = rng.choice(_SPELLED[domain.held])
    answers = [template.format(w=word, x=letter, n=n) for n in (len(places), _other_count(len(places), rng))]
    return Pair({"S0": f"{spelled}\n{where}{total}"}, answers[0], answers[1], domain="spelling")


def _other_count(number: int, rng: Random) -> int:
    return rng.choice([n for n in (number - 1, number + 1, number + 2) if n >= 2])


KINDS: dict[str, Callable[[Domain, Random, int], Pair]] = {
    "miscounted": miscounted,
    "misquoted": misquoted,
    "wrong_value": wrong_value,
    "cited_unsupported": cited_unsupported,
    "confabulated_detail": confabulated_detail,
    "swapped_binding": swapped_binding,
    "phantom_citation": phantom_citation,
}
