"""Argument models of the MCP tools, with limits and with descriptions for the calling model."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Discriminator, Field, Tag

from groundwire.config import ProfileName

MAX_CHARS = 1_000_000  # of one text
MAX_ITEMS = 2000  # of one list
MAX_NAME_CHARS = 500  # of an id or role


def _parse_json(value: object) -> object:
    """Some clients send a list as a JSON string."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


def text_size(value: object) -> int:
    """The number of characters in all strings of a value, however deep: it is what a request may cost."""
    size, pending = 0, [value]
    while pending:
        one = pending.pop()
        if isinstance(one, str):
            size += len(one)
        elif isinstance(one, Mapping):
            pending += [*one.keys(), *one.values()]
        elif isinstance(one, list | tuple):
            pending += one
        elif isinstance(one, BaseModel):
            pending += vars(one).values()
    return size


Name = Annotated[str, Field(min_length=1, max_length=MAX_NAME_CHARS)]
Text = Annotated[str, Field(max_length=MAX_CHARS)]
NonEmptyText = Annotated[str, Field(min_length=1, max_length=MAX_CHARS)]
Share = Annotated[float, Field(ge=0.0, le=1.0, allow_inf_nan=False)]


class StrictArguments(BaseModel):
    """Rejects unknown arguments: they are likely misspelt."""

    model_config = ConfigDict(extra="forbid")


class LenientArguments(BaseModel):
    """Ignores further keys of a client's own objects, and takes numbers as ids."""

    model_config = ConfigDict(extra="ignore", coerce_numbers_to_str=True)


class SourceArgument(LenientArguments):
    """A source with its own id."""

    id: Name
    text: Text


_TYPE_TAGS: dict[type, str] = {str: "(text)", dict: "(object)", list: "(list)"}
TYPE_TAGS = frozenset(_TYPE_TAGS.values())


def _type_tag(value: object) -> str | None:
    """Select the union member by type, so that errors concern that member only."""
    if isinstance(value, BaseModel):
        return "(object)"
    return _TYPE_TAGS.get(type(value))


def _expect(expected: str) -> Discriminator:
    return Discriminator(_type_tag, "wrong_shape", f"Input should be {expected}")


Item = Annotated[
    Annotated[Text, Tag("(text)")] | Annotated[SourceArgument, Tag("(object)")], _expect("a text or {id, text}")
]
Sources = Annotated[
    Annotated[Text, Tag("(text)")]
    | Annotated[dict[Name, Text], Field(max_length=MAX_ITEMS), Tag("(object)")]
    | Annotated[list[Item], Field(max_length=MAX_ITEMS), Tag("(list)")],
    _expect("a text, texts by id, or a list of texts"),
]
SOURCE_FORMS = 'One text; or texts by id, {"S0": "…"}; or a list of texts (S0, S1, …) or of {id, text}.'


class TurnArgument(BaseModel):
    """One message of a conversation; other keys of chat clients are ignored."""

    model_config = ConfigDict(extra="ignore")

    role: Annotated[str, Field(max_length=MAX_NAME_CHARS)] = ""
    content: Text | None = None


AnyTurn = Annotated[
    Annotated[Text, Tag("(text)")] | Annotated[TurnArgument, Tag("(object)")], _expect("a text or {role, content}")
]


class Check(StrictArguments):
    answer: Annotated[NonEmptyText, Field(description="The answer to verify, with its citations [S0].")]
    sources: Annotated[Sources, Field(description=f"Sources of the answer. {SOURCE_FORMS}")] = []
    question: Annotated[Text, Field(description="The question that was answered.")] = ""
    history: Annotated[
        Annotated[list[AnyTurn], Field(max_length=MAX_ITEMS)],
        BeforeValidator(_parse_json),
        Field(description="Earlier messages, oldest first."),
    ] = []
    kb: Annotated[bool, Field(description="Also check it against this server's knowledge base.")] = False
    target: Annotated[Share | None, Field(description="The confidence that a claim must reach.")] = None
    profile: Annotated[ProfileName | None, Field(description="How strict the verdicts are.")] = None
    fix: Annotated[bool, Field(description="Also return the repaired answer.")] = False


class VerifyClaim(StrictArguments):
    claim: Annotated[NonEmptyText, Field(description="One claim, verified as it stands.")]
    evidence: Annotated[Sources, Field(description=f"Evidence for the claim. {SOURCE_FORMS}")]
    confidence: Annotated[Share | None, Field(description="The stated confidence of the claim.")] = None
    threshold: Annotated[Share | None, Field(description="Alias of confidence.")] = None


