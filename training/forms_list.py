# ruff: noqa: E501 (a row of a table is read best in one line)
"""Made lists: menus, price lists, specifications, policies, recipes, schedules, steps, questions and answers."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from training.forms_fillers import PEOPLE
from training.forms_lists import THEMES
from training.forms_scheme import Document, Fact, Scheme, fact_of, schemes
from training.forms_words import Value
from training.pairs import CONTRADICTED
from training.tables import parts_of

TABLES: dict[str, tuple[list[str], list[Scheme]]] = {
    name: (parts_of(titles), schemes(text)) for name, (titles, text) in THEMES.items()
}
ONCE = ("spec", "faq")
LEADS = (
    *["", "", "", "", ""], "according to the list, ", "the page says that ", "as stated, ", "the document says ",
    "it is stated that ", "as listed, ", "we read that ",
)  # fmt: skip
Bullet = Callable[[int, str], str]
BULLETS: tuple[Bullet, ...] = (
    lambda _, line: f"- {line}",
    lambda _, line: f"* {line}",
    lambda _, line: f"• {line}",
    lambda number, line: f"{number}. {line}",
    lambda number, line: f"{number}) {line}",
    lambda _, line: line,
    lambda _, line: f"- **{line.partition(': ')[0]}**: {line.partition(': ')[2]}" if ": " in line else f"- {line}",
)  # fmt: skip
HEADINGS = ("# {}", "## {}", "{}:", "{}", "**{}**")


def list_documents(rng: random.Random) -> Document:
    """One or two headings with three to eight items each."""
    people = rng.sample(PEOPLE, 4)
    used: set[Value] = set()
    names = rng.sample(list(TABLES), rng.choice([1, 1, 2]))
    groups = [(rng.choice(TABLES[name][0]), _items(name, people, used, rng)) for name in names]
    bullet, heading = rng.choice(BULLETS), rng.choice(HEADINGS)
    asks = rng.choice([("Q: ", "A: "), ("**", ""), ("", "")])

    def render(some: Sequence[Fact]) -> str:
        kept = {id(fact.values) for fact in some}
        blocks = []
        for title, facts in groups:
            lines = [line for fact in facts if id(fact.values) in kept for line in _lines(fact, asks)]
            shown = [
                line if line.startswith(("Q: ", "A: ", "**")) else bullet(n + 1, line)
                for n, line in enumerate(lines)
            ]
            blocks.append(heading.format(title.format(d=2)) + "\n" + "\n".join(shown))
        return "\n\n".join(blocks)

    return Document([fact for _, facts in groups for fact in facts], people, render, LEADS)


def _items(name: str, people: Sequence[str], used: set[Value], rng: random.Random) -> list[Fact]:
    options = TABLES[name][1]
    count = rng.randint(3, 8)
    if name in ONCE:
        return [
            fact_of(scheme, people, used, rng) for scheme in rng.sample(options, min(count, len(options)))
        ]
    # what names no thing of its own can be said only once
    kinds = rng.sample(options, rng.randint(1, len(options)))
    drawn = [kind for kind in kinds if not _named(kind)]
    drawn += rng.choices([kind for kind in kinds if _named(kind)] or options[:1], k=count)
    return [fact_of(scheme, people, used, rng) for scheme in rng.sample(drawn, min(count, len(drawn)))]


def _named(scheme: Scheme) -> bool:
    return any(target != CONTRADICTED for _, _, target in scheme.vary)


def _lines(fact: Fact, asks: tuple[str, str]) -> list[str]:
    texts = [said for _, said in fact.lines]
    if not texts[0].endswith("?"):
        return texts
    before, answer = asks
    return [f"{before}{texts[0]}{before if before == '**' else ''}", f"{answer}{texts[1]}"]
