"""From a question to an answer with its sources, and from the answer to the check of its claims."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from groundwire.config.service import RagConfig
from groundwire.engine import Groundwire
from groundwire.errors import BackendError, InputError
from groundwire.llm import Generator, completed
from groundwire.rag.index import Hit, PassageIndex
from groundwire.rag.prompt import messages, query, sources_of
from groundwire.rag.reply import Reply, checked, nothing_found, said
from groundwire.retrieval.history import History, as_turns
from groundwire.types import HallucinationReport

MAX_QUESTION = 20_000


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, what was said before it, and how many passages to look at."""

    question: str
    history: History = ()
    top_k: int | None = None


@dataclass(frozen=True, slots=True)
class Draft:
    """An answer that was not checked yet, and the passages it was written from."""

    question: str
    response: str
    hits: tuple[Hit, ...]


class Chatbot:
    """Holds the index and the model; both stay their owners' to close.

    Finding and writing are apart from checking, so that an answer can be shown while it is checked.
    """

    def __init__(self, index: PassageIndex, generator: Generator, config: RagConfig) -> None:
        self.index = index
        self.generator = generator
        self.config = config

    async def find(self, asked: Asked) -> tuple[Hit, ...]:
        """The passages the question is about."""
        if not asked.question.strip():
            raise InputError("the question is empty")
        if len(asked.question) > MAX_QUESTION:
            raise InputError(f"the question is longer than {MAX_QUESTION:,} characters")
        wanted = query(asked.question, as_turns(asked.history))
        return tuple(await asyncio.to_thread(self.index.search, wanted, asked.top_k or self.config.top_k))

    async def write(
        self, asked: Asked, hits: tuple[Hit, ...], on_text: Callable[[str], None] | None = None
    ) -> Draft:
        """The answer; without passages it says so, and the model is not asked."""
        if not hits:
            text = said("nothing", asked.question)
            if on_text is not None:
                on_text(text)
            return Draft(asked.question, text, ())
        request = messages(asked.question, sources_of(hits), as_turns(asked.history))
        done = await completed(self.generator, request, on_text, max_tokens=self.config.max_tokens)
        if not done.text.strip():
            raise BackendError(f"{self.generator.name} gave no answer")
        return Draft(asked.question, done.text.strip(), hits)

    async def chat(self, asked: Asked, engine: Groundwire) -> Reply:
        """All of it: the checked answer."""
        draft = await self.write(asked, await self.find(asked))
        return await check(draft, engine)


async def check(draft: Draft, engine: Groundwire) -> Reply:
    """The reply: the answer with the check of its claims."""
    if not draft.hits:
        return nothing_found(draft.response)
    return checked(draft.response, draft.hits, await judged(draft, engine))


async def judged(draft: Draft, engine: Groundwire) -> HallucinationReport:
    """The claims of an answer, each verified with its evidence and without it, under the profile `rag`."""
    judge = engine.variant(profile="rag")
    return await judge.check(draft.response, sources_of(draft.hits), question=draft.question)
