"""Records of the streaming guard: knowledge requirements, attribution, coherence and stream events."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from groundwire.types import ClaimVerification, HallucinationReport, KnowledgeBase, Risk, Source, Turn


class Alternative(StrEnum):
    """An alternative to answering, if the available knowledge does not suffice."""

    ASK = "ask"
    RETRIEVE = "retrieve"
    NARROW = "narrow"
    DECLINE = "decline"


@dataclass(frozen=True, slots=True)
class Context:
    """The context of a request: source documents, conversation, knowledge base and reference time."""

    sources: tuple[Source, ...] = ()
    history: tuple[Turn, ...] = ()
    kb: KnowledgeBase | None = None
    now: datetime | None = None


@dataclass(frozen=True, slots=True)
class Requirement:
    """A piece of knowledge needed to answer a request. `explicit`: the request asks for it literally.

    `kind` is "question", "side" (of a comparison), "entity", "description", "premise", "referent" (of a
    pronoun), "material" (text to work on) or "user" (something about the user). `found_in` is "sources",
    "kb", "memory" or "" if it is missing; `place` is where, `coverage` the share found (0 to 1).
    """

    text: str
    explicit: bool = True
    found_in: str = ""
    place: str = ""
    coverage: float = 0.0
    kind: str = "question"


@dataclass(frozen=True, slots=True)
class KnowledgeCheck:
    """Result of checking if a request can be answered from the available knowledge."""

    verified: bool
    requirements: tuple[Requirement, ...] = ()
    alternatives: tuple[tuple[Alternative, str], ...] = ()

    @property
    def missing(self) -> tuple[Requirement, ...]:
        return tuple(r for r in self.requirements if not r.found_in)


class SourceType(StrEnum):
    """The kind of source a claim is attributed to; each starts with its own confidence."""

    DIRECT_OBSERVATION = "direct_observation"
    FILE_CONTENT = "file_content"
    USER_STATEMENT = "user_statement"
    INFERENCE = "inference"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Attribution:
    """The source of a claim, and the result of verifying it.

    `source[start:end]` is the passage and `quote` its text, if given; `premises` are the claims an inference
    is based on. `reason` is "" if verified, else "unattributed_claim" or "unverifiable_source"; `note` is the
    explanation for the user.
    """

    claim: str
    type: SourceType = SourceType.NONE
    source: str = ""
    start: int = 0
    end: int = 0
    quality: float = 1.0
    verified: bool = False
    reason: str = ""
    quote: str = ""
    premises: tuple[str, ...] = ()
    note: str = ""


@dataclass(frozen=True, slots=True)
class StreamWarning:
    """A suspicious pattern found in a stream; offsets refer to the text so far."""

    pattern: str
    start: int
    end: int
    segment: str
    confidence: float
    risk: Risk = Risk.LOW
    note: str = ""


@dataclass(frozen=True, slots=True)
class Contradiction:
    """A claim that contradicts a fact or an earlier statement.

    `established_by` is "fact" (a source or the knowledge base), the role of the speaker in `turn`, or
    "answer" for the same text; `kind` is the kind of contradiction.
    """

    claim: str
    contradicts: str
    severity: float
    start: int = 0
    end: int = 0
    turn: int | None = None
    kind: str = ""
    established_by: str = ""


@dataclass(frozen=True, slots=True)
class Drift:
    """A key term whose meaning shifted; `similarity` compares its contexts before and now."""

    term: str
    before: str
    now: str
    similarity: float


@dataclass(frozen=True, slots=True)
class Coherence:
    """Agreement of new content with earlier statements. `goalposts` are claims weakened or moved later."""

    contradictions: tuple[Contradiction, ...] = ()
    drifts: tuple[Drift, ...] = ()
    goalposts: tuple[Contradiction, ...] = ()

    @property
    def coherent(self) -> bool:
        return not self.contradictions and not self.goalposts


@dataclass(frozen=True, slots=True)
class WeakPoint:
    """A passage of an answer that is wrong or doubtful; `kind` is the cause and `risk` its level.

    `quote` is the relevant passage of `source`, `prior` the earlier statement it contradicts.
    """

    text: str
    start: int
    end: int
    kind: str
    risk: Risk
    reason: str = ""
    quote: str = ""
    source: str = ""
    prior: str = ""


@dataclass(frozen=True, slots=True)
class TokenEvent:
    """A piece of model output."""

    text: str
    kind: str = "token"


@dataclass(frozen=True, slots=True)
class WarningEvent:
    warning: StreamWarning
    kind: str = "warning"


@dataclass(frozen=True, slots=True)
class VerdictEvent:
    """The verdict on a completed claim, sent while the answer is still being generated."""

    verdict: ClaimVerification
    kind: str = "verdict"


@dataclass(frozen=True, slots=True)
class InterruptedEvent:
    """Generation was stopped at offset `at`; the text up to there has been delivered."""

    at: int
    reason: str
    risk: Risk
    kind: str = "interrupted"


@dataclass(frozen=True, slots=True)
class ReformulatedEvent:
    """Text that replaces what was delivered so far."""

    text: str
    reason: str
    kind: str = "reformulated"


@dataclass(frozen=True, slots=True)
class DoneEvent:
    """The end of a stream: the final text and all findings.

    `risk` refers to the model's own text (`generated`), `action` is what was done about it. `report` covers
    its own `response`: the model's text or, if it was rewritten, the replacement.
    """

    text: str
    risk: Risk
    knowledge: KnowledgeCheck | None = None
    report: HallucinationReport | None = None
    coherence: Coherence | None = None
    attributions: tuple[Attribution, ...] = ()
    warnings: tuple[StreamWarning, ...] = ()
    weak_points: tuple[WeakPoint, ...] = ()
    error: str = ""
    generated: str = ""
    action: str = "none"
    kind: str = "done"


StreamEvent = TokenEvent | WarningEvent | VerdictEvent | InterruptedEvent | ReformulatedEvent | DoneEvent
