"""Domains of the procedural suite: things with names, attributes with values, and how both are written.

The domains themselves are in `procedural_open.toml` and `procedural_held.toml`.
"""

from __future__ import annotations

import calendar
import csv
import io
import json
import re
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from random import Random


def word_list(text: str) -> tuple[str, ...]:
    return tuple(text.split())


FIRST_NAMES = word_list(
    "Mara Tobias Ines Viktor Leila Anton Priya Hugo Selma Dario Noor Emil Freya Oskar Tamsin Rafael Yuki Bram"
)
LAST_NAMES = word_list(
    """
    Okafor Lindqvist Baptiste Harrow Szabo Moreau Castellan Drummond Iyer Petrov Vance Achterberg Quintero
    Sorensen Whitlock Abara Falk Remington Toivonen Marchetti
    """
)
CITIES = word_list(
    """
    Lisbon Tallinn Osaka Leeds Montevideo Ghent Halifax Durban Krakow Bologna Tampere Quito Aarhus Perth
    Izmir Nantes Tucson Bergen Malaga Leipzig Cork Winnipeg Turin Brno
    """
)
SMALL = word_list(
    """
    zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
    seventeen eighteen nineteen twenty
    """
)


@dataclass(frozen=True, slots=True)
class GeneratedValue:
    """A value and the ways to write it; the first one is used in sources."""

    forms: tuple[str, ...]

    @property
    def plain(self) -> str:
        return self.forms[0]


@dataclass(frozen=True, slots=True)
class DomainAttribute:
    """An attribute of a thing: `value` names its generator, `said` are the sentences of sources and
    `claimed` those of responses ({e}: the thing, {v}: the value)."""

    label: str
    value: str
    said: tuple[str, ...]
    claimed: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Group:
    """Members of a thing: `said` lists them ({e}, {list}), `claimed` states their number ({e}, {n})."""

    label: str
    members: tuple[str, ...]
    said: tuple[str, ...]
    claimed: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Domain:
    """`details` are predicates ('is audited by {person}'); `statements` are sentences with alternatives
    <right|wrong>, of which a misquotation uses one wrong one."""

    name: str
    held: bool
    pronoun: str
    first: tuple[str, ...]
    second: tuple[str, ...]
    attributes: tuple[DomainAttribute, ...]
    details: tuple[str, ...]
    group: Group
    statements: tuple[str, ...]

    def things(self, rng: Random, count: int) -> list[str]:
        """Distinct names; they may share a word, as real names do."""
        every = [f"{a} {b}" for a in self.first for b in self.second]
        return rng.sample(every, count)


@cache
def domains(*, held: bool) -> tuple[Domain, ...]:
    """The domains of one half. The held-out half is not used to tune rules."""
    name = "procedural_held.toml" if held else "procedural_open.toml"
    tables = tomllib.loads(files("benchmarks").joinpath(name).read_text("utf-8"))["domain"]
    return tuple(
        Domain(
            name=table["name"],
            held=held,
            pronoun=table["pronoun"],
            first=tuple(table["first"].split()),
            second=tuple(table["second"].split()),
            attributes=tuple(
                DomainAttribute(a["label"], a["value"], tuple(a["said"]), tuple(a["claimed"]))
                for a in table["attribute"]
            ),
            details=tuple(table["details"]),
            group=_group(**table["group"]),
            statements=tuple(table["statements"]),
        )
        for table in tables
    )


def _group(label: str, members: str, said: list[str], claimed: list[str]) -> Group:
    return Group(label, tuple(members.split("|")), tuple(said), tuple(claimed))


def draw(spec: str, rng: Random) -> GeneratedValue:
    """Generate a value of a kind: 'money', 'percent', 'measure:km/kilometres:20-900', 'of:copper|zinc', …"""
    kind, _, rest = spec.partition(":")
    return _KINDS[kind](rest, rng)


def draw_other(spec: str, taken: set[str], rng: Random) -> GeneratedValue:
    """A value of the kind that differs from those taken and is not a rounding of one."""
    for _ in range(500):  # far more than needed unless the kind has too few values
        value = draw(spec, rng)
        if not any(_close(value.plain, other) for other in taken):
            return value
    raise ValueError(f"no other value of the kind {spec}")


