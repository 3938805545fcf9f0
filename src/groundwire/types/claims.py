"""Inputs of a check: sources, claims, sentences taken apart, and the verifier protocol.

All records are frozen dataclasses or string enums. Offsets count characters of the text as it was given.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Protocol, runtime_checkable

from groundwire.types.knowledge import KnowledgeBase


class Status(StrEnum):
    """Verdict on a claim. UNCHECKED means the verifier could not answer, which is not the same as fine."""

    ENTAILED = "ENTAILED"
    CONTRADICTED = "CONTRADICTED"
    NOT_IN_CONTEXT = "NOT_IN_CONTEXT"
    UNVERIFIABLE = "UNVERIFIABLE"
    UNCHECKED = "UNCHECKED"

    @property
    def words(self) -> str:
        """What users read for it, everywhere but in JSON."""
        return _STATUS_WORDS[self]


_STATUS_WORDS = {
    Status.ENTAILED: "supported",
    Status.CONTRADICTED: "contradicted",
    Status.NOT_IN_CONTEXT: "not in the sources",
    Status.UNVERIFIABLE: "could not be checked",
    Status.UNCHECKED: "could not be checked",
}


class GapType(StrEnum):
    """Why a claim was flagged."""

    UNSUPPORTED = "unsupported"
    PARTIAL_SUPPORT = "partial_support"
    PHANTOM_CITATION = "phantom_citation"
    CONTRADICTED = "contradicted"
    OVER_EXTRAPOLATION = "over_extrapolation"
    EVIDENCE_INDEPENDENT = "evidence_independent"
    KNOWN_NOT_IN_SOURCES = "known_not_in_sources"


class Risk(StrEnum):
    """Risk levels; the configuration maps each to an action."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
    CRITICAL = "critical"


class HallucinationType(StrEnum):
    """The eight kinds of hallucination, one per detector."""

    FABRICATED_FACT = "FabricatedFact"
    NONEXISTENT_ENTITY = "NonexistentEntity"
    WRONG_ATTRIBUTE = "WrongAttribute"
    CONTRADICTS_FACT = "ContradictsFact"
    CONTRADICTS_PRIOR = "ContradictsPrior"
    UNSUPPORTED_CLAIM = "UnsupportedClaim"
    TEMPORAL_ERROR = "TemporalError"
    LOGICAL_INCONSISTENCY = "LogicalInconsistency"

    @property
    def base_severity(self) -> float:
        return _TAXONOMY[self][0]

    @property
    def description(self) -> str:
        return _TAXONOMY[self][1]


# Base severity (0 to 1, fixed by the specification) and the message shown to users.
_TAXONOMY: dict[HallucinationType, tuple[float, str]] = {
    HallucinationType.FABRICATED_FACT: (0.95, "This fact could not be verified"),
    HallucinationType.NONEXISTENT_ENTITY: (0.90, "This entity could not be found"),
    HallucinationType.WRONG_ATTRIBUTE: (0.75, "This attribute appears incorrect"),
    HallucinationType.CONTRADICTS_FACT: (0.95, "This contradicts known information"),
    HallucinationType.CONTRADICTS_PRIOR: (0.80, "This contradicts earlier in the conversation"),
    HallucinationType.UNSUPPORTED_CLAIM: (0.50, "This claim has no supporting evidence"),
    HallucinationType.TEMPORAL_ERROR: (0.65, "The timeline appears incorrect"),
    HallucinationType.LOGICAL_INCONSISTENCY: (0.60, "This contains a logical contradiction"),
}


class ClaimKind(StrEnum):
    """The kind of a sentence. Only assertions are verified; the rest is reported as skipped."""

    ASSERTION = "assertion"
    QUESTION = "question"
    INSTRUCTION = "instruction"
    HEDGE = "hedge"
    REFUSAL = "refusal"
    META = "meta"


class UnitKind(StrEnum):
    SENTENCE = "sentence"
    ROW = "row"
    LEAF = "leaf"


@dataclass(frozen=True, slots=True)
class Span:
    """A character range, `text[start:end]`; `score` is the weight of a highlighted span."""

    start: int
    end: int
    score: float = 1.0


@dataclass(frozen=True, slots=True)
class Source:
    """One source document. `origin` is the file it was read from, if any."""

    id: str
    text: str
    origin: str = ""


@dataclass(frozen=True, slots=True)
class Turn:
    """One message of the conversation so far. `id` is its number, from 1."""

    id: int
    role: str
    text: str


@dataclass(frozen=True, slots=True)
class Case:
    """A response and everything it may be checked against: the only input of the pipeline.

    `history` is the conversation before the response, `kb` a knowledge base, `now` the reference time for
    relative dates.
    """

    response: str
    sources: tuple[Source, ...]
    question: str = ""
    id: str = ""
    history: tuple[Turn, ...] = ()
    kb: KnowledgeBase | None = None
    now: datetime | None = None


