"""What the detectors read and say: turns, segments, mentions, times, flags, and what to do about them."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from groundwire.types.claims import HallucinationType
from groundwire.types.shown import repr_html


@dataclass(frozen=True, slots=True)
class Turn:
    """One message of the conversation so far. `id` is its number, from 1."""

    id: int
    role: str
    text: str


class Tense(StrEnum):
    PAST = "past"
    PRESENT = "present"
    FUTURE = "future"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Triple:
    """Who does or is what: subject, predicate and object, with where they stand in the whole response.

    `predicate` is the normal form ("work in", "founded"); `denied` says that the sentence negates it.
    `subject` is what a pronoun stands for, where it does. Spans are [start, end) into the response.
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
    """Something the response speaks of by name, by description or by pronoun."""

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
    """A point or stretch of time as written, resolved against "now" where it can be.

    `first` and `last` are the ends of the stretch (one day: both the same). `year` where one is written.
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
    """One sentence of the response with all that was found in it."""

    index: int
    text: str
    start: int
    end: int
    claims: tuple[Triple, ...] = ()
    mentions: tuple[Mention, ...] = ()
    times: tuple[TimeExpression, ...] = ()
    assertive: bool = True


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
