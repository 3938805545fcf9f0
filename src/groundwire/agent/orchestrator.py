"""The orchestrator: answer a question about files, verify the answer, and retry if it fails."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.util import find_spec

from groundwire.agent.checkpoint import (
    CheckResult,
    annotate,
    audit_answer,
    check,
    guidance,
    is_audit_enabled,
    question_for,
    reason_to_skip,
)
from groundwire.agent.loop import AgentDraft, AgentLoop, focus_prompt, past_turns, question_prompt, system_prompt
from groundwire.agent.sandbox import Evidence, Function, functions_for
from groundwire.agent.trajectory import Cost, Event, EventHandler, EventKind, EventLog, Meter, cost_object
from groundwire.config import Config
from groundwire.engine import Groundwire
from groundwire.errors import BackendError, GroundwireError, InputError
from groundwire.llm import Generator, Message, is_local
from groundwire.reports.json import audit_object, output_object, report_object
from groundwire.streaming.output import OutputVerifier
from groundwire.types import HallucinationReport, OutputCheck, TraceAudit, Turn

_LOCAL_CONTEXT_TOKENS = 1500
"""Tokens of files shown to the small local model, whose window also holds question and answer."""


@dataclass(frozen=True, slots=True)
class AgentResult:
    """An answer and the result of its verification.

    `annotated` is the answer with remarks after failing claims, `asked` a question to the user. `skipped` and
    `error` say why nothing was verified; `stopped` is set if the model did not finish. `audit` is the trace
    audit (`hallucination.trace_auditing`), `output` the output check (`hallucination.output_verification`).
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
        """The text to show to a user."""
        return self.annotated or self.answer


@dataclass(frozen=True, slots=True)
class _Attempt:
    draft: AgentDraft
    checked: CheckResult


@dataclass(frozen=True, slots=True)
class _QuestionTask:
    """One question being answered."""

    query: str
    files: Mapping[str, str]
    verify: bool
    meter: Meter
    log: EventLog


