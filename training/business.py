"""Made records of businesses (hours, attributes, ratings) and sentences about them, right and wrong.

Structured sources are where cheap methods fail: a sentence about a record holds several facts, each true,
false or not stated, and words of all of them occur in the record.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from typing import Any

from training.pairs import CONTRADICTED, ENTAILED, NEUTRAL, Pair
from training.tables import (
    AMBIENCE,
    CATEGORIES,
    CITIES,
    DAYS,
    FIRST,
    LAST,
    PARKING,
    REVIEWS,
    SECOND,
    SLOTS,
    STREETS,
)

from groundwire.verifiers.passages import passages
from groundwire.verifiers.select import Selector

Record = dict[str, Any]
Fact = tuple[str, int]


def _time(rng: random.Random, low: int, high: int) -> tuple[int, int]:
    return rng.randint(low, high), rng.choice([0, 0, 0, 30, 30, 15, 45])


def record(rng: random.Random) -> Record:
    city, state = rng.choice(list(CITIES.items()))
    base = (_time(rng, 6, 12), _time(rng, 14, 23))
    hours: dict[str, str] | None = {}
    for day in DAYS:
        if rng.random() < 0.12:
            continue
        (a, b), (c, d) = base if rng.random() < 0.7 else (_time(rng, 6, 12), _time(rng, 14, 23))
        hours[day] = f"{a}:{b}-{c}:{d}"  # type: ignore[index]
    maybe: Callable[[], bool | None] = lambda: rng.choice([True, True, False, None])  # noqa: E731
    ambience = {key: rng.random() < 0.25 for key in rng.sample(AMBIENCE, len(AMBIENCE))}
    return {
        "name": f"{rng.choice(FIRST)} {rng.choice(SECOND)} {rng.choice(LAST)}",
        "address": f"{rng.randint(1, 6500)} {rng.choice(STREETS)}",
        "city": city,
        "state": state,
        "categories": ", ".join(rng.sample(CATEGORIES, rng.randint(2, 6))),
        "hours": hours or None,
        "attributes": {
            "BusinessParking": {key: rng.random() < 0.3 for key in PARKING} if rng.random() < 0.85 else None,
            "RestaurantsReservations": maybe(),
            "OutdoorSeating": maybe(),
            "WiFi": rng.choice(["free", "no", "paid", None]),
            "RestaurantsTakeOut": maybe(),
            "RestaurantsGoodForGroups": maybe(),
            "Music": rng.choice([None, None, True, False]),
            "Ambience": ambience if rng.random() < 0.8 else None,
        },
        "business_stars": rng.choice([2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0]),
        "review_info": [_review(rng) for _ in range(3)],
    }


def _review(rng: random.Random) -> Record:
    lines = [shape.format(**{k: rng.choice(v) for k, v in SLOTS.items()}) for shape in rng.sample(REVIEWS, 3)]
    return {
        "review_stars": float(rng.randint(1, 5)),
        "review_date": f"20{rng.randint(10, 21)}-0{rng.randint(1, 9)}-1{rng.randint(0, 9)}",
        "review_text": " ".join(lines),
    }


BOOLEAN = {
    "RestaurantsReservations": (
        ["takes reservations", "accepts reservations"],
        ["does not take reservations", "does not accept reservations"],
    ),
    "OutdoorSeating": (
        ["offers outdoor seating", "has outdoor seating available"],
        ["has no outdoor seating", "does not offer outdoor seating"],
    ),
    "RestaurantsTakeOut": (["offers takeout", "provides take-out"], ["does not offer takeout"]),
    "RestaurantsGoodForGroups": (
        ["is good for groups", "is suitable for groups"],
        ["is not suitable for groups"],
    ),
    "Music": (["features music", "has music"], ["does not have music"]),
}


def attribute(data: Record, rng: random.Random) -> Fact:
    key = rng.choice([*BOOLEAN, "WiFi", "BusinessParking", "Ambience"])
    value = data["attributes"][key]
    if key in BOOLEAN:
        say = rng.random() < 0.75
        phrase = rng.choice(BOOLEAN[key][0 if say else 1])
        return phrase, NEUTRAL if value is None else ENTAILED if value is say else CONTRADICTED
    if key == "WiFi":
        phrase, truth = rng.choice(
            [("offers free WiFi", "free"), ("provides free Wi-Fi", "free"), ("does not offer WiFi", "no")]
        )
        return phrase, NEUTRAL if value is None else ENTAILED if value == truth else CONTRADICTED
    if value is None:
        return (
            ("provides parking", NEUTRAL)
            if key == "BusinessParking"
            else (f"has a {rng.choice(AMBIENCE)} atmosphere", NEUTRAL)
        )
    kind = rng.choice(list(value))
    if rng.random() < 0.4:
        kind = next((k for k, v in value.items() if v), kind)
    truth_target = ENTAILED if value[kind] else CONTRADICTED
    if key == "BusinessParking":
        return f"offers {kind} parking", truth_target
    return rng.choice([f"has a {kind} atmosphere", f"has a {kind} ambiance"]), truth_target


def _clock(text: str, rng: random.Random) -> str:
    hour, minute = (int(part) for part in text.split(":"))
    if rng.random() < 0.3:
        return f"{hour}:{minute:02d}"
    half = "AM" if hour < 12 else "PM"
    shown = hour if 1 <= hour <= 12 else abs(hour - 12) or 12
    tail = f":{minute:02d}" if minute or rng.random() < 0.4 else ""
    return f"{shown}{tail}{rng.choice([' ', ''])}{half if rng.random() < 0.5 else half.lower()}"


def hours(data: Record, rng: random.Random) -> Fact:
    """One day, a run of days, or the whole week; wrong when any day of the run differs."""
    table = data["hours"] or {}
    if not table:
        return "is open every day of the week", NEUTRAL
    day = rng.choice(list(table))
    opens, closes = table[day].split("-")
    if rng.random() < 0.4:
        opens = rng.choice([opens, f"{rng.randint(6, 12)}:{rng.choice([0, 30])}"])
        closes = f"{rng.randint(14, 23)}:{rng.choice([0, 30])}"
    span = _run(table, day, rng)
    good = all(table.get(d) == f"{opens}-{closes}" for d in span)
    when = f"from {_clock(opens, rng)} to {_clock(closes, rng)}"
    if len(span) == 7:
        text = rng.choice(
            [f"is open seven days a week {when}", f"operates every day {when}", f"is open daily {when}"]
        )
    elif len(span) == 1:
        text = rng.choice(
            [
                f"is open {when} on {span[0]}s",
                f"operates on {span[0]} {when}",
                f"opens at {_clock(opens, rng)} on {span[0]}",
            ]
        )
        good = table[day].split("-")[0] == opens if text.startswith("opens") else good
    else:
        text = rng.choice(
            [f"is open {span[0]} to {span[-1]} {when}", f"operates from {span[0]} through {span[-1]} {when}"]
        )
    closed = [d for d in DAYS if d not in table]
    if rng.random() < 0.12:
        day = rng.choice([*closed, rng.choice(DAYS)])
        return f"is closed on {day}s", ENTAILED if day in closed else CONTRADICTED
    return text, ENTAILED if good else CONTRADICTED


def _run(table: dict[str, str], day: str, rng: random.Random) -> list[str]:
    at = DAYS.index(day)
    roll = rng.random()
    if roll < 0.3:
        return [day]
    if roll < 0.45:
        return list(DAYS)
    low = high = at
    while low > 0 and table.get(DAYS[low - 1]) == table[day]:
        low -= 1
    while high < 6 and table.get(DAYS[high + 1]) == table[day]:
        high += 1
    if rng.random() < 0.35:
        high = min(6, high + rng.randint(1, 3))
    return DAYS[low : high + 1]


def rating(data: Record, rng: random.Random) -> Fact:
    right = rng.random() < 0.5
    stars = data["business_stars"] if right else rng.choice([2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0])
    text = rng.choice(
        [
            "has a rating of {s} stars",
            "has a {s}-star rating",
            "is rated {s} out of 5",
            "has an overall rating of {s} stars",
        ]
    )
    extra = rng.choice(["", "", "", " based on over 100 reviews", " on Google"])
    target = CONTRADICTED if stars != data["business_stars"] else NEUTRAL if extra else ENTAILED
    return text.format(s=stars) + extra, target


def place(data: Record, rng: random.Random) -> Fact:
    city, state = data["city"], data["state"]
    target = ENTAILED
    if rng.random() < 0.3:
        city, target = rng.choice(["Springfield", "Oakland", "Ventura", "Dallas"]), CONTRADICTED
    forms = [
        f"is located at {data['address']} in {city}, {state}",
        f"is located in {city}, {state}",
        f"is a business in {city}",
    ]
    if rng.random() < 0.2 and target == ENTAILED:
        return f"is nestled in the heart of {city}", NEUTRAL
    return rng.choice(forms), target


def category(data: Record, rng: random.Random) -> Fact:
    own = data["categories"].split(", ")
    if rng.random() < 0.5:
        return f"is known for {rng.choice(own).lower()}", ENTAILED
    other = rng.choice([c for c in CATEGORIES if c not in own])
    return f"is known for {other.lower()}", NEUTRAL


def review(data: Record, rng: random.Random) -> Fact:
    entry = rng.choice(data["review_info"])
    line = rng.choice(entry["review_text"].rstrip(".").split(". "))
    line = line[:1].lower() + line[1:] if not line.startswith("I ") else line
    lead = rng.choice(["has a reviewer who wrote that {l}", "was reviewed by a customer who said {l}"])
    if rng.random() < 0.5:
        return lead.format(l=line), ENTAILED
    shape = rng.choice(REVIEWS).rstrip(".")
    other = shape.format(**{k: rng.choice(v) for k, v in SLOTS.items()})
    return lead.format(l=other[:1].lower() + other[1:]), ENTAILED if other in entry[
        "review_text"
    ] else NEUTRAL


FACTS: tuple[tuple[Callable[[Record, random.Random], Fact], float], ...] = (
    (attribute, 6),
    (hours, 4),
    (rating, 1.5),
    (place, 1),
    (category, 1),
    (review, 1),
)


def sentence(data: Record, rng: random.Random) -> Pair | None:
    """One to three facts in one sentence; its label is the worst of them, the wrong ones are the spans."""
    count = rng.choice([1, 1, 2, 2, 3])
    makers = rng.choices([maker for maker, _ in FACTS], [weight for _, weight in FACTS], k=count)
    facts = [maker(data, rng) for maker in makers]
    if len({text for text, _ in facts}) < count:
        return None
    text = rng.choice(
        [data["name"], data["name"], "The restaurant", "The business", "It", "This establishment"]
    )
    spans, worst = [], ENTAILED
    for i, (fact, target) in enumerate(facts):
        joint = " " if i == 0 else " and " if i == count - 1 else ", "
        start = len(text) + len(joint)
        text += joint + fact
        if target != ENTAILED:
            spans.append((start, len(text)))
            worst = CONTRADICTED if CONTRADICTED in (worst, target) else NEUTRAL
    text += "."
    evidence = Selector(passages(json.dumps(data))).evidence(text, rng.choice([45, 70]))
    return Pair(evidence, text, worst, tuple(spans))


def business_pairs(rng: random.Random, count: int = 26000) -> Iterator[Pair]:
    made = 0
    while made < count:
        data = record(rng)
        for _ in range(4):
            pair = sentence(data, rng)
            if pair is not None:
                made += 1
                yield pair
