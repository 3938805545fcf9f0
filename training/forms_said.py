"""What can be said of a table: each function states something right or wrong of one drawn at random."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from training.forms_shapes import (
    ADJECTIVES,
    AHEAD,
    BEHIND,
    FELL,
    HIGHER,
    LOWER,
    ROSE,
    SCORED,
    SHAPES,
    THINGS,
    TIMED,
)
from training.forms_themes import Column, Theme

_SLOT = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True, slots=True)
class Table:
    theme: Theme
    caption: str
    names: tuple[str, ...]
    columns: tuple[Column, ...]
    rows: tuple[tuple[float, ...], ...]

    def cell(self, row: int, column: int) -> str:
        return figure(self.rows[row][column], self.columns[column])

    def column(self, at: int) -> list[float]:
        return [row[at] for row in self.rows]

    def less(self, row: int = -1, column: int = -1) -> Table:
        keep = [n for n in range(len(self.columns)) if n != column]
        rows = tuple(tuple(line[n] for n in keep) for r, line in enumerate(self.rows) if r != row)
        names = tuple(name for r, name in enumerate(self.names) if r != row)
        return replace(self, names=names, columns=tuple(self.columns[n] for n in keep), rows=rows)


@dataclass(frozen=True, slots=True)
class Said:
    """A claim, what is wrong in it (nothing when it is right) and the cells (row, column) that decide it."""

    text: str
    spans: tuple[tuple[int, int], ...]
    cells: tuple[tuple[int, int], ...]


Cells = Sequence[tuple[int, int]]


def figure(value: float, column: Column) -> str:
    return f"{value:.{column.places}f}"


def told(value: float, column: Column, rng: random.Random) -> str:
    """A value as a claim writes it: with its unit, or as a bare number."""
    text = figure(value, column)
    if column.places == 0 and value >= 1000 and rng.random() < 0.6:
        text = f"{value:,.0f}"
    return column.said.format(text) if rng.random() < 0.85 else text


def claim(
    shapes: Sequence[str], parts: Mapping[str, str], wrong: Sequence[str], cells: Cells, rng: random.Random
) -> Said:
    """One of the shapes filled in; `wrong` names the slots that are not as the table has them."""
    template = rng.choice([shape for shape in shapes if all(f"{{{slot}}}" in shape for slot in wrong)])
    if parts["c"].startswith(("a", "e", "u", "F1")):
        template = re.sub(r"\ba \{c\}", "an {c}", template)
    text, at, spans = "", 0, []
    for hit in _SLOT.finditer(template):
        text += template[at : hit.start()]
        part = parts[hit[1]]
        if hit[1] in wrong:
            spans.append((len(text), len(text) + len(part)))
        text, at = text + part, hit.end()
    text += template[at:]
    return Said(text[:1].upper() + text[1:] + ".", tuple(spans), tuple(cells))


def things(column: Column) -> str:
    """What the column counts, or nothing."""
    return column.noun.partition("number of ")[2] if column.noun != "number of parameters" else ""


def lookup(table: Table, rng: random.Random, right: bool) -> Said | None:
    r, c = rng.randrange(len(table.names)), rng.randrange(len(table.columns))
    column, value = table.columns[c], table.rows[r][c]
    if not right:
        fresh = round(rng.uniform(min(table.column(c)) * 0.9, max(table.column(c)) * 1.1), column.places)
        value = rng.choice([*table.column(c), fresh])
        if value == table.rows[r][c]:
            return None
    shapes = (
        TIMED["lookup"] if table.theme.ordered else (*SHAPES["lookup"], *(SCORED if column.better else ()))
    )
    parts = {"r": table.names[r], "c": column.noun, "v": told(value, column, rng)}
    if things(column) and not table.theme.ordered and rng.random() < 0.6:
        shapes, parts["c"] = THINGS["lookup"], things(column)
    return claim(shapes, parts, [] if right else ["v"], [(r, c)], rng)


def both(table: Table, rng: random.Random, right: bool) -> Said | None:
    """Two columns of one row, perhaps mixed up with another row's."""
    r, other = rng.sample(range(len(table.names)), 2)
    c, d = rng.sample(range(len(table.columns)), 2)
    values = {"v": table.rows[r][c], "w": table.rows[r][d]}
    wrong = [] if right else rng.choice([["v"], ["w"], ["w"], ["v", "w"]])
    for slot in wrong:
        values[slot] = table.rows[other][c if slot == "v" else d]
        if values[slot] == table.rows[r][c if slot == "v" else d]:
            return None
    parts = {
        "r": table.names[r], "c": table.columns[c].noun, "d": table.columns[d].noun,
        "v": told(values["v"], table.columns[c], rng), "w": told(values["w"], table.columns[d], rng),
    }  # fmt: skip
    return claim(SHAPES["both"], parts, wrong, [(r, c), (r, d)], rng)


def compare(table: Table, rng: random.Random, right: bool) -> Said | None:
    r, s = rng.sample(range(len(table.names)), 2)
    c = rng.randrange(len(table.columns))
    column, a, b = table.columns[c], table.rows[r][c], table.rows[s][c]
    if a == b:
        return None
    more = (a > b) is right
    parts = {"r": table.names[r], "s": table.names[s], "c": column.noun}
    shapes, words = _compared(table, column, more, rng)
    parts |= {"m": rng.choice(words), "c": things(column) if shapes is THINGS["compare"] else column.noun}
    return claim(shapes, parts, [] if right else ["m"], [(r, c), (s, c)], rng)