@dataclass(frozen=True, slots=True)
class Unit:
    """The smallest retrievable piece of a source: a sentence, a table row or a JSON leaf.

    `source.text[start:end]` is the raw piece; `text` is the same in readable form
    (a JSON leaf with its path, a row with its column names).
    """

    source: str
    start: int
    end: int
    text: str
    kind: UnitKind = UnitKind.SENTENCE


@dataclass(frozen=True, slots=True)
class Claim:
    """One verifiable assertion, or a skipped sentence (`kind` tells which).

    `text` is the assertion without its citation marks; `answer[start:end]` is the original.
    """

    id: str
    text: str
    start: int
    end: int
    citations: tuple[str, ...] = ()
    confidence: float = 0.95
    kind: ClaimKind = ClaimKind.ASSERTION


@dataclass(frozen=True, slots=True)
class Query:
    """A claim and the context to verify it against. `question` is the user's question, if known."""

    claim: str
    context: str
    question: str = ""


@dataclass(frozen=True, slots=True)
class Estimate:
    """Probability that a context supports a claim.

    `low` and `high` bound P(yes) if it is uncertain. If `error` is set, the claim could not be checked and
    the numbers are meaningless. `spans` are unsupported character ranges of the claim text. `speaks` tells
    if the context is about the topic of the claim (None: unknown). `undecided` says why the verifier cannot
    judge this claim, though nothing failed: it becomes UNVERIFIABLE.
    """

    p_yes: float
    p_no: float
    p_unsure: float
    low: float
    high: float
    method: str
    reason: str = ""
    spans: tuple[Span, ...] = ()
    speaks: bool | None = None
    error: str | None = None
    cached: bool = False
    undecided: str = ""

    @classmethod
    def point(cls, p_yes: float, p_no: float, method: str, **more: Any) -> Estimate:
        """An estimate without an interval; the remainder after yes and no is unsure."""
        return cls(p_yes, p_no, max(0.0, 1.0 - p_yes - p_no), p_yes, p_yes, method, **more)

    @classmethod
    def failed(cls, error: str, method: str = "none") -> Estimate:
        """An estimate that says the query could not be checked."""
        return cls(0.0, 0.0, 1.0, 0.0, 1.0, method, error=error)


@runtime_checkable
class Verifier(Protocol):
    """The verifier protocol, implemented by models, services, caches, rate limiters and routers alike.

    Returns exactly one estimate per query, in order. A query that cannot be judged yields
    `Estimate.failed(...)`; an exception means that none of them could be.
    """

    async def estimate(self, queries: Sequence[Query]) -> list[Estimate]: ...


class Tense(StrEnum):
    PAST = "past"
    PRESENT = "present"
    FUTURE = "future"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Triple:
    """A subject-predicate-object triple with its offsets in the response.

    `predicate` is in normal form ("work in", "founded"); `denied` marks a negated statement. If the subject
    is a pronoun that could be resolved, `subject` is its antecedent. Spans are [start, end) in the response.
    """

    subject: str
    predicate: str
    object: str
    start: int
    end: int
    subject_span: tuple[int, int]
    object_span: tuple[int, int]
    denied: bool = False
    quantifier: str = ""
    text: str = ""
    tense: Tense = Tense.NONE

    def __str__(self) -> str:
        return self.text or f"{self.subject} {self.predicate} {self.object}"


class MentionKind(StrEnum):
    PROPER_NAME = "ProperName"
    DEFINITE = "DefiniteDesc"
    PRONOUN = "Pronoun"


@dataclass(frozen=True, slots=True)
class Mention:
    """A mention of an entity by name, description or pronoun; `resolved` is the antecedent of a pronoun."""

    text: str
    start: int
    end: int
    kind: MentionKind
    resolved: str = ""


class TimeRelation(StrEnum):
    BEFORE = "before"
    AFTER = "after"
    START = "start"
    END = "end"


@dataclass(frozen=True, slots=True)
class TimeExpression:
    """A time expression, resolved against "now" if possible.

    `first` and `last` are the first and last day of the period. `year` is set if a year is written.
    """

    text: str
    start: int
    end: int
    first: datetime | None = None
    last: datetime | None = None
    year: int | None = None
    tense: Tense = Tense.NONE
    relation: TimeRelation | None = None


@dataclass(frozen=True, slots=True)
class Segment:
    """One sentence of the response with its triples, mentions and time expressions."""

    index: int
    text: str
    start: int
    end: int
    claims: tuple[Triple, ...] = ()
    mentions: tuple[Mention, ...] = ()
    times: tuple[TimeExpression, ...] = ()
    assertive: bool = True
