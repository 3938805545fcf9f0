"""What callers send: each request as a checked model, with an example that works."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, JsonValue, model_validator

from groundwire.config import ProfileName
from groundwire.server.responses import ReportOut
from groundwire.types import Risk, Source

MOST_CLAIMS = 1000

Text = Annotated[str, Field(max_length=20_000_000)]
Name = Annotated[str, Field(min_length=1, max_length=300)]
Identity = Name | Annotated[int, Field(ge=-(2**63), lt=2**63, strict=True)]
Portion = Annotated[float, Field(ge=0.0, le=1.0, allow_inf_nan=False)]
Flag = Annotated[bool, Field(strict=True)]

_SOURCES: dict[str, JsonValue] = {"S0": "Acme was founded in 1987 in Berlin. It has 40 employees."}


def example(**fields: JsonValue) -> ConfigDict:
    """The configuration of a request with its example. A field nobody knows is a mistake that is said."""
    return ConfigDict(extra="forbid", frozen=True, json_schema_extra={"examples": [fields]})


class Asked(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Passage(Asked):
    """A source as retrievers give them."""

    text: Text
    id: Identity | None = None
    origin: str = Field(default="", max_length=300, description="The file it came from, for people.")


class Message(BaseModel):
    """A turn of the conversation; other keys that chat programs keep are passed over."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    role: str = Field(default="", max_length=100)
    content: Text | list[Any] | None = None
    text: Text | None = None


SourceTexts = dict[str, Text] | list[Text | Passage]


class Grounds(Asked):
    """What an answer may rest on."""

    sources: SourceTexts | None = Field(
        default=None,
        description="Texts by id, or a list of texts (S0, S1, …) or of objects with `text` and `id`.",
    )
    context: Text | None = Field(default=None, description="One source, whose id is `context`.")

    @model_validator(mode="after")
    def _one_of_two(self) -> Self:
        if self.sources is not None and self.context is not None:
            raise ValueError("give 'sources' or 'context', not both")
        return self

    @property
    def given(self) -> tuple[Source, ...]:
        """The sources as the engine takes them."""
        if self.sources is None:
            return () if self.context is None else (Source("context", self.context),)
        if isinstance(self.sources, dict):
            return tuple(Source(name, text) for name, text in self.sources.items())
        return tuple(_listed(item, number) for number, item in enumerate(self.sources))

    @property
    def size(self) -> int:
        """How many characters there are to read."""
        return sum(len(source.text) for source in self.given)


def _listed(item: str | Passage, number: int) -> Source:
    if isinstance(item, str):
        return Source(f"S{number}", item)
    return Source(f"S{number}" if item.id is None else str(item.id), item.text, item.origin)


class Answered(Grounds):
    """An answer, under either of its names, and what besides its sources it is held against."""

    response: Text | None = Field(default=None, description="The answer to judge.")
    answer: Text | None = Field(default=None, description="Another name of `response`.")
    history: list[Message | Text] = Field(default_factory=list, description="The conversation before it.")
    kb: Flag = Field(default=False, description="Hold it against the server's own knowledge base too.")

    @model_validator(mode="after")
    def _one_answer(self) -> Self:
        if (self.response is None) == (self.answer is None):
            raise ValueError("give the answer as 'response' (or 'answer'), once")
        return self

    @property
    def text(self) -> str:
        return (self.answer or "") if self.response is None else self.response

    @property
    def said(self) -> list[dict[str, Any] | str]:
        turns = self.history
        return [turn if isinstance(turn, str) else turn.model_dump(exclude_none=True) for turn in turns]

    @property
    def size(self) -> int:
        return len(self.text) + sum(len(source.text) for source in self.given)


class CheckRequest(Answered):
    """An answer and what it may rest on: a line of `groundwire batch`, with a few wishes."""

    model_config = example(
        response="Acme was founded in 1987. It has 400 employees.", sources=_SOURCES, question="Who is Acme?"
    )

    id: Identity = Field(default="response", description="Comes back in the report.")
    question: Text = Field(default="", description="What the answer answers.")
    target: Portion | None = Field(default=None, description="Confidence a claim must reach (0.95).")
    profile: ProfileName | None = Field(default=None, description="Which set of choices judges.")
    fix: Flag = Field(default=False, description="Repair the answer too; see `repair` in the report.")


class DetectRequest(Answered):
    """A response, held against the conversation, the knowledge base, time and logic."""

    model_config = example(
        response="The launch was in May.",
        history=[{"role": "assistant", "content": "The launch was in April."}],
    )


