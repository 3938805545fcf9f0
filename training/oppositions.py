"""Statements in known relations: states that exclude each other, quantifiers, counts, success, duration.

Every maker returns evidence, claim and target.
"""

from __future__ import annotations

import random

from training.logic_tables import KINDS, MASS_KINDS, NAMES, VERBS
from training.negation_tables import STATES
from training.pairs import CONTRADICTED, ENTAILED, NEUTRAL
from training.scenes import plural
from training.tables import SMALL

Made = tuple[str, str, int]
MANY = 10**6
# From, to: what a count of n in this form allows.
COUNTS = {
    "exactly {n}": (0, 0), "only {n}": (0, 0), "at least {n}": (0, MANY), "more than {n}": (1, MANY),
    "at most {n}": (-MANY, 0), "no more than {n}": (-MANY, 0), "fewer than {n}": (-MANY, -1),
    "no fewer than {n}": (0, MANY), "no less than {n}": (0, MANY), "not more than {n}": (-MANY, 0),
}  # fmt: skip
ALL = ("all the {t} are {a}", "every {x} is {a}", "none of the {t} are {b}", "not a single {x} is {b}",
       "each of the {t} is {a}", "no {x} is {b}")  # fmt: skip
SOME = ("some of the {t} are {a}", "at least one of the {t} is {a}", "not all the {t} are {b}",
        "not every {x} is {b}", "one or more of the {t} are {a}", "some of the {t} are not {b}")  # fmt: skip
BOTH = ("both {t} are {a}", "both of the {t} are {a}", "neither of the {t} is {b}", "neither {x} is {b}")
EITHER = (
    "at least one of the two {t} is {a}",
    "not both of the {t} are {b}",
    "it is not true that both {t} are {b}",
)


def _state(rng: random.Random) -> tuple[str, str, list[str]]:
    states = rng.choice([*STATES])
    a, b = rng.sample(states, 2)
    return a, b, STATES[states]


def states(rng: random.Random) -> Made:
    """Open is not closed; the window is another matter."""
    a, b, things = _state(rng)
    one, two = rng.sample(things, 2)
    be = rng.choice(["is", "was"])
    # Each way of saying that the state is a, and that it is b.
    is_a, is_b = (
        (f"{be} {a}", f"{be} not {b}", f"{be}n't {b}"),
        (f"{be} {b}", f"{be} not {a}", f"{be}n't {a}"),
    )
    evidence = f"the {one} {rng.choice(is_a)}"
    way = rng.random()
    if way < 0.35:
        return evidence, f"the {one} {rng.choice(is_a)}", ENTAILED
    if way < 0.7:
        return evidence, f"the {one} {rng.choice(is_b)}", CONTRADICTED
    return evidence, f"the {two} {rng.choice(is_a + is_b)}", NEUTRAL


def quantified(rng: random.Random) -> Made:
    """The square of all, some, not all and none, with two words for each."""
    a, b, things = _state(rng)
    x = rng.choice(things)
    every, some = (ALL, SOME) if rng.random() < 0.7 else (BOTH, EITHER)

    def say(forms: tuple[str, ...], one: str, other: str) -> str:
        return rng.choice(forms).format(t=plural(x), x=x, a=one, b=other)

    first, second = rng.choice([(0, 0), (0, 1), (1, 0), (1, 1)])
    turned = rng.random() < 0.5
    evidence = say((every, some)[first], a, b)
    claim = say((every, some)[second], *((b, a) if turned else (a, b)))
    if turned:
        return evidence, claim, NEUTRAL if first == second == 1 else CONTRADICTED
    return evidence, claim, NEUTRAL if (first, second) == (1, 0) else ENTAILED


def _counted(form: str, number: int, rng: random.Random) -> str:
    return form.format(n=SMALL[number] if rng.random() < 0.7 else number)


def numbered(rest: str, rng: random.Random) -> Made:
    """Two counts of the same thing: one holds the other, they exclude each other, or neither."""
    n = rng.randint(2, 9)
    m = max(2, min(11, n + rng.choice([-3, -2, -1, -1, 0, 0, 1, 1, 2, 3])))
    one, two = rng.choice([*COUNTS]), rng.choice([*COUNTS])
    low, high = (n + side for side in COUNTS[one])
    least, most = (m + side for side in COUNTS[two])
    target = NEUTRAL
    if least <= max(low, 0) and high <= most:
        target = ENTAILED
    elif most < low or high < least:
        target = CONTRADICTED
    return f"{_counted(one, n, rng)} {rest}", f"{_counted(two, m, rng)} {rest}", target


def managed(rng: random.Random) -> Made:
    """Managed, failed, did not fail; or the same with another thing."""
    verb = rng.choice([*VERBS])
    kind = rng.choice(VERBS[verb][2:])
    members = (MASS_KINDS.get(kind) or KINDS[kind]).copy()
    one, two = (word if kind in MASS_KINDS else f"a {word}" for word in rng.sample(members, 2))
    who = rng.choice(NAMES)
    did = ("managed to {v}", "did not fail to {v}", "was able to {v}", "succeeded in {g}")
    failed = ("failed to {v}", "did not manage to {v}", "was unable to {v}", "was not able to {v}")
    words = {"v": verb, "g": VERBS[verb][1]}
    first, second = rng.choice([(did, did), (did, failed), (failed, did), (failed, failed)])
    evidence = f"{who} {rng.choice(first).format(**words)} {one}"
    if rng.random() < 0.35:
        return evidence, f"{who} {rng.choice(did + failed).format(**words)} {two}", NEUTRAL
    last = (*second, f"did not {verb}") if second is failed else (*second, VERBS[verb][0])
    claim = f"{who} {rng.choice(last).format(**words)} {one}"
    return evidence, claim, ENTAILED if first is second else CONTRADICTED


def lasting(subject: str, many: bool, act: str, rng: random.Random) -> Made:
    """Still doing it, or no longer."""
    be, has = ("are", "have") if many else ("is", "has")
    still = (f"{be} still {act}", f"{has} not stopped {act}", f"{has}n't stopped {act}")
    over = (f"{has} stopped {act}", f"{be} no longer {act}", f"{be} not {act} any more")
    first, second = rng.choice([(still, still), (still, over), (over, still), (over, over)])
    claim = f"the {subject} {rng.choice(second)}"
    return f"the {subject} {rng.choice(first)}", claim, ENTAILED if first is second else CONTRADICTED
