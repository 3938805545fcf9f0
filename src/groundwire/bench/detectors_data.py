"""The detector suite: a fictional company as a knowledge base, and labelled sentences about it."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import datetime
from importlib.resources import files
from pathlib import Path
from zlib import crc32

from groundwire.types import Attribute, Entity, Fact, HallucinationType, Role, Turn, Value, ValueKind

NOW = datetime(2026, 6, 15)

PEOPLE = """
Ingrid Vos|Management|chief executive officer|Rotterdam|i.vos@helion.example|
Tomas Lindqvist|Engineering|engineering manager|Rotterdam|t.lindqvist@helion.example|Ingrid Vos
Amara Okafor|Analytics|data analyst|Lisbon|a.okafor@helion.example|Tomas Lindqvist
Yuki Tanaka|Research|principal scientist|Rotterdam|y.tanaka@helion.example|Ingrid Vos
Leila Haddad|Sales|account manager|Dubai|l.haddad@helion.example|Ingrid Vos
Marcus Webb|Finance|accountant|Rotterdam|m.webb@helion.example|Ingrid Vos
Priya Raman|Support|support engineer|Mumbai|p.raman@helion.example|Tomas Lindqvist
Olga Petrova|Legal|lawyer|Rotterdam|o.petrova@helion.example|Ingrid Vos
Diego Alvarez|Logistics|warehouse manager|Utrecht|d.alvarez@helion.example|Marcus Webb
Hannah Keller|Marketing|brand manager|Lisbon|h.keller@helion.example|Leila Haddad
Samuel Osei|Engineering|firmware developer|Utrecht|s.osei@helion.example|Tomas Lindqvist
"""
PRODUCTS = """
Orion Spectrometer|14500|6.2|2019|3
Lyra Sensor|320|0.4|2022|2
Vega Microscope|27900|18|2015|5
"""
PROJECTS = """
Project Tern|Yuki Tanaka|2025-02-03|2026-09-30|1200000|active
Project Heron|Samuel Osei|2024-11-12|2026-07-15|300000|cancelled
"""
EVENTS = """
the board meeting|scheduled for|Thursday
the sales training|start at|14:30
the safety audit|scheduled for|9 July 2026
the product launch|held in|Vienna
the supplier review|scheduled for|Monday
the summer party|held in|Utrecht
"""


def entities() -> list[Entity]:
    return [*_company(), *_people(), *_products(), *_projects(), *_events()]


def facts() -> list[Fact]:
    """Appointments, one acquisition with its roles, and spoken languages."""
    found = []
    for row in _rows(EVENTS):
        subject = Role("subject", Value(row[0], ValueKind.REFERENCE, entity=_id(row[0])))
        found.append(Fact("", row[1], (subject, Role("object", Value(row[2])))))
    helion = Role("subject", Value("Helion Instruments", ValueKind.REFERENCE, entity="helion-instruments"))
    bought = (helion, Role("object", Value("Brandt Optik")), Role("year", Value("2021")))
    found.append(Fact("", "acquire", bought))
    for language in ("Portuguese", "English"):
        amara = Role("subject", Value("Amara Okafor", ValueKind.REFERENCE, entity="amara-okafor"))
        found.append(Fact("", "speaks", (amara, Role("object", Value(language))), many=True))
    return found


def _company() -> Iterator[Entity]:
    given = {
        "industry": Value("optics"),
        "headquarters": Value("Rotterdam"),
        "ceo": Value("Ingrid Vos", ValueKind.REFERENCE, entity="ingrid-vos"),
        "founded": Value("1998"),
        "founder": Value("Pieter de Graaf"),
        "employees": _number("420"),
        "revenue": _number("96000000", "EUR"),
        "website": Value("www.helion.example"),
    }
    yield Entity("helion-instruments", "Helion Instruments", "company", ("Helion",), _attributes(given))
    yield Entity("brandt-optik", "Brandt Optik", "company")


def _people() -> Iterator[Entity]:
    for name, department, title, city, email, manager in _rows(PEOPLE):
        given = {
            "department": Value(department),
            "title": Value(title),
            "location": Value(city),
            "email": Value(email),
        }
        if manager:
            given["manager"] = Value(manager, ValueKind.REFERENCE, entity=_id(manager))
        yield Entity(_id(name), name, "person", (), _attributes(given))


def _products() -> Iterator[Entity]:
    for name, price, weight, launch, warranty in _rows(PRODUCTS):
        given = {
            "price": _number(price, "EUR"),
            "weight": _number(weight, "kg"),
            "launch": Value(launch),
            "warranty": _number(warranty, "years"),
        }
        yield Entity(_id(name), name, "product", (name.split()[0],), _attributes(given))


def _projects() -> Iterator[Entity]:
    for name, manager, start, deadline, budget, status in _rows(PROJECTS):
        given = {
            "manager": Value(manager, ValueKind.REFERENCE, entity=_id(manager)),
            "start date": _day(start),
            "deadline": _day(deadline),
            "budget": _number(budget, "EUR"),
            "status": Value(status),
        }
        short = name.removeprefix("Project ")
        yield Entity(
            _id(name), name, "project", (f"the {short} project", f"{short} project"), _attributes(given)
        )


def _events() -> Iterator[Entity]:
    for name, *_ in _rows(EVENTS):
        yield Entity(_id(name), name, "event", (name.removeprefix("the "),))


def _rows(table: str) -> list[list[str]]:
    return [row.split("|") for row in table.strip().splitlines()]


def _id(name: str) -> str:
    return name.lower().replace(" ", "-")


def _attributes(given: dict[str, Value]) -> tuple[Attribute, ...]:
    return tuple(Attribute(name, value) for name, value in given.items())


def _number(text: str, unit: str = "") -> Value:
    return Value(text, ValueKind.NUMBER, float(text), unit)


def _day(text: str) -> Value:
    return Value(text, ValueKind.DATE, day=datetime.fromisoformat(text).date())


# ---- labelled sentences, written by hand or generated from the knowledge base
#
# `python -m groundwire.bench.detectors_data` writes the whole set to `detectors_set.jsonl`. Every sentence
# falls into one of two halves by its own text: failures are looked at in the open half only.

SEED = 7
_ACCEPT = {
    HallucinationType.WRONG_ATTRIBUTE: HallucinationType.CONTRADICTS_FACT,
    HallucinationType.CONTRADICTS_FACT: HallucinationType.WRONG_ATTRIBUTE,
    HallucinationType.FABRICATED_FACT: HallucinationType.NONEXISTENT_ENTITY,
    HallucinationType.NONEXISTENT_ENTITY: HallucinationType.FABRICATED_FACT,
}
"""Other kinds that count as correct for a label: an attribute may be stored as a fact."""


@dataclass(frozen=True, slots=True)
class LabelledSentence:
    """A sentence with its label ('' if it is right), the conversation before it and its sources."""

    text: str
    label: str = ""
    history: tuple[Turn, ...] = ()
    source: str = ""
    origin: str = "hand"
    also: str = ""
    """A second correct kind: a wrong manager may also be an unknown person."""

    @property
    def held(self) -> bool:
        return crc32(self.text.encode()) % 2 == 1

    @property
    def accepted(self) -> frozenset[str]:
        if not self.label:
            return frozenset()
        kind = HallucinationType(self.label)
        return frozenset({kind.value, _ACCEPT.get(kind, kind).value, self.also} - {""})


def items() -> list[LabelledSentence]:
    """The stored set."""
    text = (files("groundwire.bench") / "detectors_set.jsonl").read_text(encoding="utf-8")
    return [_read(json.loads(line), "") for line in text.splitlines()]


def made() -> list[LabelledSentence]:
    """The set as the generator makes it now."""
    text = (files("groundwire.bench") / "detectors_hand.jsonl").read_text(encoding="utf-8")
    written = [_read(json.loads(line), "hand") for line in text.splitlines()]
    return [*written, *_templated(random.Random(SEED))]


def _read(row: dict[str, object], origin: str) -> LabelledSentence:
    turns = row.get("history") or ()
    assert isinstance(turns, list | tuple)
    history = tuple(Turn(i, str(turn["role"]), str(turn["text"])) for i, turn in enumerate(turns, start=1))
    source = str(row.get("source") or "")
    came, also = str(row.get("origin") or origin), str(row.get("also") or "")
    return LabelledSentence(str(row["text"]), str(row["label"]), history, source, came, also)


def write(path: Path) -> int:
    rows = [{**asdict(item), "half": "held" if item.held else "open"} for item in made()]
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return len(rows)


def _table_rows(table: str) -> list[list[str]]:
    return [row.split("|") for row in table.strip().splitlines()]


_DEPARTMENT = (
    "{name} is a member of the {value} team.",
    "{name} currently works for the {value} department.",
    "As far as the directory goes, {name} belongs to {value}.",
    "{name} from the {value} team will take care of it.",
)
_CITY = ("{name} works from {value}.", "{name} is based in {value}.", "{name} is located in {value}.")
_TITLE = (
    "{name} is {article} {value}.",
    "{name} works as {article} {value}.",
    "{name}, {article} {value}, wrote the guide.",
)
_MANAGER = ("{name} reports to {value}.", "{name}'s manager is {value}.", "{name}'s boss is {value}.")
_EMAIL = ("{name}'s email is {value}.", "The email address of {name} is {value}.")
_PRICE = (
    "The {name} costs {value} euros.",
    "The price of the {name} is €{value}.",
    "The {name} sells for {value} EUR.",
)
_WEIGHT = ("The {name} weighs {value} kg.", "The weight of the {name} is {value} kilograms.")
_LAUNCH = (
    "The {name} was released in {value}.",
    "The {name} has been on the market since its launch; it was launched in {value}.",
)
_BUDGET = ("The budget of {name} is {value} euros.", "{name} has a budget of {value} EUR.")
_LEAD = ("{value} manages {name}.", "{name} is led by {value}.", "The manager of {name} is {value}.")
_WHEN = ("{name} is on {value}.", "{name} takes place on {value}.")
_WHERE = ("{name} will be held in {value}.", "{name} takes place in {value}.")
_START = ("{name} starts at {value}.", "{name} begins at {value}.")
_STRANGERS = ("Walter Quinn", "Sofia Marin", "Kenneth Boyle", "Teresa Lund", "Graham Pike", "Irene Falk")
_TEAMS = ("Blockchain", "Security", "Training", "Facilities", "Innovation")
_STRANGE = (
    "You should get in touch with {name}, who works with {known}.",
    "{known} reports to {name}.",
    "Please contact {name} in the {team} team.",
)
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday")
_CITIES = ("Rotterdam", "Lisbon", "Dubai", "Mumbai", "Utrecht", "Vienna", "Berlin")


def _templated(rng: random.Random) -> Iterator[LabelledSentence]:
    yield from _about_people(rng)
    yield from _about_products(rng)
    yield from _about_projects(rng)
    yield from _about_events(rng)
    yield from _about_strangers(rng)


def _pair(
    rng: random.Random, shapes: tuple[str, ...], name: str, right: str, wrong: str
) -> Iterator[LabelledSentence]:
    """One true and one false sentence in different words."""
    first, second = rng.sample(shapes, 2)
    yield _item(first, name, right, "")
    yield _item(second, name, wrong, HallucinationType.WRONG_ATTRIBUTE.value)


def _item(shape: str, name: str, value: str, label: str) -> LabelledSentence:
    article = "an" if value[:1] in "aeiou" else "a"
    text = shape.format(name=name, value=value, article=article)
    return LabelledSentence(text[0].upper() + text[1:], label, origin="template")


def _about_people(rng: random.Random) -> Iterator[LabelledSentence]:
    people = _table_rows(PEOPLE)
    for name, department, title, city, email, manager in people[1:]:
        others = [p for p in people if p[0] != name]
        yield from _pair(rng, _DEPARTMENT, name, department, _other(rng, others, 1, department))
        yield from _pair(rng, _CITY, name, city, _other(rng, others, 3, city))
        yield from _pair(rng, _TITLE, name, title, _other(rng, others[1:], 2, title))
        yield from _pair(rng, _MANAGER, name, manager, _other(rng, others, 0, manager))
        if rng.random() < 0.5:
            yield from _pair(rng, _EMAIL, name, email, email.replace("helion", "mail").replace(".", "_", 1))


def _other(rng: random.Random, rows: list[list[str]], column: int, right: str) -> str:
    return rng.choice(sorted({row[column] for row in rows} - {right, ""}))


def _about_products(rng: random.Random) -> Iterator[LabelledSentence]:
    for name, price, weight, launch, _ in _table_rows(PRODUCTS):
        yield from _pair(rng, _PRICE, name, price, str(int(price) + 1100))
        yield from _pair(rng, _WEIGHT, name, weight, str(float(weight) + 3))
        yield from _pair(rng, _LAUNCH, name, launch, str(int(launch) - 3))


def _about_projects(rng: random.Random) -> Iterator[LabelledSentence]:
    for name, manager, _, _, budget, _ in _table_rows(PROJECTS):
        yield from _pair(rng, _BUDGET, name, f"{int(budget):,}", f"{int(budget) * 2:,}")
        yield from _pair(rng, _LEAD, name, manager, _other(rng, _table_rows(PEOPLE), 0, manager))


def _about_events(rng: random.Random) -> Iterator[LabelledSentence]:
    for name, predicate, value in _table_rows(EVENTS):
        if value in _WEEKDAYS:
            wrong = rng.choice([day for day in _WEEKDAYS if day != value])
            yield from _pair(rng, _WHEN, name, value, wrong)
        elif predicate == "held in":
            yield from _pair(rng, _WHERE, name, value, rng.choice([c for c in _CITIES if c != value]))
        elif predicate == "start at":
            yield from _pair(rng, _START, name, value, "10:00")


def _about_strangers(rng: random.Random) -> Iterator[LabelledSentence]:
    people = [row[0] for row in _table_rows(PEOPLE)]
    for stranger in _STRANGERS:
        for shape in _STRANGE:
            known = rng.choice(people[1:])
            wrong = shape.format(name=stranger, known=known, team=rng.choice(_TEAMS))
            also = HallucinationType.WRONG_ATTRIBUTE.value if "reports to" in shape else ""
            yield LabelledSentence(
                wrong, HallucinationType.NONEXISTENT_ENTITY.value, origin="template", also=also
            )
    for name, department, *_ in _table_rows(PEOPLE)[1:]:
        yield LabelledSentence(f"Please contact {name} in the {department} team.", origin="template")


if __name__ == "__main__":
    print(write(Path(__file__).with_name("detectors_set.jsonl")))
