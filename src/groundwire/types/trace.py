"""Reasoning: the steps of a trace, the verdict on each, and what the audit of the whole found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from groundwire.types.claims import GapType, Status
from groundwire.types.report import ClaimVerification, EpistemicGap, repr_html


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a reasoning trace. `cites` names sources or earlier steps."""

    id: str
    text: str
    cites: tuple[str, ...] = ()
    confidence: float | None = None


@dataclass(frozen=True, slots=True)
class StepVerdict:
    """`verdict` is the budget's record; `premises` are the earlier steps it was judged by, too.

    `contradicts` names earlier steps it cannot be true with; `circular` those it rests on in a ring.
    """

    step: Step
    status: Status
    verdict: ClaimVerification
    premises: tuple[str, ...] = ()
    contradicts: tuple[str, ...] = ()
    circular: tuple[str, ...] = ()


class Derived(StrEnum):
    """Whether the final answer follows from the steps alone."""

    YES = "derived"
    NO = "post_hoc"
    UNCHECKED = "unchecked"
    ABSENT = "no_answer"


@dataclass(frozen=True, slots=True)
class PostHoc:
    """What an independent executor made of the steps, never having seen the answer.

    `executor` says who it was; `derived_answer` is empty where it cannot write (the embedded verifier).
    """

    outcome: Derived
    answer: str = ""
    derived_answer: str = ""
    executor: str = ""
    agreement: float | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class TraceAudit:
    steps: tuple[StepVerdict, ...]
    post_hoc: PostHoc
    backend: str
    question: str = ""
    error: str | None = None

    @property
    def flagged(self) -> bool | None:
        """None where nothing was found, and something could not be checked."""
        judged = [s for s in self.steps if s.status is not Status.UNCHECKED]
        bad = any(s.verdict.is_flagged or s.contradicts or s.circular for s in self.steps)
        if bad or self.post_hoc.outcome is Derived.NO:
            return True
        return None if self.error or (self.steps and not judged) else False

    _repr_html_ = repr_html


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
    """`contains` and the other structural ones beside SPEC-16's three."""

    CONTAINS = "contains"
    CONSIDERS = "considers"
    CHOOSES = "chooses"
    LEADS_TO = "leads_to"
    CITES = "cites"
    VERIFIES = "verifies"
    REFUTES = "refutes"


@dataclass(frozen=True, slots=True)
class TraceNode:
    """One node of a reasoning trace. `root` is the goal its tree grows from, `name` what it is cited by.

    `detail` is what else is known, as JSON: of a verification the whole record of the verdict.
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
    """`source` label `target`. The target of a citation need not exist: that is what phantom means."""

    source: str
    label: EdgeLabel
    target: str


@dataclass(frozen=True, slots=True)
class TraceGraph:
    """A goal and all that grew from it, in the order it was written down."""

    nodes: tuple[TraceNode, ...]
    edges: tuple[TraceEdge, ...]


@dataclass(frozen=True, slots=True)
class Verification:
    """What became of a claim of a trace; `label` is None where it was neither borne out nor refuted."""

    id: str
    claim_id: str
    status: Status
    verdict: ClaimVerification
    label: EdgeLabel | None = None


@dataclass(frozen=True, slots=True)
class ClaimRecord:
    """A claim of a trace as it stands: its newest verification, if any."""

    claim_id: str
    text: str
    confidence: float
    cites: tuple[str, ...]
    phantoms: tuple[str, ...] = ()
    status: Status | None = None
    gap_type: GapType | None = None
    flagged: bool = False
    gap_bits: float | None = None
    reason: str = ""
    verification_id: str | None = None


@dataclass(frozen=True, slots=True)
class EpistemicReport:
    """How well the claims below a goal are supported. `verified` are borne out, `refuted` are not;
    `unverified` nobody has checked, or nobody could.
    """

    goal_id: str
    goal: str
    claims: tuple[ClaimRecord, ...]
    gaps: tuple[EpistemicGap, ...]

    @property
    def total_claims(self) -> int:
        return len(self.claims)

    @property
    def verified(self) -> int:
        return sum(c.status is Status.ENTAILED and not c.flagged for c in self.claims)

    @property
    def refuted(self) -> int:
        return sum(c.flagged for c in self.claims)

    @property
    def unverified(self) -> int:
        return self.total_claims - self.verified - self.refuted

    @property
    def support_ratio(self) -> float | None:
        """The share of claims borne out; None where there are none."""
        return self.verified / self.total_claims if self.claims else None
