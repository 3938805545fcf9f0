"""When a verdict may stop a stream: the evidence says otherwise, and clearly so. Lack of support never does.

A stop costs the reader a true answer where it is wrong, so the bar is higher than for a flag: the verdict
must be sure, and a piece of evidence must speak of the very matter. "It won the cup in 1999" is not
contradicted by "It was founded in 1931", however sure a verifier is. `groundwire bench streams` prints what
this is worth.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from groundwire.openie.parser import triples
from groundwire.text.dates import dates
from groundwire.text.names import names
from groundwire.text.numbers import numbers
from groundwire.text.tokens import similarity, words
from groundwire.types import ClaimVerification, Status

_MATTER = 0.5
"""The share of a claim's words, names and values aside, that one piece of evidence must hold."""
_ALIKE = 0.6
_PIECES = 5
_NEAR = 40
_SAYS = re.compile(r"evidence says ([^']+)\Z")
_LABEL = re.compile(r"\bname:", re.IGNORECASE)
_ARTICLE = re.compile(r"^(?:the|an?|its|his|her|their)\s+", re.IGNORECASE)


def halts(verdict: ClaimVerification, threshold: float) -> bool:
    """Whether the claim is contradicted by evidence so surely that going on makes no sense."""
    contradicted = verdict.status is Status.CONTRADICTED and verdict.is_flagged and verdict.certain
    if not contradicted or verdict.p1 is None or 1.0 - verdict.p1 < threshold:
        return False
    pieces = tuple(ref.text for ref in verdict.evidence[:_PIECES])
    return _compares(verdict, pieces) and speaks_of(verdict.claim_text, pieces)


def _compares(verdict: ClaimVerification, pieces: Sequence[str]) -> bool:
    """Not where a name is held against a number: "evidence says Ann Lee" of a claim that counts rooms."""
    said = _SAYS.match(verdict.reason)
    if said is None or numbers(said[1]) or dates(said[1]) or not numbers(verdict.claim_text):
        return True
    known = " ".join(pieces)
    return any(name.text not in known for name in names(verdict.claim_text))


@lru_cache(maxsize=1024)
def speaks_of(claim: str, evidence: tuple[str, ...]) -> bool:
    """Whether one piece of the evidence is about what the claim says, not only about whom or what.

    >>> speaks_of("Acme won the cup in 1999.", ("Acme was founded in 1931.",))
    False
    >>> speaks_of("Acme was founded in 1999.", ("The founding of Acme was in 1931.",))
    True
    """
    pieces = [piece for piece in evidence if piece]
    matter = _matter(claim, pieces)
    if not matter:
        return bool(pieces)
    counted = _counted(claim)
    there = [_words_of(piece, claim) for piece in pieces]
    return any(_held(matter, own) >= _MATTER * len(matter) or _held(counted, own) > 0 for own in there)


def _matter(claim: str, pieces: Sequence[str]) -> frozenset[str]:
    """The content words of a claim without its values and without whom or what it is about."""
    aside = [(name.start, name.end) for name in names(claim)]
    aside += [(number.start, number.end) for number in numbers(claim)]
    aside += [(date.start, date.end) for date in dates(claim)]
    aside += [triple.subject_span for triple in triples(claim) if _is_thing(triple.subject, pieces)]
    return frozenset(
        word.norm
        for word in words(claim)
        if not word.is_stop and not any(start <= word.start < end for start, end in aside)
    )


def _is_thing(subject: str, pieces: Sequence[str]) -> bool:
    """Whether a subject is something the evidence names in the same words, as it names "the quota queue"."""
    bare = _ARTICLE.sub("", subject).casefold()
    return " of " not in bare and any(bare in piece.casefold() for piece in pieces)


def _counted(claim: str) -> frozenset[str]:
    """What numbers count: the content word behind each."""
    behind = [words(claim[number.end : number.end + _NEAR]) for number in numbers(claim)]
    firsts = (next((word.norm for word in found[:2] if not word.is_stop), "") for found in behind)
    return frozenset(filter(None, firsts))


def _words_of(piece: str, claim: str) -> frozenset[str]:
    """What a piece of evidence says, without the names that the claim has as well: they are no matter."""
    shared = {word.norm for name in names(claim) for word in words(name.text)}
    found = {word.norm for word in words(_LABEL.sub("", piece)) if not word.is_stop}
    return frozenset(found - shared)


def _held(matter: frozenset[str], there: frozenset[str]) -> int:
    return sum(any(similarity(word, other) >= _ALIKE for other in there) for word in matter)
