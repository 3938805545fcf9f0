"""Made pairs: which value belongs to which record, in prose, lists, tables and JSON; how many; who to whom.

python -m training.made [COUNT]   # writes the pool `grounded.made`

Public sets have few sources in which several things have the same attributes, where a claim that gives one
thing another's value shares all of its words with the source. Names and values are drawn at random (from
`made.toml`), so that only the source tells right from wrong; a right and a wrong claim of one form over one
source are twins.
"""

from __future__ import annotations

import json
import random
import sys
import tomllib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from training.grounded import TOKEN_LIMIT, rarity
from training.pairs import CONTRADICTION, ENTAILMENT, NEUTRAL, Pair, save
from training.pools_short import describe

from groundwire.text.document import Document

Draw = random.Random
WORDS: dict[str, Any] = tomllib.loads(Path(__file__).with_name("made.toml").read_text(encoding="utf-8"))
ATTRIBUTES: dict[str, dict[str, Any]] = WORDS["attributes"]
KINDS: dict[str, list[str]] = WORDS["kinds"]
LISTS: dict[str, list[str]] = WORDS["lists"]
MONTHS = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
]
COUNTS = ("", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
RELATIONS: dict[str, list[Any]] = WORDS["relations"]
LIST_SHARE, ROLE_SHARE = 0.15, 0.2
"""Shares of the sources that list things to be counted, and that say who did what to whom."""
COMMON = {"The", "There", "It", "You", "Adults", "Visitors", "Guests", "Children", "From", "Treatment"}


@dataclass(frozen=True, slots=True)
class Record:
    """A thing with, for each attribute, the spellings of its value; sources use the first."""

    name: str
    values: dict[str, list[str]]


def person(draw: Draw) -> list[str]:
    return [f"{draw.choice(WORDS['first_names'])} {draw.choice(WORDS['last_names'])}"]


def money(draw: Draw) -> list[str]:
    value = draw.randint(5, 9000)
    return draw.choice([[f"${value:,}", f"{value} dollars"], [f"€{value}", f"{value} euros", f"EUR {value}"]])


def day(draw: Draw) -> list[str]:
    date, month = draw.randint(1, 28), draw.choice(MONTHS)
    return draw.sample([f"{date} {month}", f"{month} {date}"], 2)


DRAWN: dict[str, Callable[[Draw], list[str]]] = {
    "person": person,
    "money": money,
    "day": day,
    "year": lambda draw: [str(draw.randint(1820, 2024))],
    "clock": lambda draw: [f"{draw.randint(0, 23):02}:{draw.choice((0, 5, 15, 30, 45, 50)):02}"],
    "gate": lambda draw: [f"{draw.choice('ABCDEF')}{draw.randint(1, 60)}"],
}


def value_of(key: str, draw: Draw) -> list[str]:
    """A value of an attribute in its spellings."""
    spec = ATTRIBUTES[key]
    if "drawn" in spec:
        return DRAWN[spec["drawn"]](draw)
    if "words" in spec:
        return [draw.choice(spec["words"])]
    decimals = spec.get("decimals", 0)
    value = round(draw.uniform(*spec["number"]), decimals) if decimals else draw.randint(*spec["number"])
    units = spec.get("units")
    if units:
        return [f"{value:,} {unit}" for unit in draw.sample(units, len(units))]
    return draw.sample([f"{value:,}", str(value)], 2)


def name(draw: Draw, kind: str) -> str:
    root = "".join(draw.sample(WORDS["syllables"], 2)).capitalize() + draw.choice(WORDS["endings"])
    if kind in ("flight", "order"):
        return f"{kind.capitalize()} {root[:2].upper()}{draw.randint(100, 9999)}"
    if kind in ("town", "medicine"):
        return root
    return " ".join(draw.sample([kind.capitalize(), root], 2))


def sentence(key: str, record: Record, draw: Draw, spelling: int = 0, wording: int | None = None) -> str:
    value = record.values[key]
    says = ATTRIBUTES[key].get("says") or ATTRIBUTES[key][value[0]]
    chosen = draw.choice(says) if wording is None else says[wording % len(says)]
    return str(chosen.format(e=record.name, v=value[spelling % len(value)]))


def keys_of(records: Sequence[Record]) -> list[str]:
    return list(dict.fromkeys(key for record in records for key in record.values))


def prose(records: Sequence[Record], draw: Draw) -> str:
    by_record = [(record, key) for record in records for key in record.values]
    by_key = [(record, key) for key in keys_of(records) for record in records if key in record.values]
    return " ".join(sentence(key, record, draw) for record, key in draw.choice((by_record, by_key)))


def labelled(record: Record) -> list[tuple[str, str]]:
    return [(ATTRIBUTES[key]["label"], value[0]) for key, value in record.values.items()]


def bullets(records: Sequence[Record], draw: Draw) -> str:
    mark = draw.choice(("- ", "* ", ""))
    lines = [f"{mark}{r.name}: " + ", ".join(f"{a} {v}" for a, v in labelled(r)) for r in records]
    blocks = [f"## {r.name}\n" + "\n".join(f"- {a.capitalize()}: {v}" for a, v in labelled(r)) for r in records]
    return draw.choice(("\n".join(lines), "\n\n".join(blocks)))


def table(records: Sequence[Record], _: Draw) -> str:
    keys = keys_of(records)
    rows = [["name", *(ATTRIBUTES[key]["label"] for key in keys)], ["---"] * (len(keys) + 1)]
    rows += [[r.name, *(r.values.get(key, [""])[0] for key in keys)] for r in records]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def as_json(records: Sequence[Record], draw: Draw) -> str:
    rows = [{"name": r.name} | {a.replace(" ", "_"): v for a, v in labelled(r)} for r in records]
    return json.dumps(rows, indent=draw.choice((None, 1, 2)), ensure_ascii=False)


FORMS = (prose, prose, bullets, table, as_json)


def records_of(kind: str, draw: Draw) -> list[Record]:
    keys = draw.sample(KINDS[kind], draw.randint(1, 4))
    found = []
    for _ in range(draw.randint(2, 10)):
        # Now and then a record lacks an attribute: claims about it are neutral.
        own = [key for key in keys if draw.random() < 0.9] or keys[:1]
        found.append(Record(name(draw, kind), {key: value_of(key, draw) for key in own}))
    return found


def wrong_value(key: str, record: Record, records: Sequence[Record], draw: Draw) -> list[str]:
    """Another record's value three times out of four, else one that stands nowhere."""
    right = record.values[key][0]
    others = [r.values[key] for r in records if key in r.values and r.values[key][0] != right]
    if others and draw.random() < 0.75:
        return draw.choice(others)
    fresh = [value for value in (value_of(key, draw) for _ in range(8)) if value[0] != right]
    return fresh[0] if fresh else []


def opened(text: str, opener: str) -> str:
    lower = opener and text.split(maxsplit=1)[0] in COMMON
    return opener + (text[0].lower() + text[1:] if lower else text)


def window(document: Document, claim: str, draw: Draw, needed: Sequence[str] = ()) -> str | None:
    """One of the windows that the package would read and that hold `needed`: the first one mostly."""
    windows = [w.text for w in document.windows(claim, rarity) if all(part in w.text for part in needed)]
    if not windows:
        return None
    return windows[0] if draw.random() < 0.6 else draw.choice(windows)


def twin_pairs(
    source: str, right: str, wrong: str, spans: tuple[tuple[int, int], ...] | None,
    needed: Sequence[str], number: int, draw: Draw,
) -> Iterator[Pair]:  # fmt: skip
    document = Document(source, rendered=False)
    shown = window(document, right, draw, needed), window(document, wrong, draw, needed)
    if shown[0] is not None:
        yield Pair(shown[0], right, ENTAILMENT, (), group=source[:80], twins=number)
    if shown[1] is not None and wrong:
        yield Pair(shown[1], wrong, CONTRADICTION, spans, group=source[:80], twins=number)


def record_pairs(number: int, draw: Draw) -> Iterator[Pair]:
    kind = draw.choice(list(KINDS))
    records = records_of(kind, draw)
    source = draw.choice(FORMS)(records, draw)
    record = draw.choice(records)
    key = draw.choice(list(record.values))
    spelling, wording, opener = draw.randint(0, 2), draw.randint(0, 5), draw.choice(WORDS["openers"])
    right = opened(sentence(key, record, draw, spelling, wording), opener)
    value = wrong_value(key, record, records, draw)
    wrong, spans = "", None
    if value:
        wrong = opened(sentence(key, Record(record.name, {key: value}), draw, spelling, wording), opener)
        at = wrong.find(value[spelling % len(value)])
        spans = ((at, at + len(value[spelling % len(value)])),) if at >= 0 else None
    needed = (record.name, "pool" if key == "pool" else record.values[key][0])
    yield from twin_pairs(source, right, wrong, spans, needed, number, draw)
    if draw.random() < 0.35:
        yield from silent(kind, records, source, draw)


def silent(kind: str, records: Sequence[Record], source: str, draw: Draw) -> Iterator[Pair]:
    """A claim about a thing or an attribute that the source does not have."""
    lacking = [(r.name, key) for r in records for key in KINDS[kind] if key not in r.values]
    about, key = draw.choice(lacking) if lacking and draw.random() < 0.7 else ("", "")
    if not about:
        about, key = name(draw, kind), draw.choice(keys_of(records))
    values = [r.values[key] for r in records if key in r.values]
    value = draw.choice(values) if values and draw.random() < 0.6 else value_of(key, draw)
    text = sentence(key, Record(about, {key: value}), draw, draw.randint(0, 2))
    shown = window(Document(source, rendered=False), text, draw)
    if shown is not None:
        yield Pair(shown, text, NEUTRAL, None, group=source[:80])


def list_pairs(number: int, draw: Draw) -> Iterator[Pair]:
    """How many things a source lists."""
    about, noun, count = name(draw, draw.choice(("team", "town", "project"))), draw.choice(LISTS["nouns"]), 0
    items = draw.sample(WORDS["first_names"] + WORDS["last_names"], draw.randint(3, 9))
    count = len(items)
    listed, lines = f"{', '.join(items[:-1])} and {items[-1]}", "\n".join(f"- {item}" for item in items)
    source = draw.choice(LISTS["sources"]).format(e=about, n=noun, l=listed, b=lines)
    says, other = draw.choice(LISTS["says"]), draw.choice([c for c in range(2, 11) if c != count])
    spelled = COUNTS if draw.random() < 0.5 else [str(c) for c in range(11)]
    right, wrong = (says.format(e=about, n=noun, k=spelled[c]) for c in (count, other))
    at = wrong.find(spelled[other])
    yield from twin_pairs(source, right, wrong, ((at, at + len(spelled[other])),), items, number, draw)


def role_pairs(number: int, draw: Draw) -> Iterator[Pair]:
    """Who did what to whom: the wrong claim has the roles the other way round."""
    kind = draw.choice(("person", "team", "town", "project"))
    one, two = (person(draw)[0] if kind == "person" else name(draw, kind) for _ in range(2))
    forms, more = draw.choice(RELATIONS["pairs"]), draw.choice(RELATIONS["additions"])
    told = draw.choice(forms).format(a=one, b=two) + more
    said = draw.choice(forms)
    kept = more if draw.random() < 0.5 else ""
    right, wrong = (f"{said.format(a=a, b=b)}{kept}." for a, b in ((one, two), (two, one)))
    sentences = [f"{told}.", *draw.sample(RELATIONS["fillers"], draw.randint(0, 3))]
    draw.shuffle(sentences)
    yield from twin_pairs(" ".join(sentences), right, wrong, None, (one, two), number, draw)


def pairs(count: int, seed: int = 5) -> Iterator[Pair]:
    draw = random.Random(seed)
    for number in range(count):
        share = (LIST_SHARE, ROLE_SHARE, 1 - LIST_SHARE - ROLE_SHARE)
        (made,) = draw.choices((list_pairs, role_pairs, record_pairs), share)
        yield from made(number, draw)


if __name__ == "__main__":
    made = list(pairs(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000))
    save("grounded.made", made, TOKEN_LIMIT)
    print(describe("made", made))
