"""The MCP tools: arguments, implementation, and the description that a model reads."""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from pydantic import BaseModel, ValidationError

from groundwire.actions import judge
from groundwire.actions.transcript import ledger_of, read_events
from groundwire.config import Operation
from groundwire.engine import ContextKwargs, Groundwire
from groundwire.errors import InputError
from groundwire.mcp import arguments as args
from groundwire.mcp import strawberry
from groundwire.reports.json import action_object, audit_object, claim_object
from groundwire.reports.schema import ActionOut, AuditOut, ClaimOut, ReportOut
from groundwire.requests import as_sources
from groundwire.traces import audit
from groundwire.types import ClaimVerification, HallucinationReport, KnowledgeBase, Source, Status, Step

T = TypeVar("T")
A = TypeVar("A")
F = TypeVar("F", bound=Callable[..., Any])
MAX_RESULT_BYTES = 600_000
"""Clients of streamable HTTP accept messages of one megabyte, text and structured content together."""
MAX_TEXT_BYTES = 150_000  # of the text content; longer results list only what is flagged there
Result = dict[str, Any]  # a JSON object as the HTTP API and the CLI return it
Kb = KnowledgeBase | str | None


class ToolService(Protocol):
    """The environment of the tools: the HTTP service, or a single stdio process."""

    def engine_for(self, operation: Operation) -> Groundwire: ...

    async def work(self, job: Callable[[], Coroutine[Any, Any, T]], size: int = 0) -> T: ...

    async def known(self, request: Any) -> Kb:
        """Return the knowledge base that the caller of this HTTP request (if any) may read."""
        ...

    async def with_opinions(self, report: HallucinationReport, request: Any) -> HallucinationReport:
        """Add the feedback that the caller of this HTTP request (if any) may see."""
        ...


@dataclass(frozen=True, slots=True)
class ToolCall(Generic[A]):
    """One call: the engine, the parsed arguments, and the knowledge base if it was asked for."""

    engine: Groundwire
    arguments: A
    kb: Kb = None


@dataclass(frozen=True, slots=True)
class Tool:
    name: str
    title: str
    summary: str
    arguments: type[BaseModel]
    run: Callable[[ToolCall[Any]], Coroutine[Any, Any, Result | HallucinationReport]]
    returns: type[BaseModel]
    operation: Operation


TOOLS: list[Tool] = []
_BITS = (
    "p0 is the probability that the claim is true without its evidence, p1 with it; "
    "budget_gap = required_bits - observed_bits, and a claim that its evidence does not support is flagged, "
    "with a reason. Status is ENTAILED, CONTRADICTED, NOT_IN_CONTEXT, UNVERIFIABLE or UNCHECKED (the "
    "check failed: never treat it as supported)."
)


def _tool(
    title: str, arguments: type[BaseModel], returns: type[BaseModel], operation: Operation = "output"
) -> Callable[[F], F]:
    """Register a function as the tool of its name. Its docstring is what a model reads; BITS stands for `_BITS`."""

    def register(run: F) -> F:
        summary = " ".join((run.__doc__ or "").split()).replace("BITS", _BITS)
        TOOLS.append(Tool(run.__name__, title, summary, arguments, run, returns, operation))
        return run

    return register


class ClaimVerdicts(BaseModel):
    """Verdicts without a report. `flagged` is null if none is flagged but some could not be checked."""

    flagged: bool | None
    claims: list[ClaimOut]


class ActionVerdicts(BaseModel):
    """Statements about actions. `flagged` is true if one of them is not performed as stated."""

    flagged: bool
    actions: list[ActionOut]


@_tool("Check an answer", args.Check, ReportOut)
async def check(call: ToolCall[args.Check]) -> HallucinationReport:
    """Verify every claim of an answer against its sources, and the conversation if given. Use it before you show
    an answer that is based on documents. BITS Character offsets refer to the answer.
    """
    arguments = call.arguments
    engine = call.engine.variant(profile=arguments.profile, target=arguments.target)
    sources = _sources(engine, arguments.sources)
    turns = [turn if isinstance(turn, str) else turn.model_dump() for turn in arguments.history]
    context: ContextKwargs = {"history": turns, "kb": call.kb}
    report = await engine.check(
        arguments.answer, sources, question=arguments.question, response_id="response", **context
    )
    return await engine.fix(report, sources, **context) if arguments.fix else report


@_tool("Verify one claim", args.VerifyClaim, ClaimOut, "claims")
async def verify_claim(call: ToolCall[args.VerifyClaim]) -> Result:
    """Verify one claim against its evidence as it stands. BITS"""
    arguments = call.arguments
    confidence = arguments.threshold if arguments.confidence is None else arguments.confidence
    sources = _sources(call.engine, arguments.evidence)
    return claim_object(await call.engine.verify_claim(arguments.claim, sources, confidence))


@_tool("Verify the claims of a text", args.VerifyClaims, ClaimVerdicts, "claims")
async def verify_claims(call: ToolCall[args.VerifyClaims]) -> Result:
    """Split a text into claims and verify each against the context. BITS"""
    arguments, sources = call.arguments, _sources(call.engine, call.arguments.context)
    return _verdicts(await call.engine.verify_claims(arguments.text, sources, question=arguments.question))


