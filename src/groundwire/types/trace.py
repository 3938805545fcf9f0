"""Traces of agents: calls and what is said of them, steps, step verdicts, audits and the trace graph."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from groundwire.types.claims import GapType, Status
from groundwire.types.report import ClaimVerification, EpistemicGap, repr_html

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


@dataclass(frozen=True, slots=True)
class Verification:
    """Verification of a claim in a trace; `label` is None if it was neither verified nor refuted."""

    id: str
    claim_id: str
    status: Status
    verdict: ClaimVerification
    label: EdgeLabel | None = None


@dataclass(frozen=True, slots=True)
class ClaimRecord:
    """A claim in a trace with its latest verification, if any."""

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
    """Support of the claims below a goal. Unchecked claims, and claims that could not be checked, count as
    `unverified`.
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
        """The share of verified claims; None without claims."""
        return self.verified / self.total_claims if self.claims else None
