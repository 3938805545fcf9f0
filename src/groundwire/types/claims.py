"""The vocabularies: statuses, kinds of gap, kinds of hallucination, risks, kinds of sentence."""

from __future__ import annotations

from enum import StrEnum


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
