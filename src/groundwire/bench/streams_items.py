"""Streamed answers made for `groundwire bench streams`: all supported, or with one sentence that is not.

Answers come in threes over one source: the sentence in the middle is true, contradicts the source, or tells
what the source says nothing of. Nothing else differs. The same seed and number give the same answers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from random import Random
from typing import Literal

from groundwire.bench.procedural_contexts import Fact, capital, claimed, lay_out
from groundwire.bench.procedural_items import fill, named, scene
from groundwire.bench.procedural_shapes import Domain, domains, draw_other, nearest

Kind = Literal["supported", "contradicted", "unsupported"]
KINDS: tuple[Kind, ...] = ("supported", "contradicted", "unsupported")


@dataclass(frozen=True, slots=True)
class Stream:
    """`sentences[middle]` is the one that differs; `held`: of the second half of the domains."""

    id: str
    kind: Kind
    domain: str
    source: str
    question: str
    sentences: tuple[str, ...]
    middle: int
    held: bool = False

    @property
    def text(self) -> str:
        return " ".join(self.sentences)

    def place(self, number: int) -> tuple[int, int]:
        """Where a sentence stands in the text."""
        start = sum(len(sentence) + 1 for sentence in self.sentences[:number])
        return start, start + len(self.sentences[number])


def streams(count: int = 300, seed: int = 0) -> list[Stream]:
    """About as many as asked for, a third of each kind, half of them from each half of the domains."""
    return [stream for number in range(max(1, count // 3)) for stream in _three(number, seed)]


def _three(number: int, seed: int) -> Iterator[Stream]:
    held = bool(number % 2)
    half = domains(held=held)
    domain = half[number // 2 % len(half)]
    rng = Random(f"{seed}/stream/{number}")
    facts = scene(domain, rng, rng.randint(2, 3), min(3, len(domain.attributes)))
    told = rng.sample(facts, min(len(facts), rng.randint(5, 7)))
    middle = rng.randint(1, len(told) - 3)
    right, wrong = _two(told[middle], facts, rng)
    sentences = [claimed(fact, rng)[0] for fact in told]
    one = Stream(
        f"stream-{number:04d}", "supported", domain.name, lay_out(facts, domain, rng),
        f"What is known about {told[middle].thing}?", tuple(sentences), middle, held,
    )  # fmt: skip
    middles = {"supported": right, "contradicted": wrong, "unsupported": _untold(told[middle], domain, rng)}
    for kind in KINDS:
        own = (*sentences[:middle], middles[kind], *sentences[middle + 1 :])
        yield replace(one, id=f"{one.id}-{kind}", kind=kind, sentences=own)


def _two(fact: Fact, facts: list[Fact], rng: Random) -> tuple[str, str]:
    """The fact as it is, and with a value that stands nowhere: often one that is easily mistaken for it."""
    taken = {f.value.plain for f in facts if f.attribute is fact.attribute}
    drawn = [draw_other(fact.attribute.value, taken, rng) for _ in range(rng.choice((1, 20)))]
    right, wrong = claimed(fact, rng, nearest(fact.value, drawn))
    return right, wrong


def _untold(fact: Fact, domain: Domain, rng: Random) -> str:
    return f"{capital(named(domain, fact.thing))} {fill(rng.choice(domain.details), rng)}."
