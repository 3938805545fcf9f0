"""Pairs of negation: what denies, what says the same by denying, and what is merely not said.

Negation words stand in evidence and claims of all three kinds equally often (`SHARES`): they tell nothing.
"""

from __future__ import annotations

import random
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from training.facts import Fact, denied, doubly, fact, of_all, of_this, said, told
from training.logic_tables import KINDS
from training.negation_tables import ASIDES, SCENE_OPPOSITES
from training.oppositions import lasting, managed, numbered, quantified, states
from training.pairs import CONTRADICTED, ENTAILED, NEUTRAL, Pair
from training.polarity import collected
from training.scenes import HOLE, KIND_OF, Scene, plural
from training.tables import words_in
from training.wording import NEGATIVE, bare, new_words, pair, written

TARGETS = {ENTAILED: 7_000, NEUTRAL: 7_000, CONTRADICTED: 6_000}
# By whether the evidence and the claim hold a negation word.
SHARES = {(False, False): 0.3, (False, True): 0.25, (True, False): 0.25, (True, True): 0.2}
POSTURES = frozenset(
    words_in("standing sitting lying laying walking running sleeping jumping kneeling riding swimming")
)
ONE_OF = {plural(word): word for word in KIND_OF}


@dataclass(frozen=True, slots=True)
class Cast:
    """A scene, and others that share its subject or its verb."""

    scene: Scene
    same_head: list[Scene]
    same_verb: list[Scene]


def widened(scene: Scene, rng: random.Random) -> tuple[Fact, Fact] | None:
    """(narrow, broad): the same fact with more and with less said."""
    sites = [("subject", site) for site in scene.subject_sites] + [("act", site) for site in scene.act_sites]
    if not sites:
        return None
    where, site = rng.choice(sites)
    base = fact(scene)
    texts = [site.frame.replace(HOLE, phrase) for phrase in (site.narrow, site.broad)]
    if where == "subject":
        # `nobody` would deny it of others too.
        return replace(base, subject=texts[0], human=False), replace(base, subject=texts[1], human=False)
    return replace(base, act=texts[0]), replace(base, act=texts[1])


def sister(f: Fact, rng: random.Random) -> Fact | None:
    """The same with another thing of the same kind: a trumpet for a guitar."""
    words = f.act.split()
    at = [i for i, word in enumerate(words) if i and (word in KIND_OF or word in ONE_OF)]
    if not at:
        return None
    i = rng.choice(at)
    one = ONE_OF.get(words[i], words[i])
    others = [
        m
        for m in KINDS[KIND_OF[one]]
        if m != one and m not in KINDS.get(one, ()) and one not in KINDS.get(m, ())
    ]
    if KIND_OF[one] in ("person", "child", "adult") or not others:
        return None
    other = rng.choice(others)
    words[i] = plural(other) if words[i] in ONE_OF else other
    return replace(f, act=" ".join(words))


def _content(text: str) -> set[str]:
    return {word for word in text.lower().split() if len(word) > 3}


def elsewhere(cast: Cast, rng: random.Random) -> Fact | None:
    """A scene with the same subject doing something else, or the same deed done to something else."""
    own = cast.scene
    pool = cast.same_head if rng.random() < 0.6 else cast.same_verb
    for other in rng.sample(pool, min(6, len(pool))):
        apart = not _content(own.act) & _content(other.act) - {own.verb}
        if {own.verb, other.verb} <= POSTURES:
            continue
        if apart and own.rest and other.rest and (other.verb != own.verb or other.head == own.head):
            return replace(fact(own), act=other.act) if other.head == own.head else fact(other)
    return None


def same(cast: Cast, rng: random.Random) -> Pair:
    """A caption against its own denial, either way round."""
    f = fact(cast.scene)
    no = denied(f, rng)
    if rng.random() < 0.5:
        return pair(said(f, rng), no, CONTRADICTED)
    # That no man does it leaves open that somebody does.
    return pair(no, told(f, rng, "nobody" in no), CONTRADICTED)


def twice(cast: Cast, rng: random.Random) -> Pair:
    """Double negation: the same as the plain sentence, the contrary of the denial."""
    f = fact(cast.scene)
    two = doubly(f, rng)
    if rng.random() < 0.6:
        if rng.random() < 0.5:
            return pair(said(f, rng), two, ENTAILED)
        # That some do it does not say how many.
        return pair(two, said(replace(f, det="some" if f.many else "a"), rng), ENTAILED)
    none = of_all(f, rng)
    return pair(none, two, CONTRADICTED) if rng.random() < 0.5 else pair(two, none, CONTRADICTED)


def wider(cast: Cast, rng: random.Random) -> Pair | None:
    """More said and less said, each denied or not."""
    both = widened(cast.scene, rng)
    if both is None:
        return None
    narrow, broad = both
    shape = rng.randrange(7)
    if shape == 0:
        return pair(said(narrow, rng), said(broad, rng), ENTAILED)
    if shape == 1:
        return _added(*(f"{f.det} {f.subject} {f.be} {f.act}" for f in (broad, narrow)))
    if shape == 2:
        return pair(said(narrow, rng), of_all(broad, rng), CONTRADICTED)
    if shape == 3:
        return pair(of_all(broad, rng), said(narrow, rng), CONTRADICTED)
    if shape == 4:
        return pair(said(broad, rng), of_all(narrow, rng), NEUTRAL)
    if shape == 5:
        return pair(of_all(narrow, rng), of_all(broad, rng), NEUTRAL)
    general = of_all(broad, rng)
    return pair(general, of_all(replace(narrow, human="nobody" in general), rng), ENTAILED)


