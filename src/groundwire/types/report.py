"""What is judged and what comes of it: cases, claims, estimates, verdicts, reports.

Everything is a frozen dataclass or a string enum, so results can be compared, hashed, logged and
serialised without surprises. Offsets are always characters into the text *as given*.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Protocol, runtime_checkable

from groundwire.types.claims import ClaimKind, GapType, Status
from groundwire.types.dialogue import Detection, Flag, Repair, Turn
from groundwire.types.feedback import Feedback
from groundwire.types.knowledge import KnowledgeBase
from groundwire.types.shown import repr_html


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
