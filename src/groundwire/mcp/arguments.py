"""What the MCP tools are called with: each argument bounded, and described for the model that fills it in."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Discriminator, Field, Tag

from groundwire.config import ProfileName
from groundwire.types import Source

MOST_CHARS = 1_000_000
MOST_ITEMS = 2000
NAME_CHARS = 500


def _unwrapped(value: object) -> object:
    """Some clients send a list as the JSON of one."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


Name = Annotated[str, Field(min_length=1, max_length=NAME_CHARS)]
Text = Annotated[str, Field(max_length=MOST_CHARS)]
Filled = Annotated[str, Field(min_length=1, max_length=MOST_CHARS)]
Share = Annotated[float, Field(ge=0.0, le=1.0, allow_inf_nan=False)]


class Strict(BaseModel):
    """A name nobody knows is a mistake, and said so."""

    model_config = ConfigDict(extra="forbid")


class Passage(BaseModel):
    """A source with its own id."""

    model_config = ConfigDict(extra="ignore", coerce_numbers_to_str=True)

    id: Name
    text: Text


SHAPES_OF: dict[type, str] = {str: "(text)", dict: "(object)", list: "(list)"}
SHAPES = frozenset(SHAPES_OF.values())


def _shape(value: object) -> str | None:
    """Which of a union's arms is meant, so that what is wrong is said of that one alone."""
    if isinstance(value, BaseModel):
        return "(object)"
    return SHAPES_OF.get(type(value))


def _told(expected: str) -> Discriminator:
    return Discriminator(_shape, "wrong_shape", f"Input should be {expected}")


Item = Annotated[
    Annotated[Text, Tag("(text)")] | Annotated[Passage, Tag("(object)")], _told("a text or {id, text}")
]
Sources = Annotated[
    Annotated[Text, Tag("(text)")]
    | Annotated[dict[Name, Text], Field(max_length=MOST_ITEMS), Tag("(object)")]
    | Annotated[list[Item], Field(max_length=MOST_ITEMS), Tag("(list)")],
    _told("a text, texts by id, or a list of texts"),
]
GIVEN = 'One text; or texts by id, {"S0": "…"}; or a list of texts (S0, S1, …) or of {id, text}.'


def as_sources(given: Sources) -> str | dict[str, str] | list[str | Source]:
    """As the engine takes them."""
    if not isinstance(given, list):
        return given
    return [item if isinstance(item, str) else Source(item.id, item.text) for item in given]


class Turn(BaseModel):
    """What somebody said; other keys that chat programs keep are passed over."""

    model_config = ConfigDict(extra="ignore")

    role: Annotated[str, Field(max_length=NAME_CHARS)] = ""
    content: Text | None = None


AnyTurn = Annotated[
    Annotated[Text, Tag("(text)")] | Annotated[Turn, Tag("(object)")], _told("a text or {role, content}")
]


class Check(Strict):
    answer: Annotated[Filled, Field(description="The answer to judge, with its citations [S0].")]
    sources: Annotated[Sources, Field(description=f"What the answer may rest on. {GIVEN}")] = []
    question: Annotated[Text, Field(description="What the answer answers.")] = ""
    history: Annotated[
        Annotated[list[AnyTurn], Field(max_length=MOST_ITEMS)],
        BeforeValidator(_unwrapped),
        Field(description="The conversation before, oldest first."),
    ] = []
    kb: Annotated[
        bool, Field(description="Hold it against the knowledge base of this server's store, too.")
    ] = False
    target: Annotated[Share | None, Field(description="The confidence that a claim must reach.")] = None
    profile: Annotated[ProfileName | None, Field(description="How strictly to judge.")] = None
    fix: Annotated[bool, Field(description="Return the repaired answer, too.")] = False


class VerifyClaim(Strict):
    claim: Annotated[Filled, Field(description="One claim, judged as it stands.")]
    evidence: Annotated[Sources, Field(description=f"What it rests on. {GIVEN}")]
    confidence: Annotated[Share | None, Field(description="How sure the claim is said to be.")] = None
    threshold: Annotated[Share | None, Field(description="Another name of confidence.")] = None