class Orchestrator:
    """Answers with a generator and verifies with an engine. The caller owns and closes both."""

    def __init__(self, generator: Generator, engine: Groundwire, config: Config | None = None) -> None:
        self.generator = generator
        self.engine = engine
        self.config = config or engine.config

    @property
    def _is_local(self) -> bool:
        """True for the small local model, which gets simpler prompts and writes no code."""
        return is_local(self.generator)

    async def process(
        self,
        query: str,
        files: Mapping[str, str] | None = None,
        *,
        verify: bool = True,
        history: Sequence[Turn] = (),
        on_event: EventHandler | None = None,
    ) -> AgentResult:
        """Answer a question about files, and verify the answer.

        query: the question.
        files: texts by name.
        verify: False skips verification.
        history: earlier turns of the conversation.
        on_event: called with every event as it happens, including the model's tokens.

        Raises `BackendError` if the model cannot be reached. A failing verifier is reported in the result.
        """
        return await self._process(query, files or {}, verify, EventLog(on_event), history)

    async def _process(
        self, query: str, files: Mapping[str, str], verify: bool, log: EventLog, history: Sequence[Turn] = ()
    ) -> AgentResult:
        task = _QuestionTask(query, dict(files), verify, Meter(self.config.orchestrator.prices), log)
        log(EventKind.QUERY, query=query, files=list(files), model=self.generator.name)
        config = self.config
        functions = self._functions(task)
        loop = AgentLoop(self.generator, task.files, functions, config.orchestrator, config.sandbox, task.meter, log)
        try:
            outcome = await self._solve(task, loop, history)
        except GroundwireError as error:
            log(EventKind.END, error=str(error))
            raise
        finally:
            await loop.aclose()
        log(EventKind.COST, **cost_object(outcome.cost))
        log(EventKind.END, error=outcome.error, retries=outcome.retries)
        return replace(outcome, trajectory=tuple(log.events))

    async def _solve(self, task: _QuestionTask, loop: AgentLoop, history: Sequence[Turn]) -> AgentResult:
        room = self._context_tokens()
        functions = None if loop.functions is None else loop.functions.values()
        prompt = [
            system_prompt(functions, files=bool(task.files)),
            *past_turns(history, room // 2),
            question_prompt(task.query, task.files, room),
        ]
        first = await self._attempt(task, loop, prompt)
        attempts = await self._attempts(task, loop, first)
        best = min(attempts, key=lambda a: a.checked.badness)
        audit = await self._audit(task, best.draft)
        output = await self._check_output(task, best.draft.answer, history)
        return replace(self._outcome(task, best, len(attempts) - 1), audit=audit, output=output)

    async def _check_output(self, task: _QuestionTask, answer: str, history: Sequence[Turn]) -> OutputCheck | None:
        """Verify the output against the whole conversation, if `output_verification` is enabled."""
        checks = OutputVerifier(self.engine, self.config)
        if not checks.is_wanted or not task.verify or task.log.depth:
            return None
        with task.meter.on("verification"):
            found = await checks.verify(answer, task.files, question=task.query, history=history)
        task.log(EventKind.OUTPUT_CHECK, **output_object(found))
        return found

    async def _audit(self, task: _QuestionTask, draft: AgentDraft) -> TraceAudit | None:
        if not task.verify or not is_audit_enabled(self.config):
            return None
        with task.meter.on("verification"):
            try:
                found = await audit_answer(self.engine, task.query, draft.answer, draft.messages, task.files)
            except GroundwireError as error:
                task.log(EventKind.AUDIT, error=str(error))
                return None
        if found is not None:
            task.log(EventKind.AUDIT, **audit_object(found))
        return found

    async def _attempts(self, task: _QuestionTask, loop: AgentLoop, first: _Attempt) -> list[_Attempt]:
        """Retry with guidance on what failed until an attempt passes; return all attempts."""
        settings = self.config.verification
        if settings.on_failure != "retry" or not first.checked.failed or not settings.max_retries:
            return [first]
        if settings.mode != "full":  # attempts are only comparable if all of their claims are checked
            first = replace(first, checked=await self._check(task, first.draft.answer, again=True))
        attempts, last = [first], first
        while last.checked.failed and len(attempts) <= settings.max_retries:
            text = guidance(last.checked.uncertain)
            task.log(EventKind.RETRY, attempt=len(attempts), guidance=text)
            try:
                prompt = [*last.draft.messages, Message("user", text)]
                if self._is_local:
                    prompt = focus_prompt(task.query, task.files, last.checked.uncertain, _LOCAL_CONTEXT_TOKENS)
                last = await self._attempt(task, loop, prompt, again=True)
            except BackendError as error:
                task.log(EventKind.STOPPED, reason=f"the next attempt failed: {error}")
                break
            attempts.append(last)
        return attempts

    async def _attempt(
        self, task: _QuestionTask, loop: AgentLoop, messages: Sequence[Message], *, again: bool = False
    ) -> _Attempt:
        draft = await loop.answer(messages)
        task.log(EventKind.ANSWER, text=draft.answer, stopped=draft.stopped)
        return _Attempt(draft, await self._check(task, draft.answer, again=again))

    async def _check(self, task: _QuestionTask, answer: str, *, again: bool) -> CheckResult:
        """Verify an answer. Retries are checked in full: they must not pass by the luck of a sample."""
        settings = self.config.verification
        skipped = reason_to_skip(answer, task.files, settings, verify=task.verify, any_length=again)
        if skipped:
            task.log(EventKind.SKIPPED, reason=skipped)
            return CheckResult(skipped=skipped, empty=not answer)
        if again:
            settings = settings.model_copy(update={"mode": "full"})
        with task.meter.on("verification"):
            found = await check(self.engine, answer, task.files, question=task.query, settings=settings)
        task.log(
            EventKind.VERIFICATION,
            mode=settings.mode,
            failed=found.failed,
            uncertain=[claim.claim_id for claim in found.uncertain],
            skipped=found.skipped,
            error=found.error,
            report=report_object(found.report) if found.report else None,
        )
        return found

    def _outcome(self, task: _QuestionTask, best: _Attempt, retries: int) -> AgentResult:
        checked, answer = best.checked, best.draft.answer
        asked = None
        if checked.failed and self.config.verification.on_failure == "ask":
            asked = question_for(checked.uncertain)
            task.log(EventKind.ASK, question=asked)
        return AgentResult(
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

    def _functions(self, task: _QuestionTask) -> dict[str, Function] | None:
        """Return the functions for code; None without a sandbox, at full depth, or for a small model."""
        settings, depth = self.config.orchestrator, task.log.depth
        small = settings.code == "auto" and self._is_local
        if settings.code == "never" or small or find_spec("pydantic_monty") is None:
            return None
        if depth and depth >= settings.max_depth:
            return None

        async def ask(query: str, context: Evidence = "", *, verify: bool = True) -> str:
            if task.log.calls >= settings.max_calls:
                raise InputError(f"only {settings.max_calls} model calls are allowed per question")
            files = context
            if isinstance(files, str):
                files = {"context": files} if files else {}
            elif isinstance(files, list):
                files = {f"context {number}": text for number, text in enumerate(files, 1)}
            found = await self._process(query, files or task.files, verify, task.log.nested())
            task.meter.add(found.cost)
            return found.text

        return functions_for(self.engine, ask if depth < settings.max_depth else None)

    def _context_tokens(self) -> int:
        """Return the number of tokens of files to show at once."""
        if self._is_local:
            return _LOCAL_CONTEXT_TOKENS
        claude = self.generator.name.startswith("anthropic/")
        at = self.config.anthropic if claude else self.config.openai
        return at.context_tokens
