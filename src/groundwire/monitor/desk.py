"""All that one guarded answer works with: who writes, what was asked, what it may rest on, who checks."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from groundwire.claims.kind import kind_of
from groundwire.config.service import RealTimeConfig
from groundwire.engine import Beside, Groundwire, Sources, as_sources
from groundwire.errors import InputError
from groundwire.llm import Generator, Message
from groundwire.monitor.incremental import Work, here
from groundwire.monitor.knowledge import verify_knowledge
from groundwire.monitor.prompt import messages_for
from groundwire.text.words import script
from groundwire.types import ClaimKind, Detection, HallucinationReport
from groundwire.types.realtime import Context, KnowledgeCheck

_SAMPLE = 2000


@dataclass(frozen=True, slots=True)
class Desk:
    generator: Generator
    request: str
    messages: tuple[Message, ...]
    context: Context
    engine: Groundwire
    work: Work = here

    @property
    def config(self) -> RealTimeConfig:
        return self.engine.config.realtime

    @property
    def beside(self) -> Beside:
        at = self.context
        return {"history": at.history, "kb": at.kb, "now": at.now}

    async def check(self, text: str) -> HallucinationReport:
        return await self.work(
            lambda: self.engine.check(text, self.context.sources, question=self.request, **self.beside)
        )

    async def detect(self, text: str) -> Detection:
        return await self.work(lambda: self.engine.detect(text, **self.beside))

    async def knowledge(self) -> KnowledgeCheck | None:
        """Whether the request can be answered at all; None where nobody wants to know."""
        if not self.config.check_knowledge:
            return None
        return await asyncio.to_thread(verify_knowledge, self.request, self.context)


def open_desk(
    generator: Generator,
    request: str | Sequence[Message],
    context: Context | Sources,
    engine: Groundwire,
    work: Work,
) -> Desk:
    """The question with its sources, or the messages as they shall be sent: the last of the user's is it."""
    rests_on = context if isinstance(context, Context) else Context(as_sources(context))
    if isinstance(request, str):
        asked, messages = request, messages_for(request, rests_on.sources, rests_on.history)
    else:
        messages = list(request)
        asked = next((m.content for m in reversed(messages) if m.role == "user"), "")
    if not asked.strip():
        raise InputError("the request is empty")
    return Desk(generator, asked, tuple(messages), rests_on, engine, work)


def lacks(check: KnowledgeCheck | None, context: Context) -> bool:
    """Whether something is missing that no answer can do without.

    What is only implied is not, nor what an instruction asks of the sources themselves ("Summarise this."),
    nor words in another script than theirs, of which nobody can say here whether they are there.
    """
    scripts = {script(source.text[:_SAMPLE]) for source in context.sources if source.text.strip()}
    explicit = [lost for lost in (check.missing if check else ()) if lost.explicit]
    return any(
        (lost.kind != "question" or kind_of(lost.text) is ClaimKind.QUESTION)
        and (not scripts or script(lost.text) in scripts)
        for lost in explicit
    )
