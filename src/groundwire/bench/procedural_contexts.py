"""Facts written out as sources: prose, lists, sections, tables and data, so that no one layout is learnt."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

from groundwire.bench.procedural_shapes import Attribute, Domain, Value


@dataclass(frozen=True, slots=True)
class Fact:
    thing: str
    attribute: Attribute
    value: Value


def said(fact: Fact, rng: Random) -> str:
    """A fact as a sentence of a source."""
    return capital(rng.choice(fact.attribute.said).format(e=fact.thing, v=fact.value.plain))


def claimed(fact: Fact, rng: Random, *others: Value) -> list[str]:
    """A fact as a sentence of a response: other words, another order, another way to write the value.

    Then the same sentence with each of the other values.
    """
    template = rng.choice(fact.attribute.claimed)
    form = rng.randrange(len(fact.value.forms))
    values = (fact.value, *others)
    return [capital(template.format(e=fact.thing, v=value.forms[form])) for value in values]


def capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def by_thing(facts: Sequence[Fact]) -> dict[str, list[Fact]]:
    found: dict[str, list[Fact]] = {}
    for fact in facts:
        found.setdefault(fact.thing, []).append(fact)
    return found


def prose(facts: Sequence[Fact], domain: Domain, rng: Random) -> str:
    """A paragraph a thing; its later sentences may call it by a pronoun."""
    paragraphs = []
    for thing, own in by_thing(facts).items():
        sentences = [said(own[0], rng)]
        for fact in own[1:]:
            sentence = said(fact, rng)
            for subject in (f"The {thing} ", f"{thing} "):
                if sentence.startswith(subject) and rng.random() < 0.5:
                    sentence = f"{domain.pronoun} {sentence.removeprefix(subject)}"
                    break
            sentences.append(sentence)
        paragraphs.append(" ".join(sentences))
    return ("\n\n" if len(facts) > len(paragraphs) else " ").join(paragraphs)


def bullets(facts: Sequence[Fact], _: Domain, rng: Random) -> str:
    if rng.random() < 0.5:
        return "\n".join(
            f"- {thing}: " + "; ".join(f"{f.attribute.label} {f.value.plain}" for f in own)
            for thing, own in by_thing(facts).items()
        )
    return "\n".join(f"- {f.thing}, {f.attribute.label}: {f.value.plain}" for f in facts)


def sections(facts: Sequence[Fact], _: Domain, rng: Random) -> str:
    mark = rng.choice(("-", "*", ""))
    return "\n\n".join(
        f"## {thing}\n\n"
        + "\n".join(f"{mark} {capital(f.attribute.label)}: {f.value.plain}".strip() for f in own)
        for thing, own in by_thing(facts).items()
    )


def table(facts: Sequence[Fact], _: Domain, rng: Random) -> str:
    labels = list(dict.fromkeys(fact.attribute.label for fact in facts))
    rows = [["name", *labels]]
    for thing, own in by_thing(facts).items():
        values = {fact.attribute.label: fact.value.plain for fact in own}
        rows.append([thing, *(values.get(label, "") for label in labels)])
    if rng.random() < 0.5:
        written = io.StringIO()
        csv.writer(written, lineterminator="\n").writerows(rows)
        return written.getvalue()
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([lines[0], "|" + " --- |" * len(rows[0]), *lines[1:]])


def data(facts: Sequence[Fact], _: Domain, rng: Random) -> str:
    records = {
        thing: {fact.attribute.label.replace(" ", "_"): fact.value.plain for fact in own}
        for thing, own in by_thing(facts).items()
    }
    if rng.random() < 0.5:
        return json.dumps(records, indent=rng.choice((None, 2)), ensure_ascii=False)
    return json.dumps(
        [{"name": thing} | record for thing, record in records.items()],
        indent=rng.choice((None, 2)),
        ensure_ascii=False,
    )


LAYOUTS: tuple[Callable[[Sequence[Fact], Domain, Random], str], ...] = (
    prose,
    prose,
    bullets,
    sections,
    table,
    data,
)
"""Prose twice, since most sources are prose."""


def lay_out(facts: Sequence[Fact], domain: Domain, rng: Random) -> str:
    return rng.choice(LAYOUTS)(facts, domain, rng)