def _compared(
    table: Table, column: Column, more: bool, rng: random.Random
) -> tuple[Sequence[str], Sequence[str]]:
    """A wording for "a is more than b" in this column."""
    if table.theme.ordered:
        return TIMED["compare"], HIGHER if more else LOWER
    if column.noun in ADJECTIVES and rng.random() < 0.6:
        return SHAPES["plainly"], ADJECTIVES[column.noun][0 if more else 1 :][:1]
    if column.better and rng.random() < 0.5:
        return SHAPES["beats"], AHEAD if more is (column.better > 0) else BEHIND
    if things(column) and rng.random() < 0.7:
        return THINGS["compare"], ("more",) if more else ("fewer",)
    return SHAPES["compare"], HIGHER if more else LOWER


def beats_both(table: Table, rng: random.Random, right: bool) -> Said | None:
    """Ahead in two columns; wrong as soon as one of them does not bear it out."""
    scored = [n for n, column in enumerate(table.columns) if column.better]
    if len(scored) < 2:
        return None
    (c, d), (r, s) = rng.sample(scored, 2), rng.sample(range(len(table.names)), 2)
    leads = [(table.rows[r][n] - table.rows[s][n]) * table.columns[n].better for n in (c, d)]
    ahead = rng.random() < 0.5
    if 0 in leads or all((lead > 0) is ahead for lead in leads) is not right:
        return None
    parts = {
        "r": table.names[r], "s": table.names[s], "c": table.columns[c].noun, "d": table.columns[d].noun,
        "m": rng.choice(AHEAD if ahead else BEHIND),
    }  # fmt: skip
    wrong = [slot for slot, lead in zip("cd", leads, strict=True) if (lead > 0) is not ahead]
    return claim(
        SHAPES["beats_both"],
        parts,
        ["m"] if len(wrong) == 2 else wrong,
        [(x, y) for x in (r, s) for y in (c, d)],
        rng,
    )


def gap(table: Table, rng: random.Random, right: bool) -> Said | None:
    """By how much; wrong in the amount or in the direction."""
    r, s = rng.sample(range(len(table.names)), 2)
    c = rng.randrange(len(table.columns))
    column, a, b = table.columns[c], table.rows[r][c], table.rows[s][c]
    by, more, wrong = round(abs(a - b), column.places), a > b, []
    if not right and rng.random() < 0.4:
        more, wrong = not more, ["m"]
    elif not right:
        x, y = rng.sample(table.column(c), 2)
        by, wrong = round(abs(x - y) + rng.choice([0, 0, by * rng.uniform(-0.5, 1)]), column.places), ["v"]
    if a == b or by <= 0 or (wrong == ["v"] and by == round(abs(a - b), column.places)):
        return None
    parts = {"r": table.names[r], "s": table.names[s], "c": column.noun, "v": told(by, column, rng)}
    shapes: Sequence[str] = TIMED["gap"] if table.theme.ordered else SHAPES["gap"]
    words: Sequence[str] = HIGHER if more else LOWER
    if things(column) and not table.theme.ordered:
        shapes, words, parts["c"] = THINGS["gap"], ("more",) if more else ("fewer",), things(column)
        parts["v"] = figure(by, column)
    elif column.better and rng.random() < 0.6:
        shapes, words = SHAPES["ahead_by"], AHEAD if more is (column.better > 0) else BEHIND
    parts["m"] = rng.choice(words)
    return claim(shapes, parts, wrong, [(r, c), (s, c)], rng)


def trend(table: Table, rng: random.Random, right: bool) -> Said | None:
    if not table.theme.ordered:
        return None
    r, s = sorted(rng.sample(range(len(table.names)), 2))
    c = rng.randrange(len(table.columns))
    column, a, b = table.columns[c], table.rows[r][c], table.rows[s][c]
    if a == b:
        return None
    up, wrong = a < b, []
    values = {"v": a, "w": b}
    if not right and rng.random() < 0.4:
        slot = rng.choice("vw")
        values[slot], wrong = rng.choice(table.column(c)), [slot]
        # the direction must stay true to the values told, or the verb alone would give it away
        if (
            values[slot] == (a if slot == "v" else b)
            or (values["v"] < values["w"]) is not up
            or values["v"] == values["w"]
        ):
            return None
    elif not right:
        up, wrong = not up, ["m"]
        if rng.random() < 0.5:
            values = {"v": b, "w": a}
            wrong = ["m", "v", "w"]
    parts = {
        "r": table.names[r],
        "s": table.names[s],
        "c": column.noun,
        "m": rng.choice(ROSE if up else FELL),
    }
    parts |= {slot: told(value, column, rng) for slot, value in values.items()}
    shapes = (
        TIMED["trend"]
        if wrong == ["m"]
        else TIMED["fromto"]
        if wrong
        else (*TIMED["trend"], *TIMED["fromto"])
    )
    return claim(shapes, parts, wrong, [(r, c), (s, c)], rng)