def _added(evidence: str, claim: str) -> Pair:
    left, right = written(evidence), written(claim)
    return pair(evidence, claim, NEUTRAL, new_words(left.rstrip("."), right, 0, len(right) - 1))


def rephrased(cast: Cast, rng: random.Random) -> Pair | None:
    f = fact(cast.scene)
    if rng.random() < 0.4:
        general = of_all(f, rng)
        other = of_this(f, rng) if rng.random() < 0.4 else of_all(replace(f, human="nobody" in general), rng)
        return pair(general, other, ENTAILED) if general != other else None
    one, two = said(f, rng), told(f, rng, True)
    return pair(one, two, ENTAILED) if one != two else None


def unsaid(cast: Cast, rng: random.Random) -> Pair | None:
    """Another scene, asserted or denied, is neither said nor excluded."""
    f = fact(cast.scene)
    other = sister(f, rng) if rng.random() < 0.65 else elsewhere(cast, rng)
    if other is None:
        return None
    left = said(f, rng) if rng.random() < 0.5 else of_all(f, rng)
    right = (
        told(other, rng, True) if rng.random() < 0.5 else rng.choice((of_all, of_this, doubly))(other, rng)
    )
    at = (right := written(right)).find(other.act)
    return pair(left, right, NEUTRAL, (at, at + len(other.act)) if at >= 0 else None)


def reversed_scene(cast: Cast, rng: random.Random) -> Pair | None:
    """One word turned into what cannot hold with it."""
    f = fact(cast.scene)
    hits = [word for word in f.act.split() if word in SCENE_OPPOSITES]
    if not hits:
        return None
    word = rng.choice(hits)
    act = re.sub(rf"\b{word}\b", SCENE_OPPOSITES[word], f.act, count=1)
    right = written(f"the {f.subject} {f.be} {act}")
    at = right.find(SCENE_OPPOSITES[word])
    return pair(said(f, rng), right, CONTRADICTED, (at, at + len(SCENE_OPPOSITES[word])))


def beside(cast: Cast, rng: random.Random) -> Pair:
    """A negation word that has nothing to do with what is asked."""
    f = fact(cast.scene)
    one, two = rng.sample(ASIDES, 2)
    plain, more = said(f, rng), f"{said(f, rng)} {one}"
    shape = rng.randrange(6)
    if shape == 0:
        return pair(more, plain, ENTAILED)
    if shape == 1:
        claim = written(more)
        return pair(plain, claim, NEUTRAL, (len(claim) - 1 - len(one), len(claim) - 1))
    if shape == 2:
        return pair(more, denied(f, rng), CONTRADICTED)
    if shape == 3:
        return pair(of_all(f, rng), more, CONTRADICTED)
    if shape == 4:
        return pair(more, f"{said(f, rng)} {one}", ENTAILED)
    claim = written(f"{said(f, rng)} {two}")
    return pair(more, claim, NEUTRAL, (len(claim) - 1 - len(two), len(claim) - 1))


def related(cast: Cast, rng: random.Random) -> Pair | None:
    """Statements whose relation is known by their form."""
    own = cast.scene
    way = rng.random()
    if way < 0.2:
        return pair(*states(rng))
    if way < 0.45:
        return pair(*quantified(rng))
    if way < 0.6:
        return pair(*managed(rng))
    if way < 0.75:
        return pair(*lasting(own.subject, own.plural, own.act, rng))
    return pair(*numbered(f"{own.subject} are {own.act}", rng)) if own.plural else None


# The maker and how often it is asked.
MAKERS: tuple[tuple[Callable[[Cast, random.Random], Pair | None], float], ...] = (
    (same, 4), (twice, 1.5), (wider, 6), (rephrased, 4), (unsaid, 7), (reversed_scene, 3), (beside, 3),
    (related, 9),
)  # fmt: skip


def casts(scenes: list[Scene]) -> list[Cast]:
    heads: dict[tuple[str, bool], list[Scene]] = defaultdict(list)
    verbs: dict[str, list[Scene]] = defaultdict(list)
    for scene in scenes:
        heads[scene.head, scene.plural].append(scene)
        verbs[scene.verb].append(scene)
    return [Cast(s, heads[s.head, s.plural], verbs[s.verb]) for s in scenes]


def negation_pairs(rng: random.Random) -> Iterator[Pair]:
    """Pairs until every kind has its share of every place of negation words."""
    everyone = casts(collected(rng)[0])
    room = Counter({(t, *cell): int(n * share) for t, n in TARGETS.items() for cell, share in SHARES.items()})
    makers, weights = zip(*MAKERS, strict=True)
    seen: set[tuple[str, str]] = set()
    for _ in range(40 * sum(TARGETS.values())):
        made = rng.choices(makers, weights)[0](rng.choice(everyone), rng)
        if made is None or made.evidence == made.claim or (made.evidence, made.claim) in seen:
            continue
        cell = made.target, bool(NEGATIVE.search(made.evidence)), bool(NEGATIVE.search(made.claim))
        if room[cell] > 0:
            room[cell] -= 1
            seen.add((made.evidence, made.claim))
            yield bare(made) if rng.random() < 0.3 else made
        if not +room:
            return
    print("left empty (target, negated evidence, negated claim):", dict(+room))
