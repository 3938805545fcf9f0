"""Make the labelled set of `make bench-detectors` from hand-written sentences and templates.

`python -m benchmarks.detectors_set` writes it to `benchmarks/detectors_set.jsonl`. Every sentence
falls into one of two halves by its own text: failures are looked at in the open half only.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import asdict
from importlib.resources import files
from pathlib import Path

from benchmarks.detectors import EVENTS, PEOPLE, PRODUCTS, PROJECTS, LabelledSentence, read_item, table_rows
from groundwire.types import HallucinationType

SEED = 7
HAND_WRITTEN = Path(__file__).with_name("detectors_hand.jsonl")


def made() -> list[LabelledSentence]:
    """The set as the generator makes it now."""
    text = HAND_WRITTEN.read_text(encoding="utf-8")
    written = [read_item(json.loads(line), "hand") for line in text.splitlines()]
    return [*written, *_templated(random.Random(SEED))]


def write(path: Path) -> int:
    rows = [{**asdict(item), "half": "held" if item.held else "open"} for item in made()]
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return len(rows)


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


def _pair(rng: random.Random, shapes: tuple[str, ...], name: str, right: str, wrong: str) -> Iterator[LabelledSentence]:
    """One true and one false sentence in different words."""
    first, second = rng.sample(shapes, 2)
    yield _item(first, name, right, "")
    yield _item(second, name, wrong, HallucinationType.WRONG_ATTRIBUTE.value)


def _item(shape: str, name: str, value: str, label: str) -> LabelledSentence:
    article = "an" if value[:1] in "aeiou" else "a"
    text = shape.format(name=name, value=value, article=article)
    return LabelledSentence(text[0].upper() + text[1:], label, origin="template")


def _about_people(rng: random.Random) -> Iterator[LabelledSentence]:
    people = table_rows(PEOPLE)
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
    for name, price, weight, launch, _ in table_rows(PRODUCTS):
        yield from _pair(rng, _PRICE, name, price, str(int(price) + 1100))
        yield from _pair(rng, _WEIGHT, name, weight, str(float(weight) + 3))
        yield from _pair(rng, _LAUNCH, name, launch, str(int(launch) - 3))


def _about_projects(rng: random.Random) -> Iterator[LabelledSentence]:
    for name, manager, _, _, budget, _ in table_rows(PROJECTS):
        yield from _pair(rng, _BUDGET, name, f"{int(budget):,}", f"{int(budget) * 2:,}")
        yield from _pair(rng, _LEAD, name, manager, _other(rng, table_rows(PEOPLE), 0, manager))


def _about_events(rng: random.Random) -> Iterator[LabelledSentence]:
    for name, predicate, value in table_rows(EVENTS):
        if value in _WEEKDAYS:
            wrong = rng.choice([day for day in _WEEKDAYS if day != value])
            yield from _pair(rng, _WHEN, name, value, wrong)
        elif predicate == "held in":
            yield from _pair(rng, _WHERE, name, value, rng.choice([c for c in _CITIES if c != value]))
        elif predicate == "start at":
            yield from _pair(rng, _START, name, value, "10:00")


def _about_strangers(rng: random.Random) -> Iterator[LabelledSentence]:
    people = [row[0] for row in table_rows(PEOPLE)]
    for stranger in _STRANGERS:
        for shape in _STRANGE:
            known = rng.choice(people[1:])
            wrong = shape.format(name=stranger, known=known, team=rng.choice(_TEAMS))
            also = HallucinationType.WRONG_ATTRIBUTE.value if "reports to" in shape else ""
            yield LabelledSentence(wrong, HallucinationType.NONEXISTENT_ENTITY.value, origin="template", also=also)
    for name, department, *_ in table_rows(PEOPLE)[1:]:
        yield LabelledSentence(f"Please contact {name} in the {department} team.", origin="template")


if __name__ == "__main__":
    print(write(Path(str(files("benchmarks") / "detectors_set.jsonl"))))
