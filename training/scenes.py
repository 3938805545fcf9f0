"""From parses: captions taken apart, and places in plain sentences where a phrase can widen or narrow."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from training.logic_tables import (
    BEING,
    BEING_PP,
    GENERIC,
    KINDS,
    LIGHT,
    NO_ADJECTIVE,
    PLACES,
    PLURALS,
    SOFT_PREPOSITIONS,
    THING,
)  # fmt: skip
from training.tables import words_in

if TYPE_CHECKING:
    from spacy.tokens import Doc, Token

HOLE = "[]"
KIND_OF = {member: kind for kind, members in KINDS.items() for member in members}
ONES = {plural: one for one, plural in PLURALS.items() if plural != one}
_HUMAN = frozenset(
    words_in(
        """
        man woman person people child boy girl adult kid guy lady player worker toddler baby group crowd
        couple gentleman band team family student teacher singer dancer musician surfer skateboarder runner
        chef soldier performer cyclist biker climber skier individual friend officer artist male female
        teenager
        """
    )
)
_MANY = frozenset(words_in("group crowd couple band team family people"))


@dataclass(frozen=True, slots=True)
class Site:
    """A text with a hole, and what may stand there: what is narrower and what is broader."""

    frame: str
    narrow: str
    broad: str


@dataclass(frozen=True, slots=True)
class Scene:
    """A caption: determiner, subject, verb in -ing, the rest; and where each of the two can change."""

    det: str
    subject: str
    head: str
    plural: bool
    human: bool
    verb: str
    rest: str
    subject_sites: tuple[Site, ...]
    act_sites: tuple[Site, ...]

    @property
    def act(self) -> str:
        return f"{self.verb} {self.rest}".strip()

    @property
    def be(self) -> str:
        return "are" if self.plural else "is"


def plural(noun: str) -> str:
    head, _, last = noun.rpartition(" ")
    if last in PLURALS:
        last = PLURALS[last]
    elif last.endswith(("s", "x", "ch", "sh", "potato", "mango")):
        last += "es"
    elif last.endswith("y") and last[-2:-1] not in "aeou":
        last = last[:-1] + "ies"
    else:
        last += "s"
    return f"{head} {last}".strip()


def lemma(token: Token) -> str:
    word = token.text.lower()
    return ONES.get(word, str(token.lemma_).lower())


def _renamed(token: Token, rng: random.Random) -> tuple[str, str] | None:
    """(narrow, broad) when the noun has a kind, or is one."""
    word, many = lemma(token), token.tag_ == "NNS" or token.text.lower() == "people"
    shape = plural if many else str
    options = []
    if word in KIND_OF and token.text.lower() == shape(word):
        options.append((token.text.lower(), shape(KIND_OF[word])))
    if word in KIND_OF and token.text.lower() == shape(word):
        other = shape(rng.choice(KINDS[KIND_OF[word]]))
        if other != token.text.lower() and KIND_OF[word] not in ("person", "child", "adult", "ball"):
            options.append((token.text.lower(), f"{token.text.lower()} or {other}"))
    if (
        word in KINDS
        and token.text.lower() == shape(word)
        and "musical" not in {c.lower_ for c in token.children}
    ):
        options.append((shape(rng.choice(KINDS[word])), token.text.lower()))
    return rng.choice(options) if options else None


def _compounded(token: Token) -> bool:
    """Part of a longer name or of a list: another noun there would not read well."""
    return token.dep_ in ("compound", "conj") or any(c.dep_ in ("compound", "conj") for c in token.children)


def noun_changes(token: Token, rng: random.Random) -> Iterator[tuple[int, int, str, str]]:
    """First and last token of the stretch, its narrow and its broad form."""
    doc = token.doc
    adjectives = [child for child in token.lefts if child.dep_ == "amod"]
    plain = [a for a in adjectives if a.tag_ == "JJ" and a.text.islower() and a.text not in NO_ADJECTIVE]
    if adjectives and len(plain) == len(adjectives) and adjectives[-1].i == token.i - 1:
        gone = rng.choice(plain)
        edge = gone.left_edge.i
        if not any(child.dep_ in ("conj", "cc") for child in gone.children):
            stretch = doc[edge : token.i + 1].text
            yield edge, token.i, stretch, doc[gone.i + 1 : token.i + 1].text
    renamed = None if _compounded(token) else _renamed(token, rng)
    if renamed:
        yield token.i, token.i, *renamed
    known = lemma(token) in KIND_OF or lemma(token) in _HUMAN - _MANY
    if not adjectives and known and not _compounded(token):
        being = lemma(token) in _HUMAN or KIND_OF.get(lemma(token)) in (
            "person",
            "child",
            "animal",
            "athlete",
        )
        adjective = rng.choice(BEING if being else THING)
        yield token.i, token.i, f"{adjective} {token.text}", token.text
        if being:
            yield token.i, token.i, f"{token.text} {rng.choice(BEING_PP[:4])}", token.text
    elif (
        not adjectives
        and not _compounded(token)
        and token.text.islower()
        and token.text not in LIGHT
        and rng.random() < 0.3
    ):
        yield token.i, token.i, f"{rng.choice(GENERIC)} {token.text}", token.text
    for child in token.rights:
        if child.dep_ in ("prep", "relcl") and child.left_edge.i == token.i + 1 and child.text != "of":
            stretch = doc[token.i : child.right_edge.i + 1]
            if len(stretch) <= 8 and "," not in stretch.text:
                yield token.i, child.right_edge.i, stretch.text, token.text


def act_changes(verb: Token, last: int, rng: random.Random) -> Iterator[tuple[int, int, str, str]]:
    """A place or time at the end of what somebody does, dropped or added."""
    doc = verb.doc
    tails = [c for c in verb.rights if c.dep_ == "prep" and c.right_edge.i == last and c.i > verb.i]
    for tail in tails:
        if tail.text in SOFT_PREPOSITIONS and len(doc[tail.i : last + 1]) <= 8:
            yield verb.i, last, doc[verb.i : last + 1].text, doc[verb.i : tail.i].text
    if not tails and last - verb.i <= 7:
        yield (
            verb.i,
            last,
            doc[verb.i : last + 1].text + " " + rng.choice(PLACES),
            doc[verb.i : last + 1].text,
        )


def site_of(doc: Doc, first: int, last: int, change: tuple[int, int, str, str]) -> Site:
    start, end, narrow, broad = change
    frame = (
        f"{doc[first:start].text} {HOLE} {doc[end + 1 : last + 1].text}".strip() if last >= first else HOLE
    )
    return Site(frame, narrow, broad)


def _taken_apart(doc: Doc) -> tuple[Token, Token, int] | None:
    """Head of the subject, verb in -ing, and the subject's last token."""
    root = next((token for token in doc if token.dep_ == "ROOT"), None)
    if root is None:
        return None
    if root.tag_ == "VBG":
        be = [c for c in root.children if c.dep_ == "aux" and c.text in ("is", "are")]
        heads = [c for c in root.children if c.dep_ == "nsubj"]
        if (
            len(be) == 1
            and len(heads) == 1
            and heads[0].right_edge.i == be[0].i - 1
            and be[0].i == root.i - 1
        ):
            return heads[0], root, be[0].i - 1
    elif root.pos_ == "NOUN":
        acts = [c for c in root.rights if c.dep_ == "acl" and c.tag_ == "VBG" and c.left_edge.i == c.i]
        if len(acts) == 1 and not any(c.dep_ == "cc" for c in root.rights):
            return root, acts[0], acts[0].i - 1
    return None


