"""Records shared by all packages, each defined once: claims, knowledge, reports, traces. Streams are in `stream`.

All are frozen dataclasses or string enums. Offsets count characters of the text as it was given.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from enum import StrEnum
from functools import singledispatch
from typing import Any, Protocol, Self, runtime_checkable

# ---- knowledge bases: entities with attributes, facts, and the protocol to query them


class ValueKind(StrEnum):
    TEXT = "text"
    NUMBER = "number"
    DATE = "date"
    REFERENCE = "reference"


@dataclass(frozen=True, slots=True)
class Value:
    """One value: `text` as written, and its parsed form.

    `number` with `unit` for numbers, `day` for dates, `entity` (an id) for references.
    """

    text: str
    kind: ValueKind = ValueKind.TEXT
    number: float | None = None
    unit: str = ""
    day: date | None = None
    entity: str = ""


@dataclass(frozen=True, slots=True)
class Attribute:
    """A named value of an entity. `many` attributes may hold several at once (languages spoken)."""

    name: str
    value: Value
    many: bool = False
    valid_from: date | None = None
    valid_to: date | None = None

    def holds_on(self, day: date) -> bool:
        """Return True if the attribute is valid on that day; an open end never expires."""
        return (self.valid_from is None or self.valid_from <= day) and (self.valid_to is None or day <= self.valid_to)


@dataclass(frozen=True, slots=True)
class Entity:
    id: str
    name: str
    type: str = ""
    aliases: tuple[str, ...] = ()
    attributes: tuple[Attribute, ...] = ()

    def values_of(self, name: str, on: date | None = None) -> list[Attribute]:
        """The attributes of that name, restricted to those valid on a day if one is given."""
        return [a for a in self.attributes if a.name == name and (on is None or a.holds_on(on))]


class FactStatus(StrEnum):
    """`unverified` facts were stored because the verifier failed; the last two are history."""

    VERIFIED = "verified"
    ASSERTED = "asserted"
    UNVERIFIED = "unverified"
    PENDING = "pending"
    SUPERSEDED = "superseded"
    RETRACTED = "retracted"


@dataclass(frozen=True, slots=True)
class Provenance:
    """The origin of a fact: `source[start:end]`, and when it was recorded."""

    source: str = ""
    start: int | None = None
    end: int | None = None
    recorded: datetime | None = None


@dataclass(frozen=True, slots=True)
class Record:
    """The verification record of a fact."""

    p0: float
    p1: float
    bits: float
    method: str = ""


@dataclass(frozen=True, slots=True)
class Role:
    """One role of a fact (subject, object, place, since, …) and its value."""

    name: str
    value: Value


@dataclass(frozen=True, slots=True)
class Fact:
    """A hyperedge: a predicate with any number of entities and values in named roles.

    `text` is the original sentence, if it was given as one. `many` predicates may have several objects at
    once.
    """

    id: str
    predicate: str
    roles: tuple[Role, ...]
    confidence: float = 1.0
    status: FactStatus = FactStatus.ASSERTED
    provenance: Provenance = Provenance()
    record: Record | None = None
    text: str = ""
    many: bool = False
    superseded_by: str = ""
    valid_from: date | None = None
    valid_to: date | None = None

    def role(self, name: str) -> Value | None:
        """The first value in that role."""
        return next((role.value for role in self.roles if role.name == name), None)


class MatchKind(StrEnum):
    EXACT = "exact"
    ALIAS = "alias"
    FUZZY = "fuzzy"


@dataclass(frozen=True, slots=True)
class Match:
    """An entity found for a name; `score` is the similarity (1.0 unless fuzzy)."""

    entity: Entity
    kind: MatchKind
    score: float = 1.0


@dataclass(frozen=True, slots=True)
class Coverage:
    """The coverage of a knowledge base; "not found" is evidence only within its coverage.

    `types` counts the entities per type, `only` maps a type with a single entity to its id, `predicates` are
    all attribute names and fact predicates.
    """

    types: Mapping[str, int] = field(default_factory=dict)
    only: Mapping[str, str] = field(default_factory=dict)
    predicates: frozenset[str] = frozenset()


@runtime_checkable
class KnowledgeBase(Protocol):
    """The read interface of a knowledge base. Names are compared case-insensitively."""

    def find(self, names: Sequence[str], *, fuzzy: bool = True) -> dict[str, Match]:
        """Find the entity of each name: by exact name, then alias, then fuzzy match."""
        ...

    def similar(self, name: str, at_least: float = 0.8, limit: int = 5) -> list[Match]:
        """Find entities with a similar name or alias, best first."""
        ...

    def entities(self, ids: Sequence[str]) -> dict[str, Entity]: ...

    def facts_about(self, ids: Sequence[str], limit: int = 1000) -> list[Fact]:
        """Return the current facts in which any of these entities has a role."""
        ...


@runtime_checkable
class CoverageProvider(Protocol):
    """A knowledge base that can report its coverage."""

    def coverage(self) -> Coverage: ...

    def values(self, names: Sequence[str]) -> set[str]:
        """Return the names that occur as an attribute value or in a role of a fact."""
        ...


# ---- inputs of a check: sources, claims, sentences taken apart, and the verifier protocol


class Status(StrEnum):
    """Verdict on a claim. UNCHECKED means the verifier could not answer, which is not the same as fine."""

    words: str  # what users read for it, everywhere but in JSON

    ENTAILED = "ENTAILED", "supported"
    CONTRADICTED = "CONTRADICTED", "contradicted"
    NOT_IN_CONTEXT = "NOT_IN_CONTEXT", "not in the sources"
    UNVERIFIABLE = "UNVERIFIABLE", "could not be checked"
    UNCHECKED = "UNCHECKED", "could not be checked"

    def __new__(cls, value: str, words: str = "") -> Self:  # a default, so that type checkers allow Status("ENTAILED")
        member = str.__new__(cls, value)
        member._value_, member.words = value, words
        return member


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

    base_severity: float  # 0 to 1, fixed by the specification
    description: str  # the message shown to users

    FABRICATED_FACT = "FabricatedFact", 0.95, "This fact could not be verified"
    NONEXISTENT_ENTITY = "NonexistentEntity", 0.90, "This entity could not be found"
    WRONG_ATTRIBUTE = "WrongAttribute", 0.75, "This attribute appears incorrect"
    CONTRADICTS_FACT = "ContradictsFact", 0.95, "This contradicts known information"
    CONTRADICTS_PRIOR = "ContradictsPrior", 0.80, "This contradicts earlier in the conversation"
    UNSUPPORTED_CLAIM = "UnsupportedClaim", 0.50, "This claim has no supporting evidence"
    TEMPORAL_ERROR = "TemporalError", 0.65, "The timeline appears incorrect"
    LOGICAL_INCONSISTENCY = "LogicalInconsistency", 0.60, "This contains a logical contradiction"

    def __new__(cls, value: str, base_severity: float = 0.0, description: str = "") -> Self:
        member = str.__new__(cls, value)
        member._value_, member.base_severity, member.description = value, base_severity, description
        return member


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


# ---- results of a check: claim verdicts, detector flags, repairs and the report that holds them

NOTHING_TO_CHECK = "NOTHING_TO_CHECK"
"""The `error` of a report on text that asserts nothing: neither flagged nor fine."""


@singledispatch
def as_html(result: object) -> str | None:  # noqa: ARG001 (what has no look of its own is shown as text)
    """Render a result as an HTML fragment, or None if no renderer is registered for its type.

    `reports/json.py` registers the renderers, so the records themselves know nothing about HTML. Notebooks call
    it by the name `_repr_html_`.
    """
    return None


@singledispatch
def as_object(result: object) -> dict[str, Any]:
    """The JSON object of a result. `reports/json.py` registers the records that have one."""
    raise TypeError(f"{type(result).__name__} has no JSON form")


@singledispatch
def as_table(result: object) -> Any:
    """A result as a pandas DataFrame. `reports/json.py` registers the records that have one."""
    raise TypeError(f"{type(result).__name__} has no table form")


@dataclass(frozen=True, slots=True)
class Feedback:
    """A user's judgement of a verdict at the time it was given.

    `right` refers to that verdict; `supported` is the label it implies for the claim itself.
    """

    right: bool
    status: Status
    flagged: bool
    at: datetime
    note: str = ""

    @property
    def supported(self) -> bool:
        return self.right != self.flagged


@dataclass(frozen=True, slots=True)
class EvidenceRef:
    """A passage of a source used as evidence for a claim."""

    source: str
    start: int
    end: int
    text: str = ""


@dataclass(frozen=True, slots=True)
class SourceShare:
    """What one source adds to a claim drawn from several: the bits lost when it alone is taken away.

    `p_without` is the probability without it; a source is `needed` if the claim is not supported then.
    """

    source: str
    p_without: float
    bits: float
    needed: bool


_REPR_CHARS = 60
"""Characters of a claim in its repr: a list of claims stays readable in a shell."""


@dataclass(frozen=True, slots=True, repr=False)
class ClaimVerification:
    """The verdict on one claim: its probabilities with and without evidence, and its budget in bits.

    `id`, `text` and `flagged` are the names used in the JSON; `claim_id`, `claim_text` and `is_flagged` are
    the names of the specification.
    """

    claim_id: str
    claim_text: str
    start: int
    end: int
    citations: tuple[str, ...]
    evidence: tuple[EvidenceRef, ...]
    confidence: float
    p1: float | None
    p0: float | None
    required_bits: float | None
    observed_bits: float | None
    budget_gap: float | None
    gap_low: float | None
    gap_high: float | None
    status: Status
    gap_type: GapType | None
    is_flagged: bool
    reason: str
    certain: bool
    method: str
    spans: tuple[Span, ...] = ()
    consistency_score: float | None = None
    adjusted_confidence: float | None = None
    feedback: Feedback | None = None
    shares: tuple[SourceShare, ...] = ()

    @property
    def id(self) -> str:
        return self.claim_id

    @property
    def text(self) -> str:
        return self.claim_text

    @property
    def flagged(self) -> bool:
        return self.is_flagged

    @property
    def key(self) -> str:
        """A stable identifier across reports, derived from the text, the citations and the evidence used.

        Only the passages used as evidence count, so adding an unrelated source does not change the key.
        """
        text = " ".join(self.claim_text.split())
        parts = [text, sorted(self.citations), sorted({ref.text for ref in self.evidence})]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:12]

    @property
    def evidence_ids(self) -> list[str]:
        """The cited sources or, without citations, the sources used as evidence."""
        return list(self.citations) or list(dict.fromkeys(ref.source for ref in self.evidence))

    @property
    def evidence_support(self) -> float | None:
        """P(supported) given the evidence, 0 to 1; None if the claim could not be checked."""
        return None if self.status is Status.UNCHECKED else self.p1 or 0.0

    @property
    def evidence_dependence(self) -> float | None:
        """Change of probability when the evidence is removed, 0 to 1; None if it could not be checked."""
        if self.status is Status.UNCHECKED or (self.p1 is not None and self.p0 is None):
            return None
        return abs((self.p1 or 0.0) - (self.p0 or 0.0))

    @property
    def confidence_justified(self) -> bool:
        return self.status is Status.ENTAILED and not self.is_flagged

    @property
    def evidence_gap_bits(self) -> float | None:
        """None if no verifier answered: an unmeasured gap is not a gap of 0."""
        return self.budget_gap

    @property
    def flag_reason(self) -> str | None:
        if not self.is_flagged:
            return None
        return self.gap_type.value if self.gap_type else self.status.value.lower()

    def __repr__(self) -> str:
        text = self.claim_text
        shown = text if len(text) <= _REPR_CHARS else f"{text[: _REPR_CHARS - 1]}…"
        support = "" if self.p1 is None else f", p1={self.p1:.2f}"
        return f"ClaimVerification({self.claim_id}, {self.status.value}{support}, {shown!r})"

    def to_dict(self) -> dict[str, Any]:
        """The claim as in the JSON of a report."""
        return as_object(self)

    def _repr_html_(self) -> str | None:
        return as_html(self)


@dataclass(frozen=True, slots=True)
class EpistemicGap:
    """A gap between a claim and its evidence, with a suggested action."""

    claim_id: str
    claim_text: str
    gap_type: GapType
    gap_bits: float
    suggested_action: str


class ContradictionType(StrEnum):
    DIRECT_NEGATION = "DirectNegation"
    INCOMPATIBLE_VALUES = "IncompatibleValues"
    TEMPORAL_IMPOSSIBILITY = "TemporalImpossibility"
    LOGICAL_IMPOSSIBILITY = "LogicalImpossibility"


@dataclass(frozen=True, slots=True)
class Flag:
    """A hallucination found by a detector.

    `correction` is the text to put at the range `fix`, if known, and `source` where it comes from.
    `related` holds evidence by kind (kb_lookup, history_match, linguistic). `score` is the confidence refined
    by all evidence; thresholds act on `confidence`. `prior` is the earlier statement that is contradicted and
    `turn` its turn.
    """

    type: HallucinationType
    start: int
    end: int
    content: str
    confidence: float
    suggestion: str = ""
    evidence: str = ""
    correction: str = ""
    fix: tuple[int, int] | None = None
    source: str = ""
    contradiction: ContradictionType | None = None
    related: tuple[tuple[str, str], ...] = ()
    score: float | None = None
    prior: str = ""
    turn: int | None = None

    @property
    def severity(self) -> float:
        return self.type.base_severity


HIGH_CONFIDENCE = 0.8
"""The confidence from which a flag is counted as high; a convention of logs and stored paths."""


@dataclass(frozen=True, slots=True)
class Detection:
    """Result of the detectors for one response.

    `known` is what the knowledge base holds about the entities named, one fact per line. `skipped` lists the
    detectors that were disabled or lacked input (no knowledge base, no history), `errors` those that failed.
    """

    flags: tuple[Flag, ...] = ()
    segments: tuple[Segment, ...] = ()
    entities_verified: int = 0
    claims_checked: int = 0
    seconds: float = 0.0
    known: str = ""
    skipped: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()

    def _repr_html_(self) -> str | None:
        return as_html(self)

    @property
    def high_confidence(self) -> int:
        """The number of flags with a confidence of at least `HIGH_CONFIDENCE`."""
        return sum(flag.confidence >= HIGH_CONFIDENCE for flag in self.flags)


class ActionKind(StrEnum):
    NONE = "None"
    FLAG = "Flag"
    CORRECT = "Correct"
    REMOVE = "Remove"
    REGENERATE = "Regenerate"
    ESCALATE = "Escalate"


@dataclass(frozen=True, slots=True)
class Action:
    """The action for one flag or, for Regenerate and Escalate, for the whole response."""

    kind: ActionKind
    start: int = 0
    end: int = 0
    original: str = ""
    replacement: str = ""
    annotation: str = ""
    reason: str = ""
    source: str = ""
    guidance: str = ""
    flag: Flag | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Edit:
    """One edit of a repair: `original[start:end]` became `text[new_start:new_end]`."""

    start: int
    end: int
    new_start: int
    new_end: int
    before: str
    after: str
    action: Action


@dataclass(frozen=True, slots=True)
class Repair:
    """A response after its actions were applied, with the edits that were made."""

    original: str
    text: str
    edits: tuple[Edit, ...] = ()
    actions: tuple[Action, ...] = ()

    @property
    def guidance(self) -> str:
        """Instructions for the model if the response should be regenerated, else an empty string."""
        return "\n".join(a.guidance for a in self.actions if a.kind is ActionKind.REGENERATE)


@dataclass(frozen=True, slots=True, repr=False)
class HallucinationReport:
    """The result of checking one response.

    `risk`, `grounding_ratio` and `overall_confidence` cover the claims that could be checked. If none could,
    the last two and `flagged` are None.
    """

    response_id: str
    response: str
    backend: str
    profile: str
    claims: tuple[ClaimVerification, ...]
    skipped: tuple[Claim, ...]
    gaps: tuple[EpistemicGap, ...]
    spans: tuple[Span, ...]
    flagged: bool | None
    risk: float | None
    grounding_ratio: float | None
    overall_confidence: float | None
    has_critical_gaps: bool
    should_retry: bool
    retry_guidance: str | None
    error: str | None = None
    detection: Detection | None = None
    repair: Repair | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)

    @property
    def flags(self) -> tuple[Flag, ...]:
        """Flags of the detectors; empty if they did not run."""
        return self.detection.flags if self.detection else ()

    @property
    def total_claims(self) -> int:
        return len(self.claims)

    @property
    def verified_claims(self) -> int:
        """Claims that were checked and found supported."""
        return sum(c.status is Status.ENTAILED and not c.is_flagged for c in self.claims)

    @property
    def flagged_claims(self) -> list[ClaimVerification]:
        """The flagged claims. In JSON, `flagged_claims` is their number."""
        return [c for c in self.claims if c.is_flagged]

    @property
    def max_gap_bits(self) -> float | None:
        """The largest measured gap; None if there are claims but no gap was measured."""
        gaps = [c.budget_gap for c in self.claims if c.budget_gap is not None]
        return max(gaps, default=None if self.claims else 0.0)

    def __repr__(self) -> str:
        counts = f"{len(self.flagged_claims)} of {self.total_claims} claims flagged"
        error = f", error={self.error!r}" if self.error else ""
        return f"HallucinationReport({self.response_id!r}, flagged={self.flagged}, {counts}{error})"

    def to_dict(self) -> dict[str, Any]:
        """The report as `groundwire check --json` prints it."""
        return as_object(self)

    def to_json(self, indent: int | None = 2) -> str:
        return json.dumps(self.to_dict(), ensure_ascii=False, indent=indent)

    def to_pandas(self) -> Any:
        """A DataFrame with one row per claim; needs the extra `pandas`."""
        return as_table(self)

    def _repr_html_(self) -> str | None:
        return as_html(self)


class OutputStatus(StrEnum):
    VERIFIED = "verified"
    PENDING = "pending"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class OutputCheck:
    """State of the background verification of an answer; answers are delivered without waiting for it.

    `reason` says why verification was skipped or is pending. `flagged` is None until it is done. `feedback`
    is a message for the agent that wrote the answer, if some claims are unsupported.
    """

    id: str
    status: OutputStatus
    reason: str = ""
    flagged: bool | None = None
    flagged_claims: tuple[str, ...] = ()
    feedback: str = ""
    report: HallucinationReport | None = None


# ---- traces of agents: calls and what is said of them, steps, audits and the trace graph

ASSERTS_NOTHING = "asserts nothing"
"""The reason of a step without a claim: a plan, a question, the call of a tool."""


class ActionStatus(StrEnum):
    """`UNPERFORMED`: no such call. `FAILED`: the call failed. `CONTRADICTED`: its result says otherwise."""

    PERFORMED = "performed"
    UNPERFORMED = "unperformed"
    FAILED = "failed"
    CONTRADICTED = "contradicted"


@dataclass(frozen=True, slots=True)
class CallRecord:
    """One tool call with its result; `failed` is None if the format does not say."""

    name: str
    arguments: str
    result: str = ""
    failed: bool | None = None


@dataclass(frozen=True, slots=True)
class AgentMessage:
    """What the agent said, and the number of calls it had made by then (those of the same message count)."""

    text: str
    calls: int


@dataclass(frozen=True, slots=True)
class ActionLedger:
    """The calls of a conversation in order, its last request, and the agent's messages after it."""

    calls: tuple[CallRecord, ...] = ()
    messages: tuple[AgentMessage, ...] = ()
    request: str = ""


