"""What callers of the chatbot send and get: questions, documents, and answers that were checked."""

from __future__ import annotations

from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from groundwire.server.schemas import Asked, Message, Text

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
