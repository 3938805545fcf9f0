"""Pairs of monotonicity: one phrase widens or narrows, and the operators above it say what follows.

Every change is used in both directions and under operators of both signs: neither length, nor insertion, nor
the change itself tells the label; only the operators do.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from training.logic_tables import (
    ACTS,
    BEING,
    BEING_PP,
    DOWN,
    ELSE,
    EXTRA_VP,
    KINDS,
    MASS_KINDS,
    NAMES,
    NON,
    QUANTIFIERS,
    RELATIVE,
    ROUND,
    SAFE_UNDER_EVERY,
    STUFF,
    SUBJECTS,
    THING,
    THING_PP,
    UNCLEAR,
    UP,
    VERBS,
    VP_MORE,
    WHO,
)  # fmt: skip
from training.pairs import Pair
from training.polarity import collected, turned_round
from training.scenes import HOLE, Scene, Site, plural
from training.tables import SMALL
from training.wording import bare, both_ways

PEOPLE = frozenset(
    ("person", "child", "adult", "athlete", "musician", "worker", "scientist", "relative", "artist")
)
LIVING = PEOPLE | {"animal", "dog", "bird", "fish", "insect"}


@dataclass(frozen=True, slots=True)
class Clause:
    """A sentence that waits for what is done: `{v}`, in which form, under which sign."""

    text: str
    form: str
    sign: int


def noun_change(kind: str, number: str, rng: random.Random) -> tuple[str, str]:
    """(narrow, broad) of a noun phrase without its determiner."""
    shape = plural if number == "p" else str
    members = (MASS_KINDS if number == "m" else KINDS)[kind]
    one, other = rng.sample(members, 2) if len(members) > 1 else (members[0], kind)
    noun = shape(rng.choice([one, one, kind]))
    living = kind in LIVING
    way = rng.random()
    if way < 0.35:
        return shape(one), shape(kind)
    if way < 0.6:
        words = STUFF if number == "m" else (BEING if kind in PEOPLE else THING)
        return f"{rng.choice(words)} {noun}", noun
    if way < 0.8 and number != "m":
        return (
            f"{noun} {rng.choice(BEING_PP if kind in PEOPLE else THING_PP[:5] if living else THING_PP)}",
            noun,
        )
    return shape(one), f"{shape(one)} or {shape(other)}"


def subject_change(number: str, rng: random.Random) -> tuple[str, str]:
    shape = plural if number == "p" else str
    if rng.random() < 0.3:
        return noun_change(rng.choice(sorted(PEOPLE)), number, rng)
    noun = shape(rng.choice(SUBJECTS))
    if rng.random() < 0.5:
        return f"{rng.choice(BEING)} {noun}", noun
    return f"{noun} {rng.choice(BEING_PP)}", noun


def deed(verb: str, form: str) -> str:
    return {"base": verb, "past": VERBS[verb][0], "ing": VERBS[verb][1]}[form]


def counted(det: str, rng: random.Random) -> str:
    number = rng.randint(2, 12)
    return det.format(n=rng.choice([SMALL[number], str(number + rng.choice([0, 0, 10]))]))


def _agreeing(act: str, many: bool) -> str:
    return re.sub(r"^was\b", "were", re.sub(r"^is\b", "are", act)) if many else act


def _act(rng: random.Random, careful: bool) -> tuple[str, str, int]:
    """`careful`: not one whose scope against the subject could be read in two ways."""
    acts = [a for a in ACTS if not careful or not a[0] or a[0].split()[0] in SAFE_UNDER_EVERY]
    return rng.choice(acts)


def clause(rng: random.Random) -> Clause:
    way = rng.random()
    if way < 0.15:
        text, sign = rng.choice(RELATIVE)
        return Clause(text.format(v="{v}", x=rng.choice(SUBJECTS), z=rng.choice(ELSE)), "past", sign)
    if way < 0.55:
        det, number, _, sign = rng.choice(QUANTIFIERS)
        noun = rng.choice(SUBJECTS)
        who, many = f"{counted(det, rng)} {plural(noun) if number == 'p' else noun}", number == "p"
        act, form, under = _act(rng, det not in ("a", "the", "some"))
    elif way < 0.75:
        who, sign, many = rng.choice([*WHO]), 0, False
        sign = WHO[who]
        act, form, under = _act(rng, who not in ("somebody", "someone"))
    else:
        who, sign, many = rng.choice([*NAMES, "I", "we", "they"]), UP, False
        acts = [a for a in ACTS if who in NAMES or not a[0].startswith(("is ", "was "))]
        act, form, under = rng.choice(acts)
    text, sign = f"{who} {_agreeing(act, many)}{{v}}", sign * under
    if not act and rng.random() < 0.3 and not who.startswith(("hardly", "not")):
        around, more = rng.choice(ROUND)
        return Clause(around.format(s=text, z=rng.choice(ELSE)), form, sign * more)
    return Clause(text, form, sign)


def _object(number: str, sign: int, rng: random.Random) -> tuple[str, int]:
    """A determiner that reads well under `sign`, and what it does to its noun."""
    plain = {"s": "a", "p": "", "m": ""}[number]
    options = [(plain, UP), (plain, UP), ("any", UP) if sign == DOWN and number != "s" else (plain, UP)]
    if sign == UP and number == "p":
        options += [("some", UP), ("at least {n}", UP), ("more than {n}", UP), ("several", UP)]
        options += [("all the", DOWN), ("at most {n}", DOWN), ("fewer than {n}", DOWN), ("exactly {n}", NON)]
    if sign == UP and number == "s":
        options += [("every", DOWN), ("each", DOWN)]
    det, own = rng.choice(options)
    return counted(det, rng), own


def object_site(verb: str, change: tuple[str, str], number: str, rng: random.Random) -> tuple[Site, int]:
    made = clause(rng)
    det, own = _object(number, made.sign, rng)
    tail = rng.choice(["", "", "", *VP_MORE[:7]])
    act = f"{deed(verb, made.form)} {det} {HOLE} {tail}"
    return Site(made.text.replace("{v}", act), *change), made.sign * own


def act_site(verb: str, thing: str, extra: str, way: float, rng: random.Random) -> tuple[Site, int]:
    """The whole of what is done changes: an adverb, a second deed, another deed instead."""
    made = clause(rng)
    act = f"{deed(verb, made.form)} {thing}"
    other = extra.split(":")[("base", "past", "ing").index(made.form)] if ":" in extra else extra
    if way < 0.6:
        change = (f"{act} {extra}", act)
    else:
        change = (f"{act} and {other}", act) if way < 0.8 else (act, f"{act} or {other}")
    return Site(made.text.replace("{v}", HOLE), *change), made.sign


def restrictor_site(rng: random.Random, change: tuple[str, str], number: str) -> tuple[Site, int] | None:
    det, _, own, _ = rng.choice([q for q in QUANTIFIERS if q[1] == number])
    if own == UNCLEAR:
        return None
    verb = rng.choice([*VERBS])
    act, form, _ = _act(rng, True)
    did = _agreeing(act, number == "p") + deed(verb, form)
    return Site(f"{counted(det, rng)} {HOLE} {did} {_thing(rng.choice(VERBS[verb][2:]), rng)}", *change), own


def _thing(kind: str, rng: random.Random) -> str:
    if kind in MASS_KINDS:
        return rng.choice([kind, *MASS_KINDS[kind]])
    noun = rng.choice([kind, *KINDS[kind]])
    return rng.choice([plural(noun), f"a {noun}"])


def _content(rng: random.Random) -> Callable[[], tuple[Site, int] | None]:
    """A change that waits for operators."""
    verb = rng.choice([*VERBS])
    kind = rng.choice(VERBS[verb][2:])
    way, inner = rng.random(), rng.random()
    if way < 0.4:
        number = "m" if kind in MASS_KINDS else rng.choice("sp")
        change = noun_change(kind, number, rng)
        return lambda: object_site(verb, change, number, rng)
    if way < 0.65:
        number = rng.choice("sp")
        change = subject_change(number, rng)
        return lambda: restrictor_site(rng, change, number)
    extra = rng.choice(VP_MORE if inner < 0.6 else EXTRA_VP)
    thing = _thing(kind, rng)
    return lambda: act_site(verb, thing, extra, inner, rng)


def template(rng: random.Random) -> Iterator[tuple[Site, int]]:
    """One change under an operator of each sign."""
    content = _content(rng)
    wanted = {UP, DOWN} | ({NON} if rng.random() < 0.3 else set())
    for _ in range(60):
        found = content()
        if found and found[1] in wanted:
            wanted.discard(found[1])
            yield found
        if not wanted:
            return


def caption(found: Scene, rng: random.Random) -> Iterator[tuple[Site, int]]:
    """A caption's own words under other determiners."""
    number = "p" if found.plural else "s"
    usable = [q for q in QUANTIFIERS if q[1] == number]
    for where, sites in ((2, found.subject_sites), (3, found.act_sites)):
        for site in rng.sample(sites, min(2, len(sites))):
            for sign in (UP, DOWN, *([NON] if rng.random() < 0.15 else [])):
                fits = [q for q in usable if q[where] == sign]
                if not fits:
                    continue
                det = counted(rng.choice(fits)[0], rng)
                subject, act = (site.frame, found.act) if where == 2 else (found.subject, site.frame)
                yield Site(f"{det} {subject} {found.be} {act}", site.narrow, site.broad), sign


def monotone_pairs(rng: random.Random, each: int = 12_500) -> Iterator[Pair]:
    """About half from templates, half from captions and plain sentences."""
    scenes, plain = collected(rng)
    few = min(len(plain[UP]), each // 10)
    plain[DOWN] = rng.sample(plain[DOWN], min(len(plain[DOWN]), few))
    ups = rng.sample(plain[UP], len(plain[UP]))
    turned = (under for site in ups if (under := turned_round(site, rng)) is not None)
    plain[DOWN] += [under for under, _ in zip(turned, range(few - len(plain[DOWN])), strict=False)]
    signed = [(site, sign) for sign in plain for site in plain[sign][:few]]
    taken = (pair for found in scenes for pair in caption(found, rng))
    signed += [pair for pair, _ in zip(taken, range(each // 2 - len(signed)), strict=False)]
    while len(signed) < each:
        signed.extend(template(rng))
    for site, sign in signed:
        strip = rng.random() < 0.2
        for pair in both_ways(site.frame, site.narrow, site.broad, sign):
            yield bare(pair) if strip else pair
