"""All that one guarded answer works with: who writes, what was asked, what it may rest on, who checks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from groundwire.config.service import RealTimeConfig
from groundwire.engine import Beside, Groundwire, Sources, as_sources
from groundwire.errors import InputError
from groundwire.evidence.history import History, as_turns
from groundwire.llm import Generator, Message
from groundwire.monitor.incremental import Work, here
from groundwire.monitor.prompt import messages_for
from groundwire.types import Detection, HallucinationReport, KnowledgeBase, Source, Turn
from groundwire.types.realtime import KnowledgeCheck


@dataclass(frozen=True, slots=True)
class GuardContext:
    """What an answer may rest on: sources, the conversation before, what is known, the moment."""

    sources: Sources = ()
    history: History = ()
    kb: KnowledgeBase | str | None = None
    now: datetime | None = None


@dataclass(frozen=True, slots=True)
class Desk:
    generator: Generator
    request: str
    messages: tuple[Message, ...]
    sources: tuple[Source, ...]
    history: tuple[Turn, ...]
    context: GuardContext
    engine: Groundwire
    work: Work = here

    @property
    def config(self) -> RealTimeConfig:
        return self.engine.config.realtime

    @property
    def beside(self) -> Beside:
        return {"history": self.history, "kb": self.context.kb, "now": self.context.now}

    async def check(self, text: str) -> HallucinationReport:
        return await self.work(
            lambda: self.engine.check(text, self.sources, question=self.request, **self.beside)
        )

    async def detect(self, text: str) -> Detection:
        return await self.work(lambda: self.engine.detect(text, **self.beside))

    async def knowledge(self) -> KnowledgeCheck | None:
        """Whether the request can be answered at all; None where nobody wants to know."""
        if not self.config.check_knowledge:
            return None
        from groundwire.monitor.knowledge import verify_knowledge_availability

        return await self.work(
            lambda: verify_knowledge_availability(self.request, self.sources, **self.beside)
        )


def open_desk(
    generator: Generator,
    request: str | Sequence[Message],
    context: GuardContext,
    engine: Groundwire,
    work: Work,
) -> Desk:
    """The question with its sources, or the messages as they shall be sent: the last of the user's is it."""
    sources, history = as_sources(context.sources), as_turns(context.history)
    if isinstance(request, str):
        asked, messages = request, messages_for(request, sources, history)
    else:
        messages = list(request)
        asked = next((m.content for m in reversed(messages) if m.role == "user"), "")
    if not asked.strip():
        raise InputError("the request is empty")
    return Desk(generator, asked, tuple(messages), sources, history, context, engine, work)
