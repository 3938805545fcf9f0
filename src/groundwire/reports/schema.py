"""Response bodies as Pydantic models: the schemas of the OpenAPI document and of the MCP tools."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from groundwire.types import ActionStatus, FactStatus, GapType, HallucinationType, MatchKind, Risk, Status


class SpanOut(BaseModel):
    """An unsupported part of the response, `response[start:end]`."""

    start: int
    end: int
    score: float


class EvidenceOut(BaseModel):
    """A passage of a source that the claim was compared with."""

    source: str
    start: int
    end: int


class SourceShareOut(BaseModel):
    """What one source adds to a claim that is drawn from several."""

    source: str
    p_without: float = Field(description="Probability without this source.")
    bits: float = Field(description="Bits lost when this source alone is taken away.")
    needed: bool = Field(description="Without it the claim is not supported.")


class FeedbackOut(BaseModel):
    right: bool
    supported: bool
    status: Status
    at: str
    note: str


class ClaimOut(BaseModel):
    """One claim: probabilities, bits of evidence, and the verdict."""

    id: str
    text: str
    start: int
    end: int
    citations: list[str]
    evidence: list[EvidenceOut]
    confidence: float = Field(description="Target confidence of the claim.")
    p1: float | None = Field(description="Probability with the evidence.")
    p0: float | None = Field(description="Probability with the evidence removed.")
    required_bits: float | None
    observed_bits: float | None
    budget_gap: float | None = Field(description="required - observed; above 0 the evidence is insufficient.")
    gap_low: float | None
    gap_high: float | None
    certain: bool
    adjusted_confidence: float | None
    evidence_support: float | None = Field(description="p1, or 0 where nothing was measured.")
    evidence_dependence: float | None = Field(description="How much the evidence moves the probability.")
    consistency_score: float | None
    status: Status
    gap_type: GapType | None
    flagged: bool
    reason: str
    method: str
    spans: list[SpanOut]
    key: str = Field(description="Identifies the same claim across reports.")
    feedback: FeedbackOut | None
    shares: list[SourceShareOut] | None = Field(
        default=None, description="Each source's share, where the claim is drawn from several."
    )


class SkippedOut(BaseModel):
    """A sentence without a claim: a question, an instruction, an opinion."""

    text: str
    start: int
    end: int
    kind: str


class GapOut(BaseModel):
    """What a claim lacks, and what to do about it."""

    claim_id: str
    claim_text: str
    gap_type: GapType
    gap_bits: float
    suggested_action: str


class FlagOut(BaseModel):
    """A finding of a knowledge detector."""

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
    flagged: bool | None = Field(description="null if it could not be checked, which is not the same as fine.")
    risk: float | None
    grounding_ratio: float | None
    overall_confidence: float | None
    backend: str
    profile: str
    total_claims: int
    verified_claims: int
    flagged_claims: int
    max_gap_bits: float | None
    has_critical_gaps: bool
    should_retry: bool
    retry_guidance: str | None
    claims: list[ClaimOut]
    skipped: list[SkippedOut]
    gaps: list[GapOut]
    spans: list[SpanOut]
    error: str | None
    flags: list[FlagOut] | None = Field(default=None, description="With `history` or `kb`.")
    detectors_skipped: list[str] | None = None
    repair: RepairOut | None = Field(default=None, description="With `fix`.")


SCHEMA_VERSION = "1.1"
"""Of the report. A new optional key raises the second number; a changed or removed one raises the first."""


def report_schema() -> dict[str, Any]:
    """The JSON Schema of reports; other keys than those that it names are allowed."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:groundwire:report:{SCHEMA_VERSION}",
        **ReportOut.model_json_schema(mode="serialization"),
    }


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
    """A step is judged like a claim, by its sources and by earlier supported steps."""

    cites: list[str]
    premises: list[str]
    contradicts: list[str]
    circular: list[str]


class PostHocOut(BaseModel):
    """The result of deriving the answer from the steps alone."""

    outcome: str
    answer: str
    derived_answer: str
    executor: str
    agreement: float | None
    reason: str


class ActionOut(BaseModel):
    """What an agent says it did; offsets refer to its message."""

    text: str
    start: int
    end: int
    status: ActionStatus
    reason: str
    call: str = Field(description="The tool that was called, if any.")
    flagged: bool


class AuditOut(BaseModel):
    flagged: bool | None
    question: str
    backend: str
    steps: list[StepOut]
    post_hoc: PostHocOut
    actions: list[ActionOut] = Field(default=[], description="Statements of an agent about its tool calls.")
    error: str | None


class EstimateOut(BaseModel):
    """The probability of a claim in its context, or an `error`."""

    probability: float | None
    p_no: float | None = None
    low: float | None = None
    high: float | None = None
    method: str
    reason: str = ""
    spans: list[SpanOut] = Field(default_factory=list, description="Unsupported parts of the claim.")
    speaks: bool | None = Field(default=None, description="False if the context is not about the claim at all.")
    undecided: str = Field("", description="Why the verifier cannot judge this claim, though nothing failed.")
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
    """A stored fact; empty fields are left out."""

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
    reason: str = Field(description="Why it is not verified, if it is not.")


class FactsOut(BaseModel):
    facts: list[FactOut]


class RejectedOut(BaseModel):
    rejected: list[dict[str, Any]]


class EntityOut(BaseModel):
    """A stored entity; empty fields are left out."""

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
    """The size of the knowledge base, and its most common types and predicates."""

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
    drift: str | None = Field(default=None, description="Of answers from the rows of `groundwire calibrate`.")


class SummaryOut(BaseModel):
    """A report in one row. `flagged` is null if it could not be checked."""

    id: str
    kind: str = Field(description="`check`, `audit`, or the interface that made it.")
    created: str
    expires: str
    title: str = Field(description="The question, or the beginning of the answer.")
    flagged: bool | None
    risk: float | None
    grounding_ratio: float | None
    claims: int
    flagged_claims: int
    unchecked: int
    backend: str
    profile: str


class ReportList(BaseModel):
    reports: list[SummaryOut]
    next: str | None = Field(description="Pass it as `before` to get the next page.")


class SourceOut(BaseModel):
    id: str
    text: str
    origin: str


class StoredOut(SummaryOut):
    """A report with its input. A check has `report` and `answer`, an audit has `audit`."""

    report: dict[str, Any] | None = Field(default=None, description="The response of `/v1/check`.")
    audit: dict[str, Any] | None = Field(default=None, description="The response of `/v1/traces/audit`.")
    answer: str | None = None
    question: str
    history: list[Any]
    sources: list[SourceOut]
    sources_kept: bool = Field(description="False if the sources were too large to store.")


class GuardReply(BaseModel):
    """The result of a guarded answer: `text` is what the user should read."""

    kind: Literal["done"]
    text: str
    risk: Risk = Field(description="Risk of the generated text.")
    action: str = Field(description="Action taken: none, mark, rephrase, reformulate, discard.")
    error: str | None = Field(description="Why generation or verification failed, if it did.")
    generated: str = Field(description="The generated text.")
    knowledge: dict[str, Any] | None
    coherence: dict[str, Any] | None
    attributions: list[dict[str, Any]]
    warnings: list[dict[str, Any]]
    weak_points: list[dict[str, Any]]
    report: ReportOut | None


class KnownDocument(BaseModel):
    id: str
    title: str
    passages: int
    characters: int


class Documents(BaseModel):
    """`meaning` is true if passages are retrieved by embeddings as well as by words."""

    documents: list[KnownDocument]
    meaning: bool


class Removed(BaseModel):
    removed: int
