"""What callers of the guard send and get: a request with what it may rest on, and the end of the answer."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, Field, model_validator

from groundwire.server.answers import ReportOut
from groundwire.server.schemas import Flag, Grounds, Message, Text, example
from groundwire.types import Risk

Question = Annotated[str, Field(min_length=1, max_length=20_000, pattern=r"\S")]


class GuardRequest(Grounds):
    """A question for the server's model, and what the answer may rest on."""

    model_config = example(
        request="When was Acme founded?",
        sources={"S0": "Acme was founded in 1987 in Berlin. It has 40 employees."},
        stream=False,
    )

    request: Question = Field(description="What the model shall answer.")
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
