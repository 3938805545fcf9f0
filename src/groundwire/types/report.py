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


@singledispatch
def as_html(result: object) -> str | None:  # noqa: ARG001 (what has no look of its own is shown as text)
    """The result as a piece of HTML; None where nobody said how."""
    return None


def repr_html(self: object) -> str | None:
    """What notebooks call, as a result's `_repr_html_`."""
    return as_html(self)


@dataclass(frozen=True, slots=True)
class Feedback:
    """An opinion on the verdict that a claim had then: `right`, or not.

    What lasts beyond that verdict is whether the claim is `supported`: a flag that was wrong says it is.
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
    """A piece of a source that a claim was judged by."""

    source: str
    start: int
    end: int
    text: str = ""


@dataclass(frozen=True, slots=True)
class ClaimVerification:
    """The verdict on one claim: its two probabilities, its budget in bits and what follows."""

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

    @property
    def key(self) -> str:
        """A name that lasts: the same text, citations and evidence have it in every report.

        The passages it was judged by are meant, not all that was searched: a source more changes nothing.
        """
        text = " ".join(self.claim_text.split())
        parts = [text, sorted(self.citations), sorted({ref.text for ref in self.evidence})]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:12]

    @property
    def evidence_ids(self) -> list[str]:
        """The cited sources, or where nothing is cited the ones it was judged by."""
        return list(self.citations) or list(dict.fromkeys(ref.source for ref in self.evidence))

    @property
    def evidence_support(self) -> float | None:
        """How well the evidence carries it, 0 to 1; None where nobody could say."""
        return None if self.status is Status.UNCHECKED else self.p1 or 0.0

    @property
    def evidence_dependence(self) -> float | None:
        """How much the verdict moves when the evidence is taken away, 0 to 1; None where nobody could say."""
        return None if self.status is Status.UNCHECKED else abs((self.p1 or 0.0) - (self.p0 or 0.0))

    @property
    def confidence_justified(self) -> bool:
        return self.status is Status.ENTAILED and not self.is_flagged

    @property
    def evidence_gap_bits(self) -> float | None:
        """None where no model was asked, or none answered: no gap was measured, which is not a gap of 0."""
        return self.budget_gap

    @property
    def flag_reason(self) -> str | None:
        if not self.is_flagged:
            return None
        return self.gap_type.value if self.gap_type else self.status.value.lower()

    _repr_html_ = repr_html


@dataclass(frozen=True, slots=True)
class EpistemicGap:
    """A gap between a claim and its evidence, and what to do about it."""

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
    """Something in the response that a detector takes for a hallucination.

    `correction` is the value that should stand at `fix` (where known), `source` says who knows it.
    `related` holds the evidence by kind (kb_lookup, history_match, linguistic) for the path store.
    `score` is the refined confidence, once all evidence was weighed; thresholds act on `confidence`.
    `prior` is the statement it goes against, where one was made, and `turn` the turn that made it.
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


@dataclass(frozen=True, slots=True)
class Detection:
    """What the detectors found in one response, and what they looked at.

    `known` is what the knowledge base holds about whom the response names, a line a fact.
    `skipped` names the detectors that had nothing to go by (no knowledge base, no history) or were off;
    `errors` what could not be asked.
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


class ActionKind(StrEnum):
    NONE = "None"
    FLAG = "Flag"
    CORRECT = "Correct"
    REMOVE = "Remove"
    REGENERATE = "Regenerate"
    ESCALATE = "Escalate"


@dataclass(frozen=True, slots=True)
class Action:
    """What to do about one flag (or, for Regenerate and Escalate, about the whole response)."""

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
    """One place where a response was repaired: `original[start:end]` became `text[new_start:new_end]`."""

    start: int
    end: int
    new_start: int
    new_end: int
    before: str
    after: str
    action: Action


@dataclass(frozen=True, slots=True)
class Repair:
    """A response after its actions were applied. `edits` lead back to the original."""

    original: str
    text: str
    edits: tuple[Edit, ...] = ()
    actions: tuple[Action, ...] = ()

    @property
    def guidance(self) -> str:
        """What to tell the model, where the whole response is to be written again."""
        return "\n".join(a.guidance for a in self.actions if a.kind is ActionKind.REGENERATE)


@dataclass(frozen=True, slots=True)
class HallucinationReport:
    """Everything groundwire found out about one response.

    `risk`, `grounding_ratio` and `overall_confidence` are about the claims that could be checked; where none
    could, the last two are None, and `flagged` is too.
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
        """What the knowledge detectors found, where they were asked."""
        return self.detection.flags if self.detection else ()

    @property
    def total_claims(self) -> int:
        return len(self.claims)

    @property
    def verified_claims(self) -> int:
        return sum(c.status is not Status.UNCHECKED for c in self.claims)

    @property
    def flagged_claims(self) -> int:
        return sum(c.is_flagged for c in self.claims)

    @property
    def max_gap_bits(self) -> float | None:
        """The largest gap measured; None where there are claims and none was measured."""
        gaps = [c.budget_gap for c in self.claims if c.budget_gap is not None]
        return max(gaps, default=None if self.claims else 0.0)

    _repr_html_ = repr_html


class OutputStatus(StrEnum):
    VERIFIED = "verified"
    PENDING = "pending"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class OutputCheck:
    """An answer is never held back: this is what is known of it, and what its author may be told.

    `reason` says why it was skipped, or what it is waited for. `flagged` is None while nobody knows.
    `feedback` is a message for the agent that wrote the answer, where some of it is not carried.
    """

    id: str
    status: OutputStatus
    reason: str = ""
    flagged: bool | None = None
    flagged_claims: tuple[str, ...] = ()
    feedback: str = ""
    report: HallucinationReport | None = None
