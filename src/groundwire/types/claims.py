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
    """What became of a claim once it met its evidence."""

    ENTAILED = "ENTAILED"
    CONTRADICTED = "CONTRADICTED"
    NOT_IN_CONTEXT = "NOT_IN_CONTEXT"
    UNVERIFIABLE = "UNVERIFIABLE"
    UNCHECKED = "UNCHECKED"


class GapType(StrEnum):
    """How a claim and its evidence come apart."""

    UNSUPPORTED = "unsupported"
    PARTIAL_SUPPORT = "partial_support"
    PHANTOM_CITATION = "phantom_citation"
    CONTRADICTED = "contradicted"
    OVER_EXTRAPOLATION = "over_extrapolation"
    EVIDENCE_INDEPENDENT = "evidence_independent"


class Risk(StrEnum):
    """How strongly the response protocol should react."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
    CRITICAL = "critical"


class HallucinationType(StrEnum):
    """The eight kinds the knowledge detectors tell apart."""

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
    """Only assertions are verified; everything else is listed as skipped."""

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
    """A character range, `text[start:end]`, and how strongly it is meant."""

    start: int
    end: int
    score: float = 1.0


@dataclass(frozen=True, slots=True)
class Source:
    """One document that may carry claims. `origin` is the file it came from, if any."""

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
    """All that is to be judged: a response, and what it may rest on. The sole input of the pipeline.

    `history` is the conversation before it, `kb` what is known, `now` the moment it speaks at.
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
    """The smallest piece of a source that can carry a claim: a sentence, a table row, a JSON leaf.

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

    `text` is the assertion without its citation marks; `answer[start:end]` is where it stands.
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
    """A claim and the context to judge it in. `question` is what the answer answered, if known."""

    claim: str
    context: str
    question: str = ""


@dataclass(frozen=True, slots=True)
class Estimate:
    """How likely a claim is, given one context.

    `low`/`high` bound P(yes) where it is uncertain. `error` set means *could not check*: the numbers
    then mean nothing. `spans` are unsupported character ranges of the query's claim text.
    `speaks` says whether the context is about the claim at all (None: the verifier cannot tell).
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

    @classmethod
    def point(cls, p_yes: float, p_no: float, method: str, **more: Any) -> Estimate:
        """An estimate without an interval; what is left after yes and no is unsure."""
        return cls(p_yes, p_no, max(0.0, 1.0 - p_yes - p_no), p_yes, p_yes, method, **more)

    @classmethod
    def failed(cls, error: str, method: str = "none") -> Estimate:
        """The explicit "could not check"."""
        return cls(0.0, 0.0, 1.0, 0.0, 1.0, method, error=error)


@runtime_checkable
class Verifier(Protocol):
    """The one protocol. Models, services, caches, limits and routers all are this.

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
    """Who does or is what: subject, predicate and object, with where they stand in the whole response.

    `predicate` is the normal form ("work in", "founded"); `denied` says that the sentence negates it.
    `subject` is what a pronoun stands for, where it does. Spans are [start, end) into the response.
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
    """Something the response speaks of by name, by description or by pronoun."""

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
    """A point or stretch of time as written, resolved against "now" where it can be.

    `first` and `last` are the ends of the stretch (one day: both the same). `year` where one is written.
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
    """One sentence of the response with all that was found in it."""

    index: int
    text: str
    start: int
    end: int
    claims: tuple[Triple, ...] = ()
    mentions: tuple[Mention, ...] = ()
    times: tuple[TimeExpression, ...] = ()
    assertive: bool = True
