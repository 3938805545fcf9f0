"""Labelled sentences for the detectors: written by hand, and made from the knowledge base by templates.

`python -m groundwire.bench.detectors_items` writes the whole set to `detectors_set.jsonl`. Every sentence
falls into one of two halves by its own text: failures are looked at in the open half only.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib.resources import files
from pathlib import Path
from zlib import crc32

from groundwire.bench.detectors_world import EVENTS, PEOPLE, PRODUCTS, PROJECTS
from groundwire.types import HallucinationType, Turn

SEED = 7
_ACCEPT = {
    HallucinationType.WRONG_ATTRIBUTE: HallucinationType.CONTRADICTS_FACT,
    HallucinationType.CONTRADICTS_FACT: HallucinationType.WRONG_ATTRIBUTE,
    HallucinationType.FABRICATED_FACT: HallucinationType.NONEXISTENT_ENTITY,
    HallucinationType.NONEXISTENT_ENTITY: HallucinationType.FABRICATED_FACT,
}
"""What is held as an attribute may as well be a fact; who is not there has no facts either."""


@dataclass(frozen=True, slots=True)
class Item:
    """A sentence, what is wrong with it ('' for nothing), and what it was said after and drawn from."""

    text: str
    label: str = ""
    history: tuple[Turn, ...] = ()
    source: str = ""
    origin: str = "hand"
    also: str = ""
    """Another kind it is wrong in: who reports to a stranger does not report to his manager."""

    @property
    def held(self) -> bool:
        return crc32(self.text.encode()) % 2 == 1

    @property
    def accepted(self) -> frozenset[str]:
        if not self.label:
            return frozenset()
        kind = HallucinationType(self.label)
        return frozenset({kind.value, _ACCEPT.get(kind, kind).value, self.also} - {""})


def items() -> list[Item]:
    """The set as it is kept."""
    text = (files("groundwire.bench") / "detectors_set.jsonl").read_text(encoding="utf-8")
    return [_read(json.loads(line), "") for line in text.splitlines()]


def made() -> list[Item]:
    """The set as the generator makes it."""
    text = (files("groundwire.bench") / "detectors_hand.jsonl").read_text(encoding="utf-8")
    written = [_read(json.loads(line), "hand") for line in text.splitlines()]
    return [*written, *_templated(random.Random(SEED))]


def _read(row: dict[str, object], origin: str) -> Item:
    turns = row.get("history") or ()
    assert isinstance(turns, list | tuple)
    history = tuple(Turn(i, str(turn["role"]), str(turn["text"])) for i, turn in enumerate(turns, start=1))
    source = str(row.get("source") or "")
    came, also = str(row.get("origin") or origin), str(row.get("also") or "")
    return Item(str(row["text"]), str(row["label"]), history, source, came, also)


def write(path: Path) -> int:
    rows = [{**asdict(item), "half": "held" if item.held else "open"} for item in made()]
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return len(rows)


def _rows(table: str) -> list[list[str]]:
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


def _templated(rng: random.Random) -> Iterator[Item]:
    yield from _about_people(rng)
    yield from _about_products(rng)
    yield from _about_projects(rng)
    yield from _about_events(rng)
    yield from _about_strangers(rng)


def _pair(rng: random.Random, shapes: tuple[str, ...], name: str, right: str, wrong: str) -> Iterator[Item]:
    """One true and one false sentence, in different words."""
    first, second = rng.sample(shapes, 2)
    yield _item(first, name, right, "")
    yield _item(second, name, wrong, HallucinationType.WRONG_ATTRIBUTE.value)


def _item(shape: str, name: str, value: str, label: str) -> Item:
    article = "an" if value[:1] in "aeiou" else "a"
    text = shape.format(name=name, value=value, article=article)
    return Item(text[0].upper() + text[1:], label, origin="template")


def _about_people(rng: random.Random) -> Iterator[Item]:
    people = _rows(PEOPLE)
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


def _about_products(rng: random.Random) -> Iterator[Item]:
    for name, price, weight, launch, _ in _rows(PRODUCTS):
        yield from _pair(rng, _PRICE, name, price, str(int(price) + 1100))
        yield from _pair(rng, _WEIGHT, name, weight, str(float(weight) + 3))
        yield from _pair(rng, _LAUNCH, name, launch, str(int(launch) - 3))


def _about_projects(rng: random.Random) -> Iterator[Item]:
    for name, manager, _, _, budget, _ in _rows(PROJECTS):
        yield from _pair(rng, _BUDGET, name, f"{int(budget):,}", f"{int(budget) * 2:,}")
        yield from _pair(rng, _LEAD, name, manager, _other(rng, _rows(PEOPLE), 0, manager))


def _about_events(rng: random.Random) -> Iterator[Item]:
    for name, predicate, value in _rows(EVENTS):
        if value in _WEEKDAYS:
            wrong = rng.choice([day for day in _WEEKDAYS if day != value])
            yield from _pair(rng, _WHEN, name, value, wrong)
        elif predicate == "held in":
            yield from _pair(rng, _WHERE, name, value, rng.choice([c for c in _CITIES if c != value]))
        elif predicate == "start at":
            yield from _pair(rng, _START, name, value, "10:00")


def _about_strangers(rng: random.Random) -> Iterator[Item]:
    people = [row[0] for row in _rows(PEOPLE)]
    for stranger in _STRANGERS:
        for shape in _STRANGE:
            known = rng.choice(people[1:])
            wrong = shape.format(name=stranger, known=known, team=rng.choice(_TEAMS))
            also = HallucinationType.WRONG_ATTRIBUTE.value if "reports to" in shape else ""
            yield Item(wrong, HallucinationType.NONEXISTENT_ENTITY.value, origin="template", also=also)
    for name, department, *_ in _rows(PEOPLE)[1:]:
        yield Item(f"Please contact {name} in the {department} team.", origin="template")


if __name__ == "__main__":
    print(write(Path(__file__).with_name("detectors_set.jsonl")))
