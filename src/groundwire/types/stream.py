"""Real time: what a request needs to know, where claims come from, and what happens in a stream."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from groundwire.types.claims import Risk, Source, Turn
from groundwire.types.knowledge import KnowledgeBase
from groundwire.types.report import ClaimVerification, HallucinationReport


class Alternative(StrEnum):
    """What to do instead of answering from nothing."""

    ASK = "ask"
    RETRIEVE = "retrieve"
    NARROW = "narrow"
    DECLINE = "decline"


@dataclass(frozen=True, slots=True)
class Context:
    """What an answer may rest on: documents, the conversation before it, what is known, the moment."""

    sources: tuple[Source, ...] = ()
    history: tuple[Turn, ...] = ()
    kb: KnowledgeBase | None = None
    now: datetime | None = None


@dataclass(frozen=True, slots=True)
class Requirement:
    """Something one must know to answer a request. `explicit`: asked for in so many words.

    `kind` is "question", "side" (of a comparison), "entity", "description", "premise", "referent" (whom a
    pronoun means), "material" (whatever is to be worked on) or "user" (something about the one who asks).
    `found_in` is "sources", "kb", "memory" or "" where it is missing; `place` says where there; `coverage`
    is how much of it is there, 0 to 1.
    """

    text: str
    explicit: bool = True
    found_in: str = ""
    place: str = ""
    coverage: float = 0.0
    kind: str = "question"


@dataclass(frozen=True, slots=True)
class KnowledgeCheck:
    """Whether a request can be answered from what there is."""

    verified: bool
    requirements: tuple[Requirement, ...] = ()
    alternatives: tuple[tuple[Alternative, str], ...] = ()

    @property
    def missing(self) -> tuple[Requirement, ...]:
        return tuple(r for r in self.requirements if not r.found_in)


class SourceType(StrEnum):
    """What kind of thing a claim rests on, with the confidence it starts from in `monitor.confidence`."""

    DIRECT_OBSERVATION = "direct_observation"
    FILE_CONTENT = "file_content"
    USER_STATEMENT = "user_statement"
    INFERENCE = "inference"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Attribution:
    """Where a claim comes from, and whether that could be verified.

    `source[start:end]` is the place, `quote` what stands there where it was given; `premises` are the claims
    that an inference rests on. `reason` is "" where it is verified, else "unattributed_claim" or
    "unverifiable_source"; `note` says it in words.
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
    """A pattern that showed in a stream: which, where (offsets into the text so far), and how sure it is."""

    pattern: str
    start: int
    end: int
    segment: str
    confidence: float
    risk: Risk = Risk.LOW
    note: str = ""


@dataclass(frozen=True, slots=True)
class Contradiction:
    """A new claim against something established: a fact, an earlier statement, an earlier sentence.

    `established_by` is "fact" (a source or the knowledge base), the role of who said it in `turn`, or
    "answer" for the same text; `kind` says in which way the two come apart.
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
    """A key term that came to mean something else: `similarity` of its surroundings before and now."""

    term: str
    before: str
    now: str
    similarity: float


@dataclass(frozen=True, slots=True)
class Coherence:
    """Whether new content agrees with what was established. `goalposts` are claims made weaker or moved."""

    contradictions: tuple[Contradiction, ...] = ()
    drifts: tuple[Drift, ...] = ()
    goalposts: tuple[Contradiction, ...] = ()

    @property
    def coherent(self) -> bool:
        return not self.contradictions and not self.goalposts


@dataclass(frozen=True, slots=True)
class WeakPoint:
    """A place of an answer that does not hold, or may not: `kind` says why, `risk` how strongly to react.

    `quote` is what `source` says about it, `prior` the earlier statement it differs from.
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
    """Text of the model, as it came."""

    text: str
    kind: str = "token"


@dataclass(frozen=True, slots=True)
class WarningEvent:
    warning: StreamWarning
    kind: str = "warning"


@dataclass(frozen=True, slots=True)
class VerdictEvent:
    """A completed claim was judged while the answer was still being written."""

    verdict: ClaimVerification
    kind: str = "verdict"


@dataclass(frozen=True, slots=True)
class InterruptedEvent:
    """The model was stopped at `at`; everything of `text` up to there had been said."""

    at: int
    reason: str
    risk: Risk
    kind: str = "interrupted"


@dataclass(frozen=True, slots=True)
class ReformulatedEvent:
    """What stands in place of what was said."""

    text: str
    reason: str
    kind: str = "reformulated"


@dataclass(frozen=True, slots=True)
class DoneEvent:
    """The end: what the user should read, and everything found out on the way.

    `risk` is that of what the model wrote (`generated`), `action` what was done about it. `report` is about
    its own `response`: what the model wrote, or what stands in its place where it was written anew.
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