class VerifyRequest(Grounds):
    """Claims and their evidence: one `claim`, several `claims`, or a `text` to be taken apart."""

    model_config = example(claim="Acme has 40 employees.", sources=_SOURCES, confidence=0.9)

    claim: Text | None = None
    claims: Annotated[list[Text], Field(min_length=1, max_length=MOST_CLAIMS)] | None = None
    text: Text | None = None
    evidence: Text | SourceTexts | None = Field(default=None, description="Another name of `sources`.")
    question: Text = ""
    confidence: Portion | None = Field(default=None, description="What a claim must reach (0.95).")
    profile: ProfileName | None = None

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        if sum(given is not None for given in (self.claim, self.claims, self.text)) != 1:
            raise ValueError("give one of 'claim', 'claims' and 'text'")
        if self.evidence is not None and (self.sources is not None or self.context is not None):
            raise ValueError("give 'evidence' or 'sources', not both")
        return self

    @property
    def given(self) -> tuple[Source, ...]:
        if isinstance(self.evidence, str):
            return (Source("S0", self.evidence),)
        return Grounds(
            sources=self.sources if self.evidence is None else self.evidence, context=self.context
        ).given


class StepGiven(Asked):
    """One step of a reasoning, and what it says it rests on: sources, or earlier steps."""

    claim: Text
    id: Identity | None = None
    cites: list[Identity] = Field(default_factory=list)
    confidence: Portion | None = None


class AuditRequest(Grounds):
    """A reasoning, step by step; or a `trace` as a chat program or agent keeps it."""

    model_config = example(
        steps=[
            {"claim": "Acme was founded in 1987.", "cites": ["S0"]},
            {"claim": "So it was founded before 1990.", "cites": ["step1"]},
        ],
        sources=_SOURCES,
        question="Was Acme founded before 1990?",
        answer="Yes.",
    )

    steps: Annotated[list[StepGiven | Text], Field(min_length=1)] | None = None
    trace: Text | None = Field(default=None, description="Any text that `groundwire audit` reads.")
    question: Text = ""
    answer: Text = ""

    @model_validator(mode="after")
    def _one_trace(self) -> Self:
        if (self.steps is None) == (self.trace is None):
            raise ValueError("give 'steps' or 'trace'")
        return self


class FactRequest(Grounds):
    """A fact with its evidence: a sentence, roles under a predicate, or both."""

    model_config = example(fact="Acme was founded in 1987.", sources=_SOURCES)

    fact: str = Field(default="", max_length=20_000, description="The fact as a sentence.")
    predicate: str = Field(default="", max_length=300)
    roles: dict[Name, Name] = Field(
        default_factory=dict, max_length=100, description='{"subject": "Acme", "object": "1987", …}'
    )
    many: Flag = Field(default=False, description="Several values of the predicate may hold at once.")
    confidence: Portion = 0.95
    verify: Flag = Field(
        default=True, description="Without it the fact is stored as asserted; that takes the scope admin."
    )

    @model_validator(mode="after")
    def _a_fact(self) -> Self:
        if any("\x00" in text for text in (self.fact, self.predicate, *self.roles, *self.roles.values())):
            raise ValueError("a fact holds no NUL")
        if not self.fact.strip() and not self.predicate.strip():
            raise ValueError("give 'fact', or 'predicate' and 'roles'")
        if bool(self.predicate.strip()) != bool(self.roles):
            raise ValueError("'predicate' and 'roles' go together")
        return self


class EstimateRequest(Asked):
    """One claim and the context to judge it in."""

    model_config = example(claim="Acme has 40 employees.", context=_SOURCES["S0"])

    claim: Text
    context: Text = ""
    question: Text = ""


class EstimatesRequest(Asked):
    """Several claims about one context."""

    model_config = example(claims=["Acme has 40 employees.", "Acme is in Rome."], context=_SOURCES["S0"])

    claims: Annotated[list[Text], Field(min_length=1, max_length=100_000)]
    context: Text = ""
    question: Text = ""


# What callers of the guard send and get: a request with what it may rest on, and the end of the answer.

GuardQuestion = Annotated[str, Field(min_length=1, max_length=20_000, pattern=r"\S")]


