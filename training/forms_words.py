"""What fills the slots of made sources and claims: values of many kinds, each sayable in several ways."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from training.forms_fillers import LISTS
from training.forms_stance import FORMS
from training.tables import DAYS, MONTHS, SMALL

Value = str | int | tuple[int | str, ...]
Draw = Callable[[random.Random], Value]

# Units of one kind measure the same: the wrong unit is a mistake a reader could make.
UNITS: dict[str, tuple[tuple[str, str, int, int], ...]] = {
    "mass": (
        ("kg", "kilograms", 2, 90),
        ("lb", "pounds", 2, 90),
        ("g", "grams", 20, 900),
        ("oz", "ounces", 3, 90),
    ),
    "length": (("cm", "centimetres", 20, 250), ("in", "inches", 8, 90), ("mm", "millimetres", 60, 900)),
    "volume": (("l", "litres", 2, 90), ("gal", "gallons", 2, 60), ("ml", "millilitres", 50, 900)),
    "power": (("W", "watts", 20, 900), ("kW", "kilowatts", 2, 90)),
    "distance": (("km", "kilometres", 2, 90), ("mi", "miles", 2, 90), ("m", "metres", 50, 900)),
}
SPANS = (
    ("minutes", 5, 90),
    ("hours", 2, 48),
    ("days", 2, 90),
    ("weeks", 2, 12),
    ("months", 2, 36),
    ("years", 2, 15),
)


def parts(value: Value) -> tuple[int | str, ...]:
    return value if isinstance(value, tuple) else (value,)


def _time(rng: random.Random) -> Value:
    return rng.randint(7, 22) * 60 + rng.choice([0, 0, 0, 0, 30, 30, 15, 45])


def _money(rng: random.Random) -> Value:
    sign = rng.choice("$$$£€")
    whole = rng.choice(
        [rng.randint(2, 30), rng.randint(10, 99), 10 * rng.randint(10, 99), 50 * rng.randint(20, 400)]
    )
    cents = rng.choice([0, 0, 0, 50, 95, 20]) if whole < 100 else 0
    return whole * 100 + cents, sign


def _small_money(rng: random.Random) -> Value:
    return rng.randint(2, 38) * 100 + rng.choice([0, 50, 50, 95, 20, 75]), "$"


def _measure(kind: str) -> Draw:
    def drawn(rng: random.Random) -> Value:
        short, name, low, high = rng.choice(UNITS[kind])
        return rng.randint(low, high), short, name

    return drawn


def _period(rng: random.Random) -> Value:
    unit, low, high = rng.choice(SPANS)
    return rng.randint(low, high), unit


def _dish_amount(rng: random.Random) -> Value:
    unit = rng.choice(["g", "g", "ml", "tablespoons", "teaspoons", "cups"])
    return (25 * rng.randint(2, 32) if unit in ("g", "ml") else rng.randint(2, 8)), unit


DRAWN: dict[str, Draw] = {
    "time": _time,
    "day": lambda rng: rng.choice(DAYS),
    "month": lambda rng: rng.choice(MONTHS),
    "date": lambda rng: (rng.randint(1, 28), rng.randint(1, 12)),
    "year": lambda rng: rng.randint(1985, 2027),
    "money": _money,
    "small": _small_money,
    "count": lambda rng: rng.choice([rng.randint(2, 12), rng.randint(2, 60)]),
    "big": lambda rng: rng.choice(
        [rng.randint(100, 999), 10 * rng.randint(100, 9999), 1000 * rng.randint(10, 900)]
    ),
    "pct": lambda rng: rng.choice([5 * rng.randint(1, 19), rng.randint(2, 98)]),
    **{kind: _measure(kind) for kind in UNITS},
    "span": lambda rng: rng.choice([(rng.randint(5, 90), "minutes"), (rng.randint(2, 12), "hours")]),
    "period": _period,
    "amount": _dish_amount,
    "days": lambda rng: rng.choice([7, 10, 14, 15, 20, 21, 28, 30, 45, 60, 90, 3, 5]),
    "age": lambda rng: rng.choice([3, 5, 6, 8, 10, 12, 14, 16, 18, 21, 60, 65]),
    "version": lambda rng: (rng.randint(1, 9), rng.randint(0, 12)),
}


def draw(kind: str, rng: random.Random) -> Value:
    if kind in DRAWN:
        return DRAWN[kind](rng)
    return rng.choice(LISTS[kind]) if kind in LISTS else rng.choice(list(FORMS[kind]))


def say(kind: str, value: Value, rng: random.Random, form: str) -> str:
    """`form` is `source`, `claim` or a named form such as `past`."""
    if kind in SAID:
        return SAID[kind](value, rng)
    if kind in FORMS:
        return rng.choice(FORMS[kind][str(value)]["claim" if form == "claim" else form])
    text = str(value)
    if "/" in text and kind in ("deed", "event"):
        base, _, past = text.partition("/")
        return past if form == "past" else base
    return text


def mistaken_unit(kind: str, value: Value, rng: random.Random) -> Value:
    """The same number with another unit of its kind."""
    number, short, _ = parts(value)
    other = rng.choice([unit for unit in UNITS[kind] if unit[0] != short])
    return number, other[0], other[1]


def clock(value: Value, rng: random.Random) -> str:
    """Half of the day is always told where it is not plain."""
    hour, minute = divmod(int(str(value)), 60)
    half = "am" if hour < 12 else "pm"
    shown = hour if hour <= 12 else hour - 12
    tail = f":{minute:02d}" if minute else ""
    forms = [
        f"{hour}:{minute:02d}",
        f"{shown}{tail} {half}",
        f"{shown}{tail}{half}",
        f"{shown}:{minute:02d} {half}",
    ]
    if hour == 12 and not minute:
        forms.append("noon")
    if hour < 12:
        forms.extend([SMALL[hour]] if not minute else [f"half past {SMALL[hour]}"] if minute == 30 else [])
    elif not minute and shown <= 12 and hour > 17:
        forms.append(f"{SMALL[shown]} in the evening")
    return rng.choice(forms)


def date(value: Value, rng: random.Random) -> str:
    number, month = parts(value)
    name = MONTHS[int(month) - 1]
    ending = {1: "st", 2: "nd", 3: "rd", 21: "st", 22: "nd", 23: "rd"}.get(int(number), "th")
    return rng.choice(
        [
            f"{number} {name}",
            f"{name} {number}",
            f"{name} {number}{ending}",
            f"the {number}{ending} of {name}",
        ]
    )


def money(value: Value, rng: random.Random) -> str:
    cents, sign = int(parts(value)[0]), str(parts(value)[1])
    whole, rest = divmod(cents, 100)
    shown = f"{whole:,}" if whole >= 1000 and rng.random() < 0.7 else str(whole)
    shown += f".{rest:02d}" if rest or rng.random() < 0.12 else ""
    word = {"$": "dollars", "£": "pounds", "€": "euros"}[sign]
    return rng.choice([sign + shown, sign + shown, f"{shown} {word}"])


def count(value: Value, rng: random.Random) -> str:
    number = int(str(value))
    return SMALL[number] if number <= 12 and rng.random() < 0.5 else str(number)


def big(value: Value, rng: random.Random) -> str:
    number = int(str(value))
    if number >= 10000 and number % 1000 == 0 and rng.random() < 0.3:
        return f"{number // 1000} thousand"
    return f"{number:,}" if rng.random() < 0.6 else str(number)


def amount(value: Value, rng: random.Random) -> str:
    number, unit = parts(value)
    return f"{count(number, rng) if int(number) <= 12 else number} {unit}"


def _of(value: Value, rng: random.Random) -> str:
    number, short, name = parts(value)
    return f"{number} {rng.choice([short, name])}"


SAID: dict[str, Callable[[Value, random.Random], str]] = {
    "time": clock,
    "date": date,
    "money": money,
    "small": money,
    "count": count,
    "days": count,
    "age": lambda value, _: str(value),
    "year": lambda value, _: str(value),
    "big": big,
    "pct": lambda value, rng: f"{value}{rng.choice(['%', '%', ' percent', ' per cent'])}",
    **dict.fromkeys(UNITS, _of),
    "span": amount,
    "period": amount,
    "amount": amount,
    "version": lambda value, _: ".".join(map(str, parts(value))),
}
IMPLIED = {
    ("sure", "maybe"),
    ("always", "often"),
    ("never", "seldom"),
    ("all", "most"),
    ("none", "few"),
    ("at any time", "for everyone, without exception"),
    ("for everyone, without exception", "at any time"),
}
"""Who says the first does not deny the second."""


def same_currency(new: Value, old: Value) -> Value:
    """The new amount in the old one's currency; a cent more where that made them the same."""
    cents, sign = int(parts(new)[0]), parts(old)[1]
    return (cents + 100 if (cents, sign) == old else cents), sign


def another(kind: str, value: Value, near: Sequence[Value], rng: random.Random) -> Value:
    """A different value: from the same document when there is one, or drawn as the right one was."""
    others = [other for other in near if other != value and (value, other) not in IMPLIED]
    if others and rng.random() < 0.6:
        return rng.choice(others)
    if kind in UNITS and rng.random() < 0.4:
        return mistaken_unit(kind, value, rng)
    new = draw(kind, rng)
    while new == value or (value, new) in IMPLIED:
        new = draw(kind, rng)
    return same_currency(new, value) if kind in ("money", "small") and rng.random() < 0.8 else new
