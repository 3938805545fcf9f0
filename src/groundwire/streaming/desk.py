"""All that one guarded answer works with: who writes, what was asked, what it may rest on, who checks."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from groundwire.claims.assertiveness import kind_of
from groundwire.config.service import RealTimeConfig
from groundwire.engine import Beside, Groundwire, Sources, as_sources
from groundwire.errors import InputError
from groundwire.llm import Generator, Message
from groundwire.streaming.incremental import Work, here
from groundwire.streaming.knowledge import verify_knowledge
from groundwire.streaming.prompt import messages_for
from groundwire.text.tokens import script
from groundwire.types import ClaimKind, Detection, HallucinationReport
from groundwire.types.realtime import Context, KnowledgeCheck, Requirement

_SAMPLE = 2000
_NAMED = ("entity", "side", "description")


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
    """Whether something is missing that no answer can do without: what the request names, or every word of
    what it asks. A source may answer a question in other words; then the model is asked, and watched.

    What is only implied is not, nor what an instruction asks of the sources themselves ("Summarise this."),
    nor words in another script than theirs, of which nobody can say here whether they are there.
    """
    lost = check.missing if check else ()
    asked = _asked_for(lost, context)
    named = any(one.kind in _NAMED for one in lost)
    return any(named or one.kind != "question" or not one.coverage for one in asked)


def _asked_for(missing: Sequence[Requirement], context: Context) -> list[Requirement]:
    """What is missing of what was asked for in so many words, as far as that can be told."""
    scripts = {script(source.text[:_SAMPLE]) for source in context.sources if source.text.strip()}
    return [
        lost
        for lost in missing
        if lost.explicit
        and (lost.kind != "question" or kind_of(lost.text) is ClaimKind.QUESTION)
        and (not scripts or script(lost.text) in scripts)
    ]