class VerifyClaims(StrictArguments):
    text: Annotated[NonEmptyText, Field(description="Split into claims, which are verified one by one.")]
    context: Annotated[Sources, Field(description=f"Sources of the text. {SOURCE_FORMS}")]
    question: Annotated[Text, Field(description="The question that the text answers.")] = ""


class StepArgument(LenientArguments):
    """One reasoning step; `cites` lists sources or earlier steps."""

    claim: NonEmptyText
    cites: Annotated[list[Name], Field(max_length=MAX_ITEMS)] = []
    confidence: Share | None = None
    id: Annotated[Name | None, Field(description="The id by which later steps cite it.")] = None


AnyStep = Annotated[
    Annotated[NonEmptyText, Tag("(text)")] | Annotated[StepArgument, Tag("(object)")],
    _expect("a text or {claim, cites}"),
]
Steps = Annotated[Annotated[list[AnyStep], Field(min_length=1, max_length=MAX_ITEMS)], BeforeValidator(_parse_json)]


class AuditReasoning(StrictArguments):
    steps: Annotated[Steps, Field(description="In order: texts, or {claim, cites}.")]
    sources: Annotated[Sources, Field(description=f"Sources that the steps may cite. {SOURCE_FORMS}")]


class AuditTrace(StrictArguments):
    steps: Annotated[Steps, Field(description="In order: texts, or {claim, cites}.")]
    question: Annotated[Text, Field(description="The question to be answered.")] = ""
    context: Annotated[Sources, Field(description=f"Sources that the steps may cite. {SOURCE_FORMS}")] = []
    answer: Annotated[Text, Field(description="The final answer; it is derived again from the steps alone.")] = ""


class CheckActions(StrictArguments):
    messages: Annotated[
        Annotated[list[dict[str, Any]], Field(max_length=MAX_ITEMS)],
        BeforeValidator(_parse_json),
        Field(
            description="The conversation with its tool calls and results: chat messages (OpenAI, Anthropic, "
            "LangChain), Responses items or the lines of a Claude Code transcript."
        ),
    ]
    answer: Annotated[Text, Field(description="The answer, if it is not the last message.")] = ""


class SpanArgument(LenientArguments):
    """A piece of evidence with its citation id."""

    sid: Name
    text: Text


Spans = Annotated[
    Annotated[list[SpanArgument], Field(max_length=MAX_ITEMS)],
    BeforeValidator(_parse_json),
    Field(description='Evidence that may be cited: [{"sid": "S0", "text": "…"}, …].'),
]


class BudgetArguments(BaseModel):
    """Common arguments of Strawberry's two tools.

    Its other parameters (verifier_model, temperature, top_logprobs, max_concurrency, …) are accepted and
    listed as ignored, because the server chooses the verifier.
    """

    model_config = ConfigDict(extra="allow")

    spans: Spans
    default_target: Annotated[
        Share | None, Field(description="The confidence a claim must reach if it states none; 0.95.")
    ] = None
    placeholder: Annotated[str | None, Field(max_length=200, description="Text that replaces removed evidence.")] = None
    units: Literal["bits", "nats"] = "bits"
    require_citations: Annotated[bool, Field(description="Flag claims without citations.")] = False
    context_mode: Annotated[
        Literal["all", "cited"], Field(description="Verify each claim against all spans, or only those it cites.")
    ] = "all"
    timeout_s: Annotated[float | None, Field(gt=0, le=3600, description="Time limit in seconds.")] = None

    @property
    def ignored(self) -> list[str]:
        extra: dict[str, Any] = self.model_extra or {}
        return sorted(extra)[:50]


class DetectHallucination(BudgetArguments):
    answer: Annotated[NonEmptyText, Field(description="The answer, with citations like [S0].")]
    max_claims: Annotated[int, Field(ge=1, le=MAX_ITEMS, description="Verify only this many claims.")] = 25
    claim_split: Annotated[Literal["sentences", "lines"], Field(description="How the answer is split into claims.")] = (
        "sentences"
    )
    citation_regex: Annotated[
        str | None, Field(max_length=200, description="Pattern of citations, with a group named id.")
    ] = None


class BudgetStepArgument(LenientArguments):
    claim: Text
    idx: int | None = None
    cites: Annotated[list[Name], Field(max_length=MAX_ITEMS)] = []
    confidence: Share | None = None


class AuditTraceBudget(BudgetArguments):
    steps: Annotated[
        Annotated[list[BudgetStepArgument], Field(max_length=MAX_ITEMS)],
        BeforeValidator(_parse_json),
        Field(description='[{"idx": 0, "claim": "…", "cites": ["S0"], "confidence": 0.95}, …].'),
    ]
