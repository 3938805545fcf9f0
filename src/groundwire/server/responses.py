"""What the server answers, as models: the OpenAPI document is made from them, and answers are held to it."""

from __future__ import annotations

import json
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from groundwire.types import FactStatus, GapType, HallucinationType, MatchKind, Status


def answered(found: object, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """JSON as the command line prints it."""
    return written(json.dumps(found, ensure_ascii=False, indent=2), status, headers)


def written(text: str, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    body = f"{text}\n".encode("utf-8", "backslashreplace")
    return Response(body, status, headers, "application/json")


class SpanOut(BaseModel):
    """Characters of the response, `response[start:end]`, that nothing supports."""

    start: int
    end: int
    score: float


class EvidenceOut(BaseModel):
    """Where in a source the claim was looked up."""

    source: str
    start: int
    end: int


class FeedbackOut(BaseModel):
    right: bool
    supported: bool
    status: Status
    at: str
    note: str


class ClaimOut(BaseModel):
    """One claim: what was measured, in probabilities and bits, and what follows."""

    id: str
    text: str
    start: int
    end: int
    citations: list[str]
    evidence: list[EvidenceOut]
    confidence: float = Field(description="What the claim must reach.")
    p1: float | None = Field(description="How likely it is with its evidence.")
    p0: float | None = Field(description="How likely it is with the evidence removed.")
    required_bits: float | None
    observed_bits: float | None
    budget_gap: float | None = Field(description="required - observed; above 0 the evidence falls short.")
    gap_low: float | None
    gap_high: float | None
    certain: bool
    adjusted_confidence: float | None
    status: Status
    gap_type: GapType | None
    flagged: bool
    reason: str
    method: str
    spans: list[SpanOut]
    key: str = Field(description="Names the claim in every report it stands in.")
    feedback: FeedbackOut | None


class SkippedOut(BaseModel):
    """A sentence that claims nothing: a question, an instruction, an opinion."""

    text: str
    start: int
    end: int
    kind: str


class FlagOut(BaseModel):
    """What a knowledge detector found."""

    type: HallucinationType
    start: int
    end: int
    content: str
    confidence: float
    score: float | None
    severity: float
    description: str
    suggestion: str
    evidence: str
    correction: str | None
    source: str | None
    contradiction: str | None


class RepairOut(BaseModel):
    text: str
    actions: list[dict[str, Any]]
    edits: list[dict[str, Any]]
    guidance: str | None


class ReportOut(BaseModel):
    """The report, exactly as `groundwire check --json` prints it."""

    model_config = ConfigDict(title="Report", extra="allow")

    id: str
    flagged: bool | None = Field(description="null: it could not be checked, which is not the same as fine.")
    risk: float | None
    grounding_ratio: float | None
    overall_confidence: float | None
    backend: str
    profile: str
    claims: list[ClaimOut]
    skipped: list[SkippedOut]
    spans: list[SpanOut]
    error: str | None
    flags: list[FlagOut] | None = Field(default=None, description="With `history` or `kb`.")
    detectors_skipped: list[str] | None = None
    repair: RepairOut | None = Field(default=None, description="With `fix`.")


class VerificationsOut(BaseModel):
    """The verdict on each claim, in order."""

    backend: str
    profile: str
    claims: list[ClaimOut]


class DetectionOut(BaseModel):
    flagged: bool
    flags: list[FlagOut]
    detectors_skipped: list[str]


class StepOut(ClaimOut):
    """A step is judged like a claim, by its sources and by the steps before it that held."""

    cites: list[str]
    premises: list[str]
    contradicts: list[str]
    circular: list[str]


class PostHocOut(BaseModel):
    """Whether the answer follows from the steps alone."""

    outcome: str
    answer: str
    derived_answer: str
    executor: str
    agreement: float | None
    reason: str


class AuditOut(BaseModel):
    flagged: bool | None
    question: str
    backend: str
    steps: list[StepOut]
    post_hoc: PostHocOut
    error: str | None


class EstimateOut(BaseModel):
    """How likely a claim is in its context; `error` where that could not be found out."""

    probability: float | None
    p_no: float | None = None
    low: float | None = None
    high: float | None = None
    method: str
    reason: str = ""
    spans: list[SpanOut] = Field(default_factory=list, description="Characters of the claim.")
    speaks: bool | None = Field(default=None, description="Whether the context is about the claim at all.")
    error: str | None = None


class EstimatesOut(BaseModel):
    estimates: list[EstimateOut]


class ValueOut(BaseModel):
    text: str
    kind: str
    number: float | None = None
    unit: str | None = None
    day: str | None = None
    entity: str | None = None


class RoleOut(BaseModel):
    name: str
    value: ValueOut


class RecordOut(BaseModel):
    p0: float
    p1: float
    bits: float
    method: str


class FactOut(BaseModel):
    """A fact as it is kept; what is empty is left out."""

    kind: Literal["fact"]
    id: str
    predicate: str
    roles: list[RoleOut]
    text: str | None = None
    confidence: float
    status: FactStatus
    many: bool | None = None
    source: str
    start: int | None = None
    end: int | None = None
    recorded: str | None = None
    record: RecordOut | None = None
    superseded_by: str | None = None
    valid_from: str | None = None
    valid_to: str | None = None


class KeptFactOut(FactOut):
    reason: str = Field(description="Why it is not verified, where it is not.")


class FactsOut(BaseModel):
    facts: list[FactOut]


class RejectedOut(BaseModel):
    rejected: list[dict[str, Any]]


class EntityOut(BaseModel):
    """An entity as it is kept; what is empty is left out."""

    kind: Literal["entity"]
    id: str
    name: str
    type: str | None = None
    aliases: list[str] | None = None
    attributes: list[dict[str, Any]] | None = None


class FoundEntityOut(EntityOut):
    match: MatchKind
    score: float


class EntitiesOut(BaseModel):
    entities: list[FoundEntityOut]


class KnownOut(BaseModel):
    entity: EntityOut
    facts: list[FactOut]


class KnowledgeOut(BaseModel):
    """How much is known; the commonest types and predicates."""

    entities: int
    names: int
    attributes: int
    facts: int
    by_status: dict[str, int]
    types: dict[str, int]
    predicates: dict[str, int]


class HealthOut(BaseModel):
    status: Literal["ok"]
    version: str


class ReadyOut(BaseModel):
    status: Literal["ready"]
    model: str
    store: str
