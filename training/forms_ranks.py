"""What is said of a whole column: who is first, how many, all, the sum; and the table of all claims."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from training.forms_said import (
    Said,
    Table,
    beats_both,
    both,
    claim,
    compare,
    gap,
    lookup,
    things,
    told,
    trend,
)
from training.forms_shapes import ADJECTIVES, AHEAD, BEHIND, HIGHEST, LOWEST, SHAPES, THINGS, TIMED
from training.tables import ORDINALS, SMALL

TIMES: tuple[tuple[str, Callable[[float], bool]], ...] = (
    ("more than twice", lambda ratio: ratio > 2),
    ("less than half", lambda ratio: ratio < 0.5),
    ("over three times", lambda ratio: ratio > 3),
    ("less than twice", lambda ratio: ratio < 2),
)
Maker = Callable[[Table, random.Random, bool], Said | None]


def extreme(table: Table, rng: random.Random, right: bool) -> Said | None:
    """Highest, lowest, best, worst; wrong in the row or in the direction."""
    c = rng.randrange(len(table.columns))
    column, values = table.columns[c], table.column(c)
    top = rng.random() < 0.5
    end = max(values) if top else min(values)
    if values.count(end) > 1:
        return None
    r = values.index(end)
    if not right:
        r = rng.choice([n for n in range(len(values)) if n != r])
    words: Sequence[str] = HIGHEST if top else LOWEST
    if column.better and rng.random() < 0.4:
        words = ("best",) if top is (column.better > 0) else ("worst",)
    shapes: Sequence[str] = TIMED["extreme"] if table.theme.ordered else SHAPES["extreme"]
    noun = column.noun
    if noun in ADJECTIVES and rng.random() < 0.6:
        shapes, words = SHAPES["most"], ADJECTIVES[noun][2 if top else 3 :][:1]
    elif things(column) and not table.theme.ordered and rng.random() < 0.7:
        shapes, words, noun = THINGS["extreme"], ("most",) if top else ("fewest",), things(column)
    elif column.better and rng.random() < 0.3:
        shapes, words = SHAPES["beats_all"], AHEAD if top is (column.better > 0) else BEHIND
    turned = values[r] == (min(values) if top else max(values))
    parts = {"r": table.names[r], "c": noun, "k": _plural(table), "m": rng.choice(words)}
    wrong = [] if right else ["m"] if turned else ["r"]
    return claim(shapes, parts, wrong, [(n, c) for n in range(len(values))], rng)


def times(table: Table, rng: random.Random, right: bool) -> Said | None:
    """More than twice, less than half; only of a column where both right and wrong can be said."""
    c = rng.randrange(len(table.columns))
    word, test = rng.choice(TIMES)
    pairs = [
        (r, s)
        for r, a in enumerate(table.column(c))
        for s, b in enumerate(table.column(c))
        if r != s and a and b
    ]
    sides = [
        [(r, s) for r, s in pairs if test(table.rows[r][c] / table.rows[s][c]) is side]
        for side in (False, True)
    ]
    if not all(sides) or table.theme.ordered:
        return None
    r, s = rng.choice(sides[right])
    parts = {"r": table.names[r], "s": table.names[s], "c": table.columns[c].noun, "m": word}
    return claim(SHAPES["times"], parts, [] if right else ["m"], [(r, c), (s, c)], rng)


def counted(table: Table, rng: random.Random, right: bool) -> Said | None:
    c = rng.randrange(len(table.columns))
    column, values = table.columns[c], table.column(c)
    limit = round(rng.uniform(min(values), max(values)), max(0, column.places - 1))
    if limit in values:
        return None
    over = rng.random() < 0.5
    truth = sum((value > limit) is over for value in values)
    said = truth if right else rng.choice([n for n in range(1, len(values)) if n != truth] or [truth])
    if not truth or (said == truth) is not right:
        return None
    parts = {
        "n": SMALL[said],
        "t": SMALL[len(values)],
        "c": column.noun,
        "v": told(limit, column, rng),
        "k": _plural(table),
        "m": rng.choice(("above", "over", "higher than") if over else ("below", "under", "lower than")),
    }
    return claim(SHAPES["counted"], parts, [] if right else ["n"], [(n, c) for n in range(len(values))], rng)


def every(table: Table, rng: random.Random, right: bool) -> Said | None:
    """All or none of them: one exception is enough to make it wrong."""
    c = rng.randrange(len(table.columns))
    column, values = table.columns[c], sorted(table.column(c))
    low = rng.random() < 0.5
    inside = values[1] - values[0] if low else values[-1] - values[-2]
    edge = values[0] if low else values[-1]
    step = max(inside * rng.uniform(0.3, 0.9), 10.0**-column.places) * (1 if low else -1)
    limit = round(edge - step if right else edge + step, column.places)
    truth = all(value > limit for value in values) if low else all(value < limit for value in values)
    if truth is not right or limit in values or limit <= 0:
        return None
    none = rng.random() < 0.3
    above = low is not none
    parts = {
        "q": rng.choice(("none of the",) if none else ("all", "all of the", "all the")),
        "k": _plural(table),
        "c": column.noun,
        "v": told(limit, column, rng),
        "m": rng.choice(("above", "over") if above else ("below", "under")),
    }
    return claim(SHAPES["every"], parts, [] if right else ["q"], [(n, c) for n in range(len(values))], rng)


def ranked(table: Table, rng: random.Random, right: bool) -> Said | None:
    c = rng.randrange(len(table.columns))
    values = table.column(c)
    if len(set(values)) < len(values):
        return None
    high = rng.random() < 0.6
    order = sorted(range(len(values)), key=lambda n: -values[n] if high else values[n])
    place = rng.randrange(1, min(4, len(values)))
    r = order[place] if right else rng.choice([n for n in order if n != order[place]])
    parts = {"r": table.names[r], "o": ORDINALS[place], "c": table.columns[c].noun}
    parts["m"] = rng.choice(HIGHEST if high else LOWEST)
    wrong = [] if right else [rng.choice(["r", "o"])]
    return claim(SHAPES["ranked"], parts, wrong, [(n, c) for n in range(len(values))], rng)


def summed(table: Table, rng: random.Random, right: bool) -> Said | None:
    """A total or a mean of a short column of whole numbers."""
    c = rng.randrange(len(table.columns))
    column, values = table.columns[c], table.column(c)
    if len(values) > 4 or column.places:
        return None
    mean = rng.random() < 0.5
    total = sum(values)
    said = total if right else total + rng.choice([-1, 1]) * round(total * rng.uniform(0.08, 0.4))
    shown = round(said / len(values), 1) if mean else said
    parts = {
        "c": column.noun,
        "v": f"{shown:,.0f}" if not mean else f"{shown:.1f}",
        "k": _plural(table),
        "t": SMALL[len(values)],
    }
    shapes = SHAPES["mean"] if mean else SHAPES["total"]
    return claim(shapes, parts, [] if right else ["v"], [(n, c) for n in range(len(values))], rng)


def _plural(table: Table) -> str:
    label = table.theme.label.lower()
    return {"city": "cities", "dish": "dishes", "name": "people"}.get(label, label + "s")


CLAIMS: dict[str, tuple[Maker, float]] = {
    "lookup": (lookup, 3),
    "both": (both, 1.5),
    "compare": (compare, 4),
    "extreme": (extreme, 3),
    "gap": (gap, 2),
    "beats_both": (beats_both, 4),
    "times": (times, 1.5),
    "trend": (trend, 6),
    "counted": (counted, 1.5),
    "every": (every, 1.5),
    "ranked": (ranked, 1.5),
    "summed": (summed, 1),
}