@dataclass(frozen=True, slots=True)
class ActionVerdict:
    """A statement of an agent about its own action. `start` and `end` are offsets into its message."""

    text: str
    start: int
    end: int
    status: ActionStatus
    reason: str = ""
    call: str = ""

    @property
    def is_flagged(self) -> bool:
        return self.status is not ActionStatus.PERFORMED


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a reasoning trace. `cites` names sources or earlier steps."""

    id: str
    text: str
    cites: tuple[str, ...] = ()
    confidence: float | None = None


@dataclass(frozen=True, slots=True)
class StepVerdict:
    """The verdict on one step.

    `premises` are the earlier steps used as evidence, `contradicts` the earlier steps it contradicts and
    `circular` the steps of a circular argument it is part of.
    """

    step: Step
    status: Status
    verdict: ClaimVerification
    premises: tuple[str, ...] = ()
    contradicts: tuple[str, ...] = ()
    circular: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """What users read for its status; a plan or a question is not a claim that failed."""
        return "no claim" if self.verdict.reason == ASSERTS_NOTHING else self.status.words


class Derived(StrEnum):
    """Result of the post-hoc test: does the final answer follow from the steps alone?"""

    YES = "derived"
    NO = "post_hoc"
    UNCHECKED = "unchecked"
    ABSENT = "no_answer"


@dataclass(frozen=True, slots=True)
class PostHoc:
    """Result of an independent executor that saw the steps but not the answer.

    `derived_answer` is empty if the executor cannot generate text (the embedded verifier).
    """

    outcome: Derived
    answer: str = ""
    derived_answer: str = ""
    executor: str = ""
    agreement: float | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class TraceAudit:
    """`actions`: what an agent says it did, compared with its tool calls."""

    steps: tuple[StepVerdict, ...]
    post_hoc: PostHoc
    backend: str
    question: str = ""
    error: str | None = None
    actions: tuple[ActionVerdict, ...] = ()

    @property
    def flagged(self) -> bool | None:
        """None if nothing was found but some steps could not be checked, or there were none."""
        judged = [s for s in self.steps if s.status is not Status.UNCHECKED]
        bad = any(s.verdict.is_flagged or s.contradicts or s.circular for s in self.steps)
        if bad or self.post_hoc.outcome is Derived.NO or any(action.is_flagged for action in self.actions):
            return True
        return None if self.error or not judged else False

    def _repr_html_(self) -> str | None:
        return as_html(self)


class NodeKind(StrEnum):
    """The kinds of node of a reasoning trace (SPEC-16's decision types)."""

    GOAL = "goal"
    DECISION = "decision"
    OPTION = "option"
    ACTION = "action"
    OUTCOME = "outcome"
    OBSERVATION = "observation"
    CLAIM = "claim"
    VERIFICATION = "verification"


class EdgeLabel(StrEnum):
    """SPEC-16's three labels (cites, verifies, refutes) and the structural ones."""

    CONTAINS = "contains"
    CONSIDERS = "considers"
    CHOOSES = "chooses"
    LEADS_TO = "leads_to"
    CITES = "cites"
    VERIFIES = "verifies"
    REFUTES = "refutes"


@dataclass(frozen=True, slots=True)
class TraceNode:
    """One node of a trace graph. `root` is the goal of its tree, `name` the label it is cited by.

    `detail` holds further JSON data; for a verification, the complete verdict.
    """

    id: str
    root: str
    kind: NodeKind
    text: str
    created: datetime
    name: str | None = None
    confidence: float | None = None
    status: Status | None = None
    detail: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TraceEdge:
    """A directed edge. The target of a citation may be missing: that is a phantom citation."""

    source: str
    label: EdgeLabel
    target: str


@dataclass(frozen=True, slots=True)
class TraceGraph:
    """A goal with all nodes and edges below it, in order of creation."""

    nodes: tuple[TraceNode, ...]
    edges: tuple[TraceEdge, ...]