def nearest(value: GeneratedValue, others: Sequence[GeneratedValue]) -> GeneratedValue:
    """The candidate that is easiest to mistake for the value: the nearest number, if there are numbers."""
    own = _figure(value.plain)
    if own is None:
        return others[0]
    return min(others, key=lambda other: abs((_figure(other.plain) or 0.0) - own))


def _close(a: str, b: str) -> bool:
    x, y = _figure(a), _figure(b)
    if x is None or y is None or re.search("[a-z]{3} ", a):
        return a == b
    return abs(x - y) < 0.04 * max(abs(x), abs(y)) and (abs(x - y) < 1 or max(abs(x), abs(y)) > 2100)


def _figure(text: str) -> float | None:
    found = re.search(r"\d[\d,]*(?:\.\d+)?", text)
    return float(found[0].replace(",", "")) if found else None


def _money(_: str, rng: Random) -> GeneratedValue:
    tenths = rng.randint(11, 989)
    exact = f"{tenths * 100_000:,}"
    return GeneratedValue((f"${tenths / 10:.1f} million", f"{exact} dollars", f"${tenths / 10:.1f}m", f"${exact}"))


def _count(rest: str, rng: Random) -> GeneratedValue:
    low, high = (int(part) for part in (rest or "120-98000").split("-"))
    number = rng.randint(low, high)
    return GeneratedValue((f"{number:,}", str(number)))


def _small(_: str, rng: Random) -> GeneratedValue:
    number = rng.randint(2, 20)
    return GeneratedValue((str(number), SMALL[number]))


def _percent(_: str, rng: Random) -> GeneratedValue:
    share = f"{rng.randint(21, 978) / 10:.1f}"
    return GeneratedValue((f"{share}%", f"{share} percent", f"{share} per cent"))


def _year(rest: str, rng: Random) -> GeneratedValue:
    low, high = (int(part) for part in (rest or "1851-2021").split("-"))
    return GeneratedValue((str(rng.randint(low, high)),))


def _date(_: str, rng: Random) -> GeneratedValue:
    year, month, day = rng.randint(1952, 2023), rng.randint(1, 12), rng.randint(1, 28)
    name = calendar.month_name[month]
    return GeneratedValue((f"{day} {name} {year}", f"{name} {day}, {year}", f"{year}-{month:02d}-{day:02d}"))


def _code(rest: str, rng: Random) -> GeneratedValue:
    """An identifier: a number to which no other number is near."""
    low, high = (int(part) for part in rest.split("-"))
    return GeneratedValue((str(rng.randint(low, high)),))


def _measure(rest: str, rng: Random) -> GeneratedValue:
    names, _, limits = rest.partition(":")
    low, high = (int(part) for part in limits.split("-"))
    number = rng.randint(low, high)
    return GeneratedValue(tuple(f"{number:,} {unit}" for unit in names.split("/")))


def _person(_: str, rng: Random) -> GeneratedValue:
    return GeneratedValue((f"{rng.choice(FIRST_NAMES)} {rng.choice(LAST_NAMES)}",))


def _city(_: str, rng: Random) -> GeneratedValue:
    return GeneratedValue((rng.choice(CITIES),))


def _of(rest: str, rng: Random) -> GeneratedValue:
    return GeneratedValue((rng.choice(rest.split("|")),))


_KINDS: dict[str, Callable[[str, Random], GeneratedValue]] = {
    "money": _money,
    "count": _count,
    "small": _small,
    "percent": _percent,
    "year": _year,
    "date": _date,
    "code": _code,
    "measure": _measure,
    "person": _person,
    "city": _city,
    "of": _of,
}

# ---- layouts of sources: several, so that no detector can specialise in one


@dataclass(frozen=True, slots=True)
class GeneratedFact:
    thing: str
    attribute: DomainAttribute
    value: GeneratedValue


