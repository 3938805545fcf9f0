"""Made tables and what is said of them: looked up, compared, ranked, counted, summed, right and wrong."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from training.forms_ranks import CLAIMS
from training.forms_said import Said, Table
from training.forms_themes import THEMES
from training.pairs import CONTRADICTED, ENTAILED, NEUTRAL, Pair

from groundwire.verifiers.features import NEAR_WORDS
from groundwire.verifiers.passages import passages
from groundwire.verifiers.select import Selector

PER_TABLE = 5
_PLAIN = re.compile(r"\W+")


def plain(text: str) -> str:
    return f" {_PLAIN.sub(' ', text.lower()).strip()} "


@dataclass(frozen=True, slots=True)
class Shown:
    """A rendered table; `cell` tells which words must have been selected for a cell to be readable."""

    text: str
    cell: Callable[[int, int], list[str]]


def table(rng: random.Random) -> Table:
    theme = rng.choices(THEMES, [theme.weight for theme in THEMES])[0]
    count = rng.randint(3, 7)
    if theme.ordered:
        start = rng.randint(0, len(theme.names) - count)
        names = theme.names[start : start + count]
    else:
        names = tuple(rng.sample(theme.names, count))
    columns = tuple(rng.sample(theme.columns, rng.randint(2, min(4, len(theme.columns)))))
    cells = []
    for column in columns:
        # neighbours differ by little as often as by much
        width = (column.high - column.low) * rng.choice([0.05, 0.2, 1, 1])
        least = rng.uniform(column.low, column.high - width)
        cells.append([round(rng.uniform(least, least + width), column.places) for _ in names])
    rows = tuple(tuple(cells[c][r] for c in range(len(columns))) for r in range(count))
    caption = rng.choice(theme.captions).format(n=rng.randint(1, 9))
    return Table(theme, caption, names, columns, rows)


def _grid(made: Table, label: str, turned: bool) -> list[list[str]]:
    body = [[name, *(made.cell(r, c) for c in range(len(made.columns)))] for r, name in enumerate(made.names)]
    grid = [[label, *(column.head for column in made.columns)], *body]
    return [list(line) for line in zip(*grid, strict=True)] if turned else grid


def _piped(grid: Sequence[Sequence[str]], rng: random.Random) -> list[str]:
    kind = rng.choice(["bare", "bare", "markdown", "csv", "tabs"])
    if kind == "bare":
        return [" | ".join(line) for line in grid]
    if kind == "csv":
        return [",".join(line) for line in grid]
    if kind == "tabs":
        return ["\t".join(line) for line in grid]
    lines = [f"| {' | '.join(line)} |" for line in grid]
    return [lines[0], "|" + "---|" * len(grid[0]), *lines[1:]]


def shown(made: Table, rng: random.Random) -> Shown:
    label = rng.choice([made.theme.label, made.theme.label, made.theme.label.lower()])
    if rng.random() < 0.15:
        return _records(made, label.lower())
    turned = rng.random() < (0.35 if made.theme.ordered else 0.12)
    grid = _grid(made, "Item" if turned else label, turned)
    lines = _piped(grid, rng)
    caption = [made.caption] if rng.random() < 0.75 else []
    rows = [" ".join(f"{head} {cell}" for head, cell in zip(grid[0], line, strict=True)) for line in grid[1:]]
    blank = [""] if caption and rng.random() < 0.3 else []
    text = "\n".join([*caption, *blank, *lines])
    return Shown(text, lambda r, c: [rows[c if turned else r]])


def _records(made: Table, label: str) -> Shown:
    keys = [plain(column.head).strip().replace(" ", "_") for column in made.columns]
    data: list[dict[str, str | float]] = []
    for r, name in enumerate(made.names):
        values = [int(v) if not c.places else v for v, c in zip(made.rows[r], made.columns, strict=True)]
        data.append({label: name, **dict(zip(keys, values, strict=True))})

    def cell(r: int, c: int) -> list[str]:
        # a leaf is called by its record's name where it has one, else by its number
        lead = made.names[r] if label == "name" else str(r + 1)
        return [f"{lead} {label} {made.names[r]}", f"{lead} {keys[c].replace('_', ' ')} {data[r][keys[c]]}"]

    return Shown(json.dumps(data), cell)


def _without(made: Table, said: Said, rng: random.Random) -> tuple[Table, str] | None:
    """The table had the row or the column that the claim speaks of never been in it."""
    rows, columns = sorted({r for r, _ in said.cells}), sorted({c for _, c in said.cells})
    named = [r for r in rows if made.names[r] in said.text]
    if named and len(made.names) > 2 and len(rows) <= 2 and rng.random() < 0.65:
        gone = rng.choice(named)
        return made.less(row=gone), made.names[gone]
    gone = rng.choice(columns)
    return made.less(column=gone), made.columns[gone].noun


def pair_of(made: Table, rng: random.Random) -> Pair | None:
    roll = rng.random()
    kinds = list(CLAIMS)
    kind = rng.choices(kinds, [CLAIMS[name][1] for name in kinds])[0]
    said = CLAIMS[kind][0](made, rng, roll < 0.44 or (roll > 0.8 and rng.random() < 0.5))
    if said is None:
        return None
    style = rng.random()
    source = shown(made, random.Random(style))
    selected = Selector(passages(source.text)).evidence(said.text, NEAR_WORDS)
    evidence = plain(selected)
    if not all(plain(need) in evidence for r, c in said.cells for need in source.cell(r, c)):
        return None
    if roll <= 0.8:
        return Pair(selected, said.text, CONTRADICTED if said.spans else ENTAILED, said.spans)
    left = _without(made, said, rng)
    if left is None:
        return None
    rest, name = left
    name = name if name.lower() in said.text.lower() else name.removeprefix("number of ")
    at = said.text.lower().find(name.lower())
    spans = ((at, at + len(name)),) if at >= 0 else None
    evidence_left = Selector(passages(shown(rest, random.Random(style)).text)).evidence(said.text, NEAR_WORDS)
    return Pair(evidence_left, said.text, NEUTRAL, spans)


def figure_pairs(rng: random.Random) -> Iterator[Pair]:
    while True:
        made = table(rng)
        for _ in range(PER_TABLE):
            pair = pair_of(made, rng)
            if pair is not None:
                yield pair
