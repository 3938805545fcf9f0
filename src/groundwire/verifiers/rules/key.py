"""What a claim is about, apart from one value of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import fsum, log

from groundwire.text.names import Name, key
from groundwire.verifiers.lexical.pieces import Analysis
from groundwire.verifiers.rules.statements import Statement
from groundwire.verifiers.rules.values import ClaimValue

_RARE = 0.6


def term_weights(claim: Analysis, statements: Sequence[Statement]) -> dict[str, float]:
    """Words that few statements have tell which one is meant; words that none has tell nothing here."""
    found = {}
    for norm in {word.norm for word in claim.content}:
        holders = sum(norm in statement.norms for statement in statements)
        if holders:
            found[norm] = log(1.3 + len(statements) / holders)
    return found


@dataclass(frozen=True, slots=True)
class Key:
    """The thing a claim is about, what it says of it, and how much each of these words tells."""

    subject: frozenset[str]
    relation: Mapping[str, float]
    weights: Mapping[str, float]

    @classmethod
    def of(cls, claim: Analysis, value: ClaimValue, weights: Mapping[str, float]) -> Key | None:
        """The claim without a value: its other names are its subject, else its rarest words."""
        names = {n for name in claim.names if name.start != value.start and name.sure for n in key(name.text)}
        wanted = {norm: weight for norm, weight in weights.items() if norm not in value.own}
        subject = frozenset(names & wanted.keys())
        if not subject:
            top = max(wanted.values(), default=0.0)
            subject = frozenset(norm for norm, weight in wanted.items() if weight > _RARE * top)
        return cls._made(subject, wanted)

    @classmethod
    def about(cls, claim: Analysis, subject: Name, weights: Mapping[str, float]) -> Key | None:
        """The claim as said of one of its names, all of which the sources must know."""
        own = frozenset(key(subject.text))
        return cls._made(own, dict(weights)) if own <= weights.keys() and claim.content else None

    @classmethod
    def _made(cls, subject: frozenset[str], wanted: Mapping[str, float]) -> Key | None:
        relation = {norm: weight for norm, weight in wanted.items() if norm not in subject}
        return cls(subject, relation, wanted) if subject else None

    def names_it(self, statement: Statement) -> bool:
        return self.subject <= statement.norms

    def relation_in(self, statement: Statement) -> float:
        return _share(self.relation, statement)

    def cover(self, statement: Statement) -> float:
        return _share(self.weights, statement)


def _share(weights: Mapping[str, float], statement: Statement) -> float:
    total = fsum(weights.values())
    held = fsum(weight for norm, weight in weights.items() if norm in statement.norms)
    return held / total if total else 0.0
