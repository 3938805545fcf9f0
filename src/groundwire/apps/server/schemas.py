"""What callers send: each request as a checked model, with an example that works."""

from __future__ import annotations

from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from groundwire.config import ProfileName
from groundwire.types import Source

Text = Annotated[str, Field(max_length=20_000_000)]
Name = Annotated[str, Field(min_length=1, max_length=300)]
Identity = Name | Annotated[int, Field(ge=-(2**63), lt=2**63, strict=True)]
Portion = Annotated[float, Field(ge=0.0, le=1.0, allow_inf_nan=False)]


class Asked(BaseModel):
    """A request. A field nobody knows is a mistake that is said, not one that is passed over."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Passage(Asked):
    """A source as retrievers give them."""

    text: Text
    id: Identity | None = None


class Message(BaseModel):
    """A turn of the conversation; other keys that chat programs keep are passed over."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    role: str = Field(default="", max_length=100)
    content: Text | list[Any] | None = None
    text: Text | None = None


SourceTexts = Annotated[
    dict[str, Text] | list[Text | Passage],
    Field(description="Texts by id, or a list of texts (S0, S1, …) or of objects with `text` and `id`."),
]


class Grounds(Asked):
    """What an answer may rest on."""

    sources: SourceTexts | None = None
    context: Text | None = Field(default=None, description="One source, whose id is `context`.")
    question: Text = Field(default="", description="What the answer answers.")

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


def _listed(item: str | Passage, number: int) -> Source:
    if isinstance(item, str):
        return Source(f"S{number}", item)
    return Source(f"S{number}" if item.id is None else str(item.id), item.text)


class Beside(Grounds):
    """… and besides its sources: the conversation before it, and what the server knows."""

    history: list[Message | Text] = Field(default_factory=list, description="The conversation before it.")
    kb: bool = Field(default=False, description="Hold it against the server's own knowledge base too.")

    @property
    def said(self) -> list[dict[str, Any] | str]:
        return [
            turn if isinstance(turn, str) else turn.model_dump(exclude_none=True) for turn in self.history
        ]


class Answered(Beside):
    """An answer, under either of its names."""

    id: Identity = Field(default="response", description="Comes back in the report.")
    response: Text | None = Field(default=None, description="The answer to judge.")
    answer: Text | None = Field(default=None, description="Another name of `response`.")

    @model_validator(mode="after")
    def _one_answer(self) -> Self:
        if (self.response is None) == (self.answer is None):
            raise ValueError("give the answer as 'response' (or 'answer'), once")
        return self

    @property
    def text(self) -> str:
        return self.answer or "" if self.response is None else self.response


class CheckRequest(Answered):
    """An answer and what it may rest on: a line of `groundwire batch`, with a few wishes."""

    target: Portion | None = Field(default=None, description="Confidence a claim must reach (0.95).")
    profile: ProfileName | None = Field(default=None, description="Which set of choices judges.")
    fix: bool = Field(default=False, description="Repair the answer too; see `repair` in the report.")
