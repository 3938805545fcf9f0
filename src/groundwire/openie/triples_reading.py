"""What the grammar reads a sentence into: phrases, verbs, clauses and ties between phrases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from groundwire.openie.lexicon import Tag, Token
from groundwire.types import Tense


@dataclass(frozen=True, slots=True)
class Phrase:
    """A noun phrase: tokens [first, last), its head, who owns it and what it is of, and what else it
    joins.
    """

    first: int
    last: int
    head: int
    owner: Phrase | None = None
    of: Phrase | None = None
    determiner: str = ""
    core: int = 0
    """Where it ends without its "of …"."""


@dataclass(frozen=True, slots=True)
class Verb:
    """`lemma` of the active verb, the participle of the passive one, or "be" and "have"."""

    lemma: str
    passive: bool = False
    denied: bool = False
    real: bool = True
    tense: Tense = Tense.NONE
    start: int = 0


@dataclass(frozen=True, slots=True)
class Clause:
    """One subject with one verb; `objects` are coordinated; `tails` are (preposition, phrases) in order."""

    subject: Phrase
    verb: Verb
    objects: tuple[Phrase, ...] = ()
    tails: tuple[tuple[str, tuple[Phrase, ...]], ...] = ()
    denied_objects: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Tie:
    """Two phrases side by side: "Sarah from the Analytics team", "Sarah, our CEO,"; `word` is "from" or
    "be".
    """

    left: Phrase
    word: str
    right: Phrase


@dataclass(slots=True)
class Reading:
    """The sentence being read."""

    tokens: Sequence[Token]
    clauses: list[Clause] = field(default_factory=list)
    ties: list[Tie] = field(default_factory=list)

    def tag(self, at: int) -> Tag | None:
        return self.tokens[at].tag if 0 <= at < len(self.tokens) else None

    def low(self, at: int) -> str:
        return self.tokens[at].low if 0 <= at < len(self.tokens) else ""
