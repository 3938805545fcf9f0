"""Results of a check: claim verdicts, detector flags, repairs and the report that holds them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from functools import singledispatch
from typing import Any

from groundwire.types.claims import Claim, GapType, HallucinationType, Segment, Span, Status

NOTHING_TO_CHECK = "NOTHING_TO_CHECK"
"""The `error` of a report on text that asserts nothing: neither flagged nor fine."""


@singledispatch
def as_html(result: object) -> str | None:  # noqa: ARG001 (what has no look of its own is shown as text)
    """Render a result as an HTML fragment, or None if no renderer is registered for its type.

    `reports/html.py` registers the renderers, so the records themselves know nothing about HTML.
    """
    return None


def repr_html(self: object) -> str | None:
    """Implement `_repr_html_`, which notebooks call to display a result."""
    return as_html(self)


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

    _repr_html_ = repr_html


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

    _repr_html_ = repr_html

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

    _repr_html_ = repr_html


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
