"""A small recursive language-model loop over files that verifies its own answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.util import find_spec

from groundwire.agent import prompts
from groundwire.agent.checkpoint import (
    Checked,
    annotate,
    audited,
    check,
    guidance,
    is_wanted,
    question_for,
    reason_to_skip,
)
from groundwire.agent.cost import LOCAL, Cost, Meter, cost_object
from groundwire.agent.functions import Evidence, Function, functions_for
from groundwire.agent.loop import Draft, Loop
from groundwire.agent.trajectory import Event, Kind, Log, Watch
from groundwire.config import Config
from groundwire.engine import Groundwire
from groundwire.errors import BackendError, GroundwireError, InputError
from groundwire.llm.base import Generator, Message
from groundwire.reports.json import audit_object, output_object, report_object
from groundwire.streaming.output import OutputVerifier
from groundwire.types import HallucinationReport, OutputCheck, TraceAudit, Turn

_LOCAL_ROOM = 1500
"""Tokens of files the small local model is shown: its context also holds the question and the answer."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """An answer and what is known of it.

    `annotated` is the answer with remarks behind what failed, `asked` a question for the user. `skipped` says
    why nothing was verified, `error` why it could not be, `stopped` that the model did not come to an end.
    `audit` is about the way to it, where `hallucination.trace_auditing` is on; `output` is what the check of
    outputs says, where `hallucination.output_verification` is.
    """

    answer: str
    report: HallucinationReport | None = None
    cost: Cost = field(default_factory=Cost)
    trajectory: tuple[Event, ...] = ()
    annotated: str | None = None
    asked: str | None = None
    skipped: str | None = None
    error: str | None = None
    stopped: str | None = None
    retries: int = 0
    audit: TraceAudit | None = None
    output: OutputCheck | None = None

    @property
    def text(self) -> str:
        """What to show a user."""
        return self.annotated or self.answer


@dataclass(frozen=True, slots=True)
class _Attempt:
    draft: Draft
    checked: Checked


@dataclass(frozen=True, slots=True)
class _Task:
    """One question on its way."""

    query: str
    files: Mapping[str, str]
    verify: bool
    meter: Meter
    log: Log


class Orchestrator:
    """Answers with any generator, verifies with an engine. Whoever opened the two closes them."""

    def __init__(self, generator: Generator, engine: Groundwire, config: Config | None = None) -> None:
        self.generator = generator
        self.engine = engine
        self.config = config or engine.config

    @property
    def _small(self) -> bool:
        """The local model for trying things out needs simpler words, and writes no code."""
        return self.generator.name.startswith(LOCAL)

    async def process(
        self,
        query: str,
        files: Mapping[str, str] | None = None,
        *,
        verify: bool = True,
        history: Sequence[Turn] = (),
        on_event: Watch | None = None,
    ) -> Outcome:
        """Answer a question about files, and verify the answer where it is worth it.

        `on_event` sees every event as it happens, the model's words too. Raises `BackendError` where the
        model cannot be reached; a verifier that cannot be reached costs no answer.
        """
        return await self._process(query, files or {}, verify, Log(on_event), history)

    async def _process(
        self, query: str, files: Mapping[str, str], verify: bool, log: Log, history: Sequence[Turn] = ()
    ) -> Outcome:
        task = _Task(query, dict(files), verify, Meter(self.config.orchestrator.prices), log)
        log(Kind.QUERY, query=query, files=list(files), model=self.generator.name)
        loop = self._loop(task)
        try:
            outcome = await self._worked(task, loop, history)
        except GroundwireError as error:
            log(Kind.END, error=str(error))
            raise
        finally:
            await loop.aclose()
        log(Kind.COST, **cost_object(outcome.cost))
        log(Kind.END, error=outcome.error, retries=outcome.retries)
        return replace(outcome, trajectory=tuple(log.events))

    async def _worked(self, task: _Task, loop: Loop, history: Sequence[Turn]) -> Outcome:
        first = await self._attempt(task, loop, self._messages(task, loop, history))
        attempts = await self._attempts(task, loop, first)
        best = min(attempts, key=lambda a: a.checked.badness)
        audit = await self._audited(task, best.draft)
        output = await self._output(task, best.draft.answer, history)
        return replace(self._outcome(task, best, len(attempts) - 1), audit=audit, output=output)

    async def _output(self, task: _Task, answer: str, history: Sequence[Turn]) -> OutputCheck | None:
        """What is returned to a user is verified against the whole conversation, where that is wanted."""
        checks = OutputVerifier(self.engine, self.config)
        if not checks.is_wanted or not task.verify or task.log.depth:
            return None
        with task.meter.on("verification"):
            found = await checks.verify(answer, task.files, question=task.query, history=history)
        task.log(Kind.OUTPUT_CHECK, **output_object(found))
        return found

    async def _audited(self, task: _Task, draft: Draft) -> TraceAudit | None:
        if not task.verify or not is_wanted(self.config):
            return None
        with task.meter.on("verification"):
            try:
                found = await audited(self.engine, task.query, draft.answer, draft.messages, task.files)
            except GroundwireError as error:
                task.log(Kind.AUDIT, error=str(error))
                return None
        if found is not None:
            task.log(Kind.AUDIT, **audit_object(found))
        return found

    async def _attempts(self, task: _Task, loop: Loop, first: _Attempt) -> list[_Attempt]:
        """The first attempt and further ones, each told what failed in the one before, until one holds."""
        settings = self.config.verification
        if settings.on_failure != "retry" or not first.checked.failed or not settings.max_retries:
            return [first]
        if settings.mode != "full":  # attempts are compared, and a part of one with a whole one cannot be
            first = replace(first, checked=await self._checked(task, first.draft.answer, again=True))
        attempts, last = [first], first
        while last.checked.failed and len(attempts) <= settings.max_retries:
            said = guidance(last.checked.uncertain)
            task.log(Kind.RETRY, attempt=len(attempts), guidance=said)
            try:
                last = await self._attempt(task, loop, self._focused(task, last, said), again=True)
            except BackendError as error:
                task.log(Kind.STOPPED, reason=f"the next attempt failed: {error}")
                break
            attempts.append(last)
        return attempts

    def _focused(self, task: _Task, last: _Attempt, said: str) -> list[Message]:
        if self._small:
            return prompts.focus(task.query, task.files, last.checked.uncertain, _LOCAL_ROOM)
        return [*last.draft.messages, Message("user", said)]

    async def _attempt(
        self, task: _Task, loop: Loop, messages: Sequence[Message], *, again: bool = False
    ) -> _Attempt:
        draft = await loop.answer(messages)
        task.log(Kind.ANSWER, text=draft.answer, stopped=draft.stopped)
        return _Attempt(draft, await self._checked(task, draft.answer, again=again))

    async def _checked(self, task: _Task, answer: str, *, again: bool) -> Checked:
        """A second attempt is looked at whole, however short: it must not pass by the luck of a sample."""
        settings = self.config.verification
        skipped = reason_to_skip(answer, task.files, settings, verify=task.verify, any_length=again)
        if skipped:
            task.log(Kind.SKIPPED, reason=skipped)
            return Checked(skipped=skipped, empty=not answer)
        if again:
            settings = settings.model_copy(update={"mode": "full"})
        with task.meter.on("verification"):
            found = await check(self.engine, answer, task.files, question=task.query, settings=settings)
        report = report_object(found.report) if found.report else None
        uncertain = [claim.claim_id for claim in found.uncertain]
        task.log(
            Kind.VERIFICATION,
            mode=settings.mode,
            failed=found.failed,
            uncertain=list(uncertain),
            skipped=found.skipped,
            error=found.error,
            report=report,
        )
        return found

    def _outcome(self, task: _Task, best: _Attempt, retries: int) -> Outcome:
        checked, answer = best.checked, best.draft.answer
        asked = None
        if checked.failed and self.config.verification.on_failure == "ask":
            asked = question_for(checked.uncertain)
            task.log(Kind.ASK, question=asked)
        return Outcome(
            answer=answer,
            report=checked.report,
            cost=task.meter.cost,
            annotated=annotate(answer, checked.uncertain) if checked.failed else None,
            asked=asked,
            skipped=checked.skipped,
            error=checked.error,
            stopped=best.draft.stopped,
            retries=retries,
        )

    def _loop(self, task: _Task) -> Loop:
        config = self.config
        return Loop(
            self.generator,
            task.files,
            self._functions(task),
            config.orchestrator,
            config.sandbox,
            task.meter,
            task.log,
        )

    def _functions(self, task: _Task) -> dict[str, Function] | None:
        """What code may call; None where there is no code: no sandbox, too deep, or too small a model."""
        settings, depth = self.config.orchestrator, task.log.depth
        small = settings.code == "auto" and self._small
        if settings.code == "never" or small or find_spec("pydantic_monty") is None:
            return None
        if depth and depth >= settings.max_depth:
            return None

        async def ask(query: str, context: Evidence = "", *, verify: bool = True) -> str:
            if task.log.calls >= settings.max_calls:
                raise InputError(f"only {settings.max_calls} calls of the model are allowed a question")
            found = await self._process(query, _files(context) or task.files, verify, task.log.deeper())
            task.meter.add(found.cost)
            return found.text

        return functions_for(self.engine, ask if depth < settings.max_depth else None)

    def _messages(self, task: _Task, loop: Loop, history: Sequence[Turn]) -> list[Message]:
        room = self._room()
        functions = None if loop.functions is None else loop.functions.values()
        told = prompts.system(functions, files=bool(task.files))
        return [told, *prompts.past(history, room // 2), prompts.ask(task.query, task.files, room)]

    def _room(self) -> int:
        """Tokens of files to show at once."""
        if self._small:
            return _LOCAL_ROOM
        claude = self.generator.name.startswith("anthropic/")
        at = self.config.anthropic if claude else self.config.openai
        return at.context_tokens


def _files(context: Evidence) -> dict[str, str]:
    if isinstance(context, str):
        return {"context": context} if context else {}
    if isinstance(context, dict):
        return context
    return {f"context {number}": text for number, text in enumerate(context, 1)}