@_tool("Audit reasoning steps", args.AuditReasoning, ClaimVerdicts, "trace")
async def audit_reasoning(call: ToolCall[args.AuditReasoning]) -> Result:
    """Verify each step {claim, cites} against the sources and earlier steps it cites; a step counts as a premise
    for later ones only if it is entailed. BITS
    """
    sources = _sources(call.engine, call.arguments.sources)
    return _verdicts(await audit.audit_reasoning(call.engine, _parse_steps(call.arguments.steps), sources))


@_tool("Audit reasoning and its answer", args.AuditTrace, AuditOut, "trace")
async def audit_trace(call: ToolCall[args.AuditTrace]) -> Result:
    """Verify each step, compare the steps with each other, and derive the answer again from the steps alone, to
    see if it follows from them or was decided before them. BITS
    """
    arguments, sources = call.arguments, _sources(call.engine, call.arguments.context)
    steps = _parse_steps(arguments.steps)
    return audit_object(await audit.audit_trace(call.engine, steps, arguments.question, sources, arguments.answer))


@_tool("Check what an agent says it did", args.CheckActions, ActionVerdicts)
async def check_actions(call: ToolCall[args.CheckActions]) -> Result:
    """Compare statements like 'all tests pass' or 'I sent the email' with the tool calls of a conversation.
    Status is performed, unperformed (no such call), failed (the call failed) or contradicted (its result or
    arguments say otherwise). Use it before you report work as done.
    """
    _check_size(call.engine, sum(len(str(message)) for message in call.arguments.messages))
    ledger = ledger_of(read_events(call.arguments.messages))
    answer = call.arguments.answer
    found = judge.check_answer(answer, ledger) if answer else judge.check_actions(ledger)
    return {"flagged": any(v.is_flagged for v in found), "actions": [action_object(v) for v in found]}


@_tool("Detect hallucinations in a cited answer", args.DetectHallucination, strawberry.BudgetReport)
async def detect_hallucination(call: ToolCall[args.DetectHallucination]) -> Result:
    """Split an answer with citations like [S0] into claims and measure if the spans support each one (the
    information budget: p0 without the evidence compared to p1). Parameters and result are those of Strawberry's
    tool of this name.
    """
    _check_size(call.engine, sum(len(span.text) for span in call.arguments.spans))
    return (await strawberry.detect_hallucination(call.engine, call.arguments)).model_dump(mode="json")


@_tool("Audit claims with explicit citations", args.AuditTraceBudget, strawberry.BudgetReport, "trace")
async def audit_trace_budget(call: ToolCall[args.AuditTraceBudget]) -> Result:
    """Measure the information budget of claims that you state yourself, each with the spans it cites. More exact
    than detect_hallucination, since no text has to be split. Parameters and result are those of Strawberry's
    tool of this name.
    """
    _check_size(call.engine, sum(len(span.text) for span in call.arguments.spans))
    return (await strawberry.audit_trace_budget(call.engine, call.arguments)).model_dump(mode="json")


def _sources(engine: Groundwire, sources: args.Sources) -> tuple[Source, ...]:
    found = as_sources(sources)
    _check_size(engine, sum(len(source.text) for source in found))
    return found


def _check_size(engine: Groundwire, size: int) -> None:
    limit = engine.config.limits.max_source_bytes
    if size > limit:
        raise InputError(f"sources are too long: {size:,} characters", hint=f"the limit is {limit:,}")


def _parse_steps(steps: Sequence[args.StepArgument | str]) -> list[Step | str]:
    return [
        step if isinstance(step, str) else Step(step.id or "", step.claim, tuple(step.cites), step.confidence)
        for step in steps
    ]


def _verdicts(found: Sequence[ClaimVerification]) -> Result:
    bad = any(claim.is_flagged for claim in found)
    unsure = any(claim.status is Status.UNCHECKED for claim in found)
    return {"flagged": None if unsure and not bad else bad, "claims": [claim_object(c) for c in found]}


def parse_arguments(tool: Tool, arguments: object) -> BaseModel:
    """Validate the arguments; an error is one line."""
    try:
        return tool.arguments.model_validate(arguments)
    except ValidationError as error:
        # The argument, the place and the problem; the value itself may be confidential.
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"] if part not in args.TYPE_TAGS)
        raise InputError(f"'{where}': {first['msg'][:1].lower()}{first['msg'][1:]}") from None


def as_text(result: Result) -> str:
    """Return the result as text, for clients that ignore structured content.

    A long result is reduced to what is flagged; one that no client would accept is an `InputError`.
    """
    text = json.dumps(result, ensure_ascii=False)
    size = len(text.encode("utf-8", "replace"))
    if size > MAX_RESULT_BYTES:
        raise InputError(f"the report is too large: {size:,} bytes", hint="check the answer in parts")
    if size <= MAX_TEXT_BYTES:
        return text
    lists = {key: items for key, items in result.items() if isinstance(items, list)}
    bad = {
        key: [item for item in items if isinstance(item, dict) and item.get("flagged")] for key, items in lists.items()
    }
    note = "flagged items only; the structured content is complete"
    return json.dumps({**result, **bad, "note": note}, ensure_ascii=False)
