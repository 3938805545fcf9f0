"""Request bodies as Pydantic models, each with an example that works."""

from __future__ import annotations

from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, JsonValue, model_validator

from groundwire.config import ProfileName
from groundwire.mcp.arguments import text_size
from groundwire.requests import as_sources
from groundwire.types import Source

MAX_CLAIMS = 1000  # claims of one request; longer texts are sent as `text`

Text = Annotated[str, Field(max_length=20_000_000)]
Name = Annotated[str, Field(min_length=1, max_length=300)]
Identity = Name | Annotated[int, Field(ge=-(2**63), lt=2**63, strict=True)]
Probability = Annotated[float, Field(ge=0.0, le=1.0, allow_inf_nan=False)]
Flag = Annotated[bool, Field(strict=True)]

_SOURCES: dict[str, JsonValue] = {"S0": "Acme was founded in 1987 in Berlin. It has 40 employees."}


def example(**fields: JsonValue) -> ConfigDict:
    """The model configuration with an example for the documentation. Unknown fields are rejected."""
    return ConfigDict(extra="forbid", frozen=True, json_schema_extra={"examples": [fields]})


class RequestBase(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    @property
    def size(self) -> int:
        """Number of characters to read, in whichever field they are."""
        return text_size(self)


class PassageIn(RequestBase):
    """A source as retrievers return it."""

    text: Text
    id: Identity | None = None
    origin: str = Field(default="", max_length=300, description="Name of the file it came from.")


class MessageIn(BaseModel):
    """A turn of the conversation. Other keys that chat programs store are ignored."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    role: str = Field(default="", max_length=100)
    content: Text | list[Any] | None = None
    text: Text | None = None


# `fail_fast`: only the first invalid item of a long list is reported, since each error takes over a kilobyte.
SourceTexts = dict[str, Text] | Annotated[list[Text | PassageIn], Field(fail_fast=True)]
History = Annotated[list[MessageIn | Text], Field(fail_fast=True)]
ShortHistory = Annotated[History, Field(max_length=1000, description="The conversation so far.")]


class WithHistory(RequestBase):
    """A request with a conversation."""

    history: History = Field(default_factory=list, description="The conversation so far.")

    @property
    def turns(self) -> list[dict[str, Any] | str]:
        """The conversation as the engine takes it."""
        return [turn if isinstance(turn, str) else turn.model_dump(exclude_none=True) for turn in self.history]


class WithSources(RequestBase):
    """A request with sources."""

    sources: SourceTexts | None = Field(
        default=None, description="Texts by id, or a list of texts (S0, S1, …) or of objects with `text` and `id`."
    )
    context: Text | None = Field(default=None, description="One source, whose id is `context`.")

    @model_validator(mode="after")
    def _one_of_two(self) -> Self:
        if self.sources is not None and self.context is not None:
            raise ValueError("give 'sources' or 'context', not both")
        return self

    @property
    def parsed_sources(self) -> tuple[Source, ...]:
        """The sources as the engine takes them."""
        if self.sources is None:
            return () if self.context is None else (Source("context", self.context),)
        return as_sources(self.sources)


class WithAnswer(WithSources, WithHistory):
    """A request with an answer, its conversation, and optionally the knowledge base."""

    response: Text | None = Field(default=None, description="The answer to verify.")
    answer: Text | None = Field(default=None, description="Alias of `response`.")
    kb: Flag = Field(default=False, description="Check against the server's knowledge base too.")

    @model_validator(mode="after")
    def _one_answer(self) -> Self:
        if (self.response is None) == (self.answer is None):
            raise ValueError("give the answer as 'response' (or 'answer'), once")
        return self

    @property
    def text(self) -> str:
        return (self.answer or "") if self.response is None else self.response


class CheckRequest(WithAnswer):
    """An answer and its sources, as one line of `groundwire batch`, with options."""

    model_config = example(
        response="Acme was founded in 1987. It has 400 employees.", sources=_SOURCES, question="Who is Acme?"
    )

    id: Identity = Field(default="response", description="Returned in the report.")
    question: Text = Field(default="", description="The question that was answered.")
    target: Probability | None = Field(default=None, description="Target confidence of a claim (0.95).")
    profile: ProfileName | None = Field(default=None, description="Settings profile.")
    fix: Flag = Field(default=False, description="Also repair the answer; see `repair` in the report.")
    shares: Flag = Field(
        default=False, description="Measure what each source adds to claims with evidence from several; see `shares`."
    )


class DetectRequest(WithAnswer):
    """A response to check against the conversation, the knowledge base, time and logic."""

    model_config = example(
        response="The launch was in 2024.", history=[{"role": "assistant", "content": "The launch was in 2019."}]
    )


class VerifyRequest(WithSources):
    """Claims and their evidence: one `claim`, several `claims`, or a `text` to extract claims from."""

    model_config = example(claim="Acme has 40 employees.", sources=_SOURCES, confidence=0.9)

    claim: Text | None = None
    claims: Annotated[list[Text], Field(min_length=1, max_length=MAX_CLAIMS)] | None = None
    text: Text | None = None
    evidence: Text | SourceTexts | None = Field(default=None, description="Alias of `sources`.")
    question: Text = ""
    confidence: Probability | None = Field(default=None, description="Target confidence of a claim (0.95).")
    profile: ProfileName | None = None

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        if sum(value is not None for value in (self.claim, self.claims, self.text)) != 1:
            raise ValueError("give one of 'claim', 'claims' and 'text'")
        if self.evidence is not None and (self.sources is not None or self.context is not None):
            raise ValueError("give 'evidence' or 'sources', not both")
        return self

    @property
    def parsed_sources(self) -> tuple[Source, ...]:
        return super().parsed_sources if self.evidence is None else as_sources(self.evidence)


class TraceStepIn(RequestBase):
    """One step of a reasoning trace and the ids it cites: sources or earlier steps."""

    claim: Text
    id: Identity | None = None
    cites: Annotated[list[Identity], Field(fail_fast=True)] = Field(default_factory=list)
    confidence: Probability | None = None


class AuditRequestIn(WithSources):
    """A reasoning trace as `steps`, or as `trace`, the text a chat program or agent stores."""

    model_config = example(
        steps=[
            {"claim": "Acme was founded in 1987.", "cites": ["S0"]},
            {"claim": "So it was founded before 1990.", "cites": ["step1"]},
        ],
        sources=_SOURCES,
        question="Was Acme founded before 1990?",
        answer="Yes.",
    )

    steps: Annotated[list[TraceStepIn | Text], Field(min_length=1, fail_fast=True)] | None = None
    trace: Text | None = Field(default=None, description="Any format that `groundwire audit` reads.")
    question: Text = ""
    answer: Text = ""

    @model_validator(mode="after")
    def _one_trace(self) -> Self:
        if (self.steps is None) == (self.trace is None):
            raise ValueError("give 'steps' or 'trace'")
        return self


class FactRequest(WithSources):
    """A fact with its evidence: a sentence, roles under a predicate, or both."""

    model_config = example(fact="Acme was founded in 1987.", sources=_SOURCES)

    fact: str = Field(default="", max_length=20_000, description="The fact as a sentence.")
    predicate: str = Field(default="", max_length=300)
    roles: dict[Name, Name] = Field(
        default_factory=dict, max_length=100, description='{"subject": "Acme", "object": "1987", …}'
    )
    many: Flag = Field(default=False, description="The predicate may have several values at once.")
    confidence: Probability = 0.95
    verify: Flag = Field(default=True, description="False stores the fact as asserted; requires the scope admin.")

    @model_validator(mode="after")
    def _a_fact(self) -> Self:
        if any("\x00" in text for text in (self.fact, self.predicate, *self.roles, *self.roles.values())):
            raise ValueError("a fact must not contain NUL characters")
        if not self.fact.strip() and not self.predicate.strip():
            raise ValueError("give 'fact', or 'predicate' and 'roles'")
        if bool(self.predicate.strip()) != bool(self.roles):
            raise ValueError("'predicate' and 'roles' go together")
        return self


class EstimateRequest(RequestBase):
    """One claim and the context to estimate it in."""

    model_config = example(claim="Acme has 40 employees.", context=_SOURCES["S0"])

    claim: Text
    context: Text = ""
    question: Text = ""


class EstimatesRequest(RequestBase):
    """Several claims about one context."""

    model_config = example(claims=["Acme has 40 employees.", "Acme is in Rome."], context=_SOURCES["S0"])

    claims: Annotated[list[Text], Field(min_length=1, max_length=100_000, fail_fast=True)]
    context: Text = ""
    question: Text = ""


GuardQuestion = Annotated[str, Field(min_length=1, max_length=20_000, pattern=r"\S")]


class GuardRequest(WithSources, WithHistory):
    """A question for the server's model, and the sources of its answer."""

    model_config = example(request="When was Acme founded?", sources=_SOURCES, stream=False)

    request: GuardQuestion = Field(description="The question to answer.")
    history: ShortHistory = []
    kb: Flag = Field(default=False, description="Use the server's knowledge base as a source too.")
    stream: Flag = Field(default=True, description="Respond with server-sent events.")

    @model_validator(mode="after")
    def _has_grounds(self) -> Self:
        if not (self.kb or self.history or any(source.text.strip() for source in self.parsed_sources)):
            raise ValueError("no sources to answer from: give 'sources' or 'context'")
        return self


Question = Annotated[str, Field(max_length=20_000)]
DocumentId = Annotated[str, Field(min_length=1, max_length=512)]


class ChatRequestIn(WithHistory):
    """A question to the documents."""

    model_config = example(message="What is the deposit for the hall?", top_k=5)

    message: Question | None = Field(default=None, description="The question.")
    question: Question | None = Field(default=None, description="Alias of `message`.")
    history: ShortHistory = []
    top_k: int | None = Field(default=None, ge=1, le=50, description="Number of passages to retrieve.")
    stream: bool = Field(default=False, description="Respond with server-sent events.")

    @model_validator(mode="after")
    def _one_question(self) -> Self:
        if (self.message is None) == (self.question is None):
            raise ValueError("give the question as 'message' (or 'question'), once")
        if not self.text.strip():
            raise ValueError("the question is empty")
        return self

    @property
    def text(self) -> str:
        return self.question or "" if self.message is None else self.message


class NewDocument(RequestBase):
    """A text to ingest. Without an id it gets one derived from its text."""

    text: Annotated[str, Field(max_length=20_000_000, pattern=r"\S")]
    id: Annotated[DocumentId, Field(pattern=r"\S")] | None = None
    title: str = Field(default="", max_length=1000)


class NewDocuments(RequestBase):
    """Documents to ingest. Known ids are replaced; unchanged documents are left alone."""

    model_config = example(documents=[{"id": "fees", "text": "The deposit for the hall is 500 shekels."}])

    documents: Annotated[list[NewDocument], Field(min_length=1, max_length=1000)]