def source_sentence(fact: GeneratedFact, rng: Random) -> str:
    """State a fact in a sentence of a source."""
    return capital(rng.choice(fact.attribute.said).format(e=fact.thing, v=fact.value.plain))


def response_sentences(fact: GeneratedFact, rng: Random, *others: GeneratedValue) -> list[str]:
    """State a fact in a sentence of a response, in different words and perhaps another form of the value.

    Returns this sentence, and the same sentence with each of `others` instead of the value.
    """
    template = rng.choice(fact.attribute.claimed)
    form = rng.randrange(len(fact.value.forms))
    values = (fact.value, *others)
    return [capital(template.format(e=fact.thing, v=value.forms[form])) for value in values]


def capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def by_thing(facts: Sequence[GeneratedFact]) -> dict[str, list[GeneratedFact]]:
    found: dict[str, list[GeneratedFact]] = {}
    for fact in facts:
        found.setdefault(fact.thing, []).append(fact)
    return found


def prose(facts: Sequence[GeneratedFact], domain: Domain, rng: Random) -> str:
    """One paragraph per thing; later sentences may use a pronoun."""
    paragraphs = []
    for thing, own in by_thing(facts).items():
        sentences = [source_sentence(own[0], rng)]
        for fact in own[1:]:
            sentence = source_sentence(fact, rng)
            for subject in (f"The {thing} ", f"{thing} "):
                if sentence.startswith(subject) and rng.random() < 0.5:
                    sentence = f"{domain.pronoun} {sentence.removeprefix(subject)}"
                    break
            sentences.append(sentence)
        paragraphs.append(" ".join(sentences))
    return ("\n\n" if len(facts) > len(paragraphs) else " ").join(paragraphs)


def bullets(facts: Sequence[GeneratedFact], _: Domain, rng: Random) -> str:
    if rng.random() < 0.5:
        return "\n".join(
            f"- {thing}: " + "; ".join(f"{f.attribute.label} {f.value.plain}" for f in own)
            for thing, own in by_thing(facts).items()
        )
    return "\n".join(f"- {f.thing}, {f.attribute.label}: {f.value.plain}" for f in facts)


def sections(facts: Sequence[GeneratedFact], _: Domain, rng: Random) -> str:
    mark = rng.choice(("-", "*", ""))
    return "\n\n".join(
        f"## {thing}\n\n" + "\n".join(f"{mark} {capital(f.attribute.label)}: {f.value.plain}".strip() for f in own)
        for thing, own in by_thing(facts).items()
    )


def table(facts: Sequence[GeneratedFact], _: Domain, rng: Random) -> str:
    labels = list(dict.fromkeys(fact.attribute.label for fact in facts))
    rows = [["name", *labels]]
    for thing, own in by_thing(facts).items():
        values = {fact.attribute.label: fact.value.plain for fact in own}
        rows.append([thing, *(values.get(label, "") for label in labels)])
    if rng.random() < 0.5:
        written = io.StringIO()
        csv.writer(written, lineterminator="\n").writerows(rows)
        return written.getvalue()
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([lines[0], "|" + " --- |" * len(rows[0]), *lines[1:]])


def data(facts: Sequence[GeneratedFact], _: Domain, rng: Random) -> str:
    records = {
        thing: {fact.attribute.label.replace(" ", "_"): fact.value.plain for fact in own}
        for thing, own in by_thing(facts).items()
    }
    if rng.random() < 0.5:
        return json.dumps(records, indent=rng.choice((None, 2)), ensure_ascii=False)
    return json.dumps(
        [{"name": thing} | record for thing, record in records.items()],
        indent=rng.choice((None, 2)),
        ensure_ascii=False,
    )


LAYOUTS: tuple[Callable[[Sequence[GeneratedFact], Domain, Random], str], ...] = (
    prose,
    prose,
    bullets,
    sections,
    table,
    data,
)
"""Prose counts twice because most sources are prose."""


def lay_out(facts: Sequence[GeneratedFact], domain: Domain, rng: Random) -> str:
    return rng.choice(LAYOUTS)(facts, domain, rng)
