"""Reasoning: the steps of a trace, the verdict on each, and what the audit of the whole found."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from groundwire.types.shown import repr_html
from groundwire.types.taxonomy import Status
from groundwire.types.verdict import ClaimVerification


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
        """None where nothing could be checked."""
        judged = [s for s in self.steps if s.status is not Status.UNCHECKED]
        bad = any(s.verdict.is_flagged or s.contradicts or s.circular for s in self.steps)
        if bad or self.post_hoc.outcome is Derived.NO:
            return True
        return None if self.steps and not judged else False

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