class GuardRequest(Grounds):
    """A question for the server's model, and what the answer may rest on."""

    model_config = example(
        request="When was Acme founded?",
        sources={"S0": "Acme was founded in 1987 in Berlin. It has 40 employees."},
        stream=False,
    )

    request: GuardQuestion = Field(description="What the model shall answer.")
    history: list[Message | Text] = Field(
        default_factory=list, max_length=1000, description="The conversation before it."
    )
    kb: Flag = Field(default=False, description="Let it rest on the server's own knowledge base too.")
    stream: Flag = Field(default=True, description="Answer as server-sent events, as they happen.")

    @model_validator(mode="after")
    def _something_to_rest_on(self) -> Self:
        if not (self.kb or self.history or any(source.text.strip() for source in self.given)):
            raise ValueError("there is nothing an answer could rest on: give 'sources' or 'context'")
        return self

    @property
    def said(self) -> list[dict[str, Any] | str]:
        turns = self.history
        return [turn if isinstance(turn, str) else turn.model_dump(exclude_none=True) for turn in turns]


class GuardReply(BaseModel):
    """The end of a guarded answer: `text` is what the user should read."""

    kind: Literal["done"]
    text: str
    risk: Risk = Field(description="The risk of what the model wrote.")
    action: str = Field(description="What was done about it: none, mark, rephrase, reformulate, discard.")
    error: str | None = Field(description="Why the model or its verification failed, if it did.")
    generated: str = Field(description="What the model wrote.")
    knowledge: dict[str, Any] | None
    coherence: dict[str, Any] | None
    attributions: list[dict[str, Any]]
    warnings: list[dict[str, Any]]
    weak_points: list[dict[str, Any]]
    report: ReportOut | None


# What callers of the chatbot send and get: questions, documents, and answers that were checked.

Question = Annotated[str, Field(max_length=20_000)]
DocumentId = Annotated[str, Field(min_length=1, max_length=512)]


class ChatRequest(Asked):
    """A question to the documents, under either of its names."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        json_schema_extra={"examples": [{"message": "What is the deposit for the hall?", "top_k": 5}]},
    )

    message: Question | None = Field(default=None, description="What is asked.")
    question: Question | None = Field(default=None, description="Another name of `message`.")
    history: list[Message | Text] = Field(
        default_factory=list, max_length=1000, description="The conversation before it."
    )
    top_k: int | None = Field(default=None, ge=1, le=50, description="How many passages are looked at.")
    stream: bool = Field(default=False, description="Answer as server-sent events.")

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

    @property
    def said(self) -> list[dict[str, Any] | str]:
        return [
            turn if isinstance(turn, str) else turn.model_dump(exclude_none=True) for turn in self.history
        ]


class NewDocument(Asked):
    """A text to ingest. Without an id it gets one that comes of its text."""

    text: Annotated[str, Field(max_length=20_000_000, pattern=r"\S")]
    id: Annotated[DocumentId, Field(pattern=r"\S")] | None = None
    title: str = Field(default="", max_length=1000)


class NewDocuments(Asked):
    """Documents to ingest; those whose ids are known are replaced, unchanged ones left as they are."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        json_schema_extra={
            "examples": [{"documents": [{"id": "fees", "text": "The deposit for the hall is 500 shekels."}]}]
        },
    )

    documents: Annotated[list[NewDocument], Field(min_length=1, max_length=1000)]


class KnownDocument(BaseModel):
    id: str
    title: str
    passages: int
    characters: int


class Documents(BaseModel):
    """`meaning` says whether passages are found by meaning too, or by their words alone."""

    documents: list[KnownDocument]
    meaning: bool


class Removed(BaseModel):
    removed: int


class ChatSource(BaseModel):
    """A passage the answer may cite: its mark, its document, and its place there."""

    id: str
    document: str
    title: str
    heading: str
    part: str
    start: int
    end: int
    score: float
    text: str


class CheckedClaim(BaseModel):
    """`p1` is how likely the claim is with its evidence in view, `p0` without; null where it could not be
    checked, which is never `grounded`.
    """

    text: str
    citing: list[str]
    p1: float | None
    p0: float | None
    confidence: float
    grounded: bool
    warning: str | None


class ClaimsCheck(BaseModel):
    overall_grounded: bool = Field(description="At least 70 % of the claims are grounded.")
    grounded_claims: int
    total_claims: int
    grounding_ratio: float
    claims: list[CheckedClaim]


class ChatReply(BaseModel):
    success: bool
    response: str
    sources: list[ChatSource]
    hallucination_check: ClaimsCheck | None = Field(description="null where none was made: see `warning`.")
    warning: str | None = Field(description="What a reader should know, in the answer's language.")
