"""Who does what, said and denied in many forms."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass

from training.negation_tables import PARTICIPLES
from training.scenes import Scene


@dataclass(frozen=True, slots=True)
class Fact:
    """Who does what."""

    det: str
    subject: str
    many: bool
    human: bool
    act: str

    @property
    def be(self) -> str:
        return "are" if self.many else "is"


def fact(scene: Scene) -> Fact:
    return Fact(scene.det, scene.subject, scene.plural, scene.human, scene.act)


def said(f: Fact, rng: random.Random) -> str:
    if f.det in ("the", ""):
        return f"{f.det} {f.subject} {f.be} {f.act}"
    return rng.choice((f"{f.det} {f.subject} {f.be} {f.act}", f"there {f.be} {f.det} {f.subject} {f.act}"))


def of_all(f: Fact, rng: random.Random) -> str:
    """Denied of everyone of the kind."""
    forms = [f"there {f.be} no {f.subject} {f.act}", f"no {f.subject} {f.be} {f.act}"]
    forms += (
        [f"there {f.be}n't any {f.subject} {f.act}"] if f.many else [f"not a single {f.subject} is {f.act}"]
    )
    forms += [f"it is not true that {f.det} {f.subject} {f.be} {f.act}"] if f.det in ("a", "some") else []
    return rng.choice(forms + [f"nobody is {f.act}"] * (f.human and rng.random() < 0.5))


def of_this(f: Fact, rng: random.Random) -> str:
    """Denied of those that the scene shows."""
    forms = [f"the {f.subject} {f.be} not {f.act}", f"the {f.subject} {f.be}n't {f.act}"]
    forms += [f"none of the {f.subject} are {f.act}"] if f.many else [f"the {f.subject} is never {f.act}"]
    return rng.choice(forms)


def denied(f: Fact, rng: random.Random) -> str:
    if rng.random() < 0.1:
        return f"the {f.subject} {f.be} no longer {f.act}"
    return rng.choice((of_all, of_all, of_this))(f, rng)


def doubly(f: Fact, rng: random.Random) -> str:
    start = rng.choice(("it is not true that", "it is false that", "it is not the case that"))
    rest = f"no {f.subject} {f.be} {f.act}"
    return f"{start} {rng.choice([rest, f'there {f.be} no {f.subject} {f.act}'])}"


def passive(f: Fact) -> str | None:
    """What is done, by whom, where the deed is simple."""
    deed = re.fullmatch(r"(\w+) ((?:a|an|the|some) \w+(?: \w+)?)", f.act)
    if deed is None or deed[1] not in PARTICIPLES or not f.det or deed[2].endswith(("ing", "ly", "s")):
        return None
    return f"{deed[2]} is being {PARTICIPLES[deed[1]]} by {f.det} {f.subject}"


def told(f: Fact, rng: random.Random, anyone: bool) -> str:
    """Said in any form; `anyone`: it may be left open who does it."""
    if anyone and f.human and rng.random() < 0.3:
        return f"{rng.choice(['somebody', 'someone'])} is {f.act}"
    return (rng.random() < 0.5 and passive(f)) or said(f, rng)