def scene(doc: Doc, rng: random.Random) -> Scene | None:
    parts = _taken_apart(doc)
    if parts is None or any(t.dep_ == "neg" or t.lower_ in ("no", "nobody") or t.is_quote for t in doc):
        return None
    head, verb, subject_last = parts
    last = len(doc) - 1
    while last > verb.i and doc[last].is_punct:
        last -= 1
    many = head.tag_ == "NNS" or head.lower_ == "people"
    first = 0
    det = doc[0].lower_ if doc[0].dep_ in ("det", "nummod") else ""
    if det:
        first = 1
    wanted = (
        ("", "the", "two", "three", "four", "five", "some", "several") if many else ("a", "an", "the", "one")
    )
    if any((c.dep_ == "conj" and not many) or (c.dep_ == "nummod" and c.i >= first) for c in head.children):
        return None
    if head.pos_ != "NOUN" or head.left_edge.i != 0 or det not in wanted or first > head.i or head.i > 6:
        return None
    subject = doc[first : subject_last + 1].text
    lowered = subject[:1].lower() + subject[1:]
    changes = [c for c in noun_changes(head, rng) if c[0] >= first and c[1] <= subject_last]
    acts = list(act_changes(verb, last, rng))
    for token in doc[verb.i + 1 : last + 1]:
        if token.pos_ == "NOUN":
            acts.extend(c for c in noun_changes(token, rng) if c[0] > verb.i and c[1] <= last)
    return Scene(
        "a" if det == "an" else det, lowered, head.lower_, many, lemma(head) in _HUMAN, verb.lower_,
        doc[verb.i + 1 : last + 1].text,
        tuple(site_of(doc, first, subject_last, c) for c in changes),
        tuple(site_of(doc, verb.i, last, c) for c in acts),
    )  # fmt: skip