class VerifyClaims(Strict):
    text: Annotated[Filled, Field(description="Taken apart into claims, which are judged one by one.")]
    context: Annotated[Sources, Field(description=f"What they rest on. {GIVEN}")]
    question: Annotated[Text, Field(description="What the text answers.")] = ""


class Step(Strict):
    """A step of a reasoning. `cites` names sources or earlier steps."""

    model_config = ConfigDict(extra="ignore", coerce_numbers_to_str=True)

    claim: Filled
    cites: Annotated[list[Name], Field(max_length=MOST_ITEMS)] = []
    confidence: Share | None = None
    id: Annotated[Name | None, Field(description="What later steps cite it by.")] = None


AnyStep = Annotated[
    Annotated[Filled, Tag("(text)")] | Annotated[Step, Tag("(object)")], _told("a text or {claim, cites}")
]
Steps = Annotated[
    Annotated[list[AnyStep], Field(min_length=1, max_length=MOST_ITEMS)], BeforeValidator(_unwrapped)
]


class AuditReasoning(Strict):
    steps: Annotated[Steps, Field(description="In order: texts, or {claim, cites}.")]
    sources: Annotated[Sources, Field(description=f"What the steps may cite. {GIVEN}")]


class AuditTrace(Strict):
    steps: Annotated[Steps, Field(description="In order: texts, or {claim, cites}.")]
    question: Annotated[Text, Field(description="What was to be answered.")] = ""
    context: Annotated[Sources, Field(description=f"What the steps may cite. {GIVEN}")] = []
    answer: Annotated[Text, Field(description="The final answer, derived anew from the steps alone.")] = ""


class Span(BaseModel):
    """A piece of evidence with the id it is cited by."""

    model_config = ConfigDict(extra="ignore", coerce_numbers_to_str=True)

    sid: Name
    text: Text


Spans = Annotated[
    Annotated[list[Span], Field(max_length=MOST_ITEMS)],
    BeforeValidator(_unwrapped),
    Field(description='What may be cited: [{"sid": "S0", "text": "…"}, …].'),
]


class Budget(BaseModel):
    """What Strawberry's two tools have in common. Its other parameters (verifier_model, temperature,
    top_logprobs, max_concurrency, …) are taken and listed as ignored: who verifies is the server's choice.
    """

    model_config = ConfigDict(extra="allow")

    spans: Spans
    default_target: Annotated[
        Share | None, Field(description="The confidence a claim must reach where it states none; 0.95.")
    ] = None
    placeholder: Annotated[
        str | None, Field(max_length=200, description="What stands for evidence that was taken away.")
    ] = None
    units: Literal["bits", "nats"] = "bits"
    require_citations: Annotated[bool, Field(description="Flag what cites nothing.")] = False
    context_mode: Annotated[
        Literal["all", "cited"],
        Field(description="Judge each claim by all spans, or by those alone that it cites."),
    ] = "all"
    timeout_s: Annotated[float | None, Field(gt=0, le=3600, description="Give up after so many seconds.")] = (
        None
    )

    @property
    def ignored(self) -> list[str]:
        extra: dict[str, Any] = self.model_extra or {}
        return sorted(extra)[:50]


class DetectHallucination(Budget):
    answer: Annotated[Filled, Field(description="The answer, with citations like [S0].")]
    max_claims: Annotated[int, Field(ge=1, le=MOST_ITEMS, description="Look at the first so many.")] = 25
    claim_split: Annotated[
        Literal["sentences", "lines"], Field(description="Where one claim ends and the next begins.")
    ] = "sentences"
    citation_regex: Annotated[
        str | None,
        Field(max_length=200, description="What citations look like, with a group named id."),
    ] = None


class BudgetStep(BaseModel):
    model_config = ConfigDict(extra="ignore", coerce_numbers_to_str=True)

    claim: Filled
    idx: int | None = None
    cites: Annotated[list[Name], Field(max_length=MOST_ITEMS)] = []
    confidence: Share | None = None


class AuditTraceBudget(Budget):
    steps: Annotated[
        Annotated[list[BudgetStep], Field(min_length=1, max_length=MOST_ITEMS)],
        BeforeValidator(_unwrapped),
        Field(description='[{"idx": 0, "claim": "…", "cites": ["S0"], "confidence": 0.95}, …].'),
    ]
