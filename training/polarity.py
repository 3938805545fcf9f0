"""Which way a noun of a parsed sentence may change for the sentence to follow, where a rule can tell."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import TYPE_CHECKING

from training.logic_tables import DOWN, ELSE_NOW, ROUND, UP
from training.parsed import docs
from training.scenes import Scene, Site, noun_changes, scene, site_of
from training.tables import words_in

if TYPE_CHECKING:
    from spacy.tokens import Doc, Token

_SKIP = frozenset(
    words_in("only most exactly than except but few unless until before as more less just least")
)
_FLIPS = frozenset(words_in("doubt refuse fail forget deny avoid lack prevent"))
_NOBODY = frozenset(words_in("nobody nothing none"))
LOWERED = frozenset(
    words_in("a an the he she they it we i you there this that these those some his her my our their")
)


def _own(token: Token) -> int | None:
    """What the noun's own determiner does to it."""
    words = {c.lower_ for c in token.children if c.dep_ in ("det", "poss", "nummod", "predet")}
    if not words:
        return UP if token.tag_ == "NNS" else None
    if words <= {"a", "an", "some", "any"}:
        return UP
    return DOWN if words in ({"no"}, {"every"}, {"all"}, {"each"}) else None


def _above(token: Token, over: Token) -> int | None:
    """What one word above `token` does to it; None: unclear."""
    children = list(over.children)
    words = {c.lower_ for c in children if c.dep_ in ("det", "poss", "predet")}
    if over.pos_ == "NOUN":
        return DOWN if words == {"no"} else (UP if words <= {"a", "an", "some", "any"} else None)
    found = UP
    denials = [c for c in children if c.dep_ == "neg" or c.lower_ in ("never", "hardly", "rarely", "seldom")]
    subjects = [c for c in children if c.dep_ in ("nsubj", "nsubjpass")]
    for subject in subjects:
        own = {c.lower_ for c in subject.children if c.dep_ == "det"}
        if subject.lower_ in _NOBODY or "no" in own:
            denials.append(subject)
        if own & {"every", "all", "each"} and denials:
            return None
    if any(token.i < c.i for c in denials):
        return None
    found = -found if len(denials) % 2 else found
    if over.lower_ == "without" or any(c.dep_ == "mark" and c.lower_ == "if" for c in children):
        found = -found
    elif any(c.dep_ == "mark" and c.lower_ != "that" for c in children):
        return None
    return -found if str(over.lemma_) in _FLIPS and bool(token.i > over.i) else found


def polarity(token: Token) -> int | None:
    """UP, DOWN, or None where a simple rule cannot tell."""
    found = _own(token)
    for over in token.ancestors:
        step = _above(token, over)
        if found is None or step is None or over.dep_ in ("relcl", "parataxis"):
            return None
        found *= step
    return found


def _finite(doc: Doc) -> bool:
    root = next(token for token in doc if token.dep_ == "ROOT")
    tags = {root.tag_, *(c.tag_ for c in root.children if c.dep_ in ("aux", "auxpass"))}
    return bool(tags & {"VBD", "VBZ", "VBP", "MD"})


def plain_sites(doc: Doc, rng: random.Random) -> Iterator[tuple[Site, int]]:
    """Places of a plain sentence whose polarity is known."""
    if (
        doc.text.endswith("?")
        or any(t.lower_ in _SKIP for t in doc)
        or doc.text.count('"')
        or not _finite(doc)
    ):
        return
    for token in doc:
        if token.pos_ != "NOUN" or token.i == 0 or token.dep_ == "conj":
            continue
        sign = polarity(token)
        if sign is not None:
            for change in noun_changes(token, rng):
                yield site_of(doc, 0, len(doc) - 1, change), sign


def turned_round(site: Site, rng: random.Random) -> Site | None:
    """A plain sentence inside one that turns it round."""
    first = site.frame.split()[0]
    if first.lower() not in LOWERED:
        return None
    around = rng.choice([text for text, sign in ROUND if sign == DOWN])
    inner = (first if first == "I" else first.lower()) + site.frame[len(first) :]
    frame = around.format(s=inner.rstrip(" .!"), z=rng.choice(ELSE_NOW))
    return Site(frame, site.narrow, site.broad)


def collected(rng: random.Random) -> tuple[list[Scene], dict[int, list[Site]]]:
    plain: dict[int, list[Site]] = {UP: [], DOWN: []}
    scenes: list[Scene] = []
    for doc in docs():
        found = scene(doc, rng)
        if found is not None:
            scenes.append(found)
        else:
            for site, sign in plain_sites(doc, rng):
                plain[sign].append(site)
    rng.shuffle(scenes)
    return scenes, plain
