"""The MCP tools: arguments, implementation, and the description that a model reads."""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from pydantic import BaseModel, ValidationError

from groundwire.actions.judge import check_actions, check_answer
from groundwire.actions.transcript import ledger_of, read_events
from groundwire.config import Operation
from groundwire.engine import ContextKwargs, Groundwire
from groundwire.errors import InputError
from groundwire.mcp import arguments as args
from groundwire.mcp.strawberry import BudgetReport, audit_trace_budget, detect_hallucination
from groundwire.reports.json import action_object, audit_object, claim_object
from groundwire.reports.schema import ActionOut, AuditOut, ClaimOut, ReportOut
from groundwire.requests import as_sources
from groundwire.traces.audit import audit_reasoning, audit_trace
from groundwire.types import ClaimVerification, HallucinationReport, KnowledgeBase, Source, Status, Step

T = TypeVar("T")
A = TypeVar("A")
MAX_RESULT_BYTES = 600_000
"""Clients of streamable HTTP accept messages of one megabyte, text and structured content together."""
MAX_TEXT_BYTES = 150_000
"""Of the text content; longer results list only what is flagged there."""
Result = dict[str, Any]
"""A JSON object as the HTTP API and the CLI return it."""
Kb = KnowledgeBase | str | None


class ToolService(Protocol):
    """The environment of the tools: the HTTP service, or a single stdio process."""

    def engine_for(self, operation: Operation) -> Groundwire: ...

    async def work(self, job: Callable[[], Coroutine[Any, Any, T]], size: int = 0) -> T: ...

    async def known(self, request: Any) -> Kb:
        """Return the knowledge base that the caller of this HTTP request (if any) may read."""
        ...

    async def with_opinions(self, report: HallucinationReport) -> HallucinationReport: ...


@dataclass(frozen=True, slots=True)
class ToolCall(Generic[A]):
    """One call: the engine, the parsed arguments, and the knowledge base if it was asked for."""

    engine: Groundwire
    arguments: A
    kb: Kb = None


Run = Callable[[ToolCall[Any]], Coroutine[Any, Any, Result | HallucinationReport]]


@dataclass(frozen=True, slots=True)
class Tool:
    name: str
    title: str
    summary: str
    arguments: type[BaseModel]
    run: Run
    returns: type[BaseModel]
    operation: Operation = "output"


class ClaimVerdicts(BaseModel):
    """Verdicts without a report. `flagged` is null if none is flagged but some could not be checked."""

    flagged: bool | None
    claims: list[ClaimOut]


class ActionVerdicts(BaseModel):
    """Statements about actions. `flagged` is true if one of them is not performed as stated."""

    flagged: bool
    actions: list[ActionOut]


async def _check(call: ToolCall[args.Check]) -> HallucinationReport:
    arguments, judge = (
        call.arguments,
        call.engine.variant(profile=call.arguments.profile, target=call.arguments.target),
    )
    sources = _sources(judge, arguments.sources)
    turns = [turn if isinstance(turn, str) else turn.model_dump() for turn in arguments.history]
    context: ContextKwargs = {"history": turns, "kb": call.kb}
    report = await judge.check(
        arguments.answer, sources, question=arguments.question, response_id="response", **context
    )
    return await judge.fix(report, sources, **context) if arguments.fix else report


async def _verify_claim(call: ToolCall[args.VerifyClaim]) -> Result:
    arguments = call.arguments
    confidence = arguments.threshold if arguments.confidence is None else arguments.confidence
    sources = _sources(call.engine, arguments.evidence)
    return claim_object(await call.engine.verify_claim(arguments.claim, sources, confidence))


async def _verify_claims(call: ToolCall[args.VerifyClaims]) -> Result:
    arguments, sources = call.arguments, _sources(call.engine, call.arguments.context)
    return _verdicts(await call.engine.verify_claims(arguments.text, sources, question=arguments.question))


async def _audit_reasoning(call: ToolCall[args.AuditReasoning]) -> Result:
    sources = _sources(call.engine, call.arguments.sources)
    return _verdicts(await audit_reasoning(call.engine, _parse_steps(call.arguments.steps), sources))


async def _audit_trace(call: ToolCall[args.AuditTrace]) -> Result:
    arguments, sources = call.arguments, _sources(call.engine, call.arguments.context)
    steps = _parse_steps(arguments.steps)
    return audit_object(await audit_trace(call.engine, steps, arguments.question, sources, arguments.answer))


async def _check_actions(call: ToolCall[args.CheckActions]) -> Result:
    _check_size(call.engine, sum(len(str(message)) for message in call.arguments.messages))
    ledger = ledger_of(read_events(call.arguments.messages))
    answer = call.arguments.answer
    found = check_answer(answer, ledger) if answer else check_actions(ledger)
    return {"flagged": any(v.is_flagged for v in found), "actions": [action_object(v) for v in found]}


async def _detect(call: ToolCall[args.DetectHallucination]) -> Result:
    _check_size(call.engine, sum(len(span.text) for span in call.arguments.spans))
    return (await detect_hallucination(call.engine, call.arguments)).model_dump(mode="json")


async def _audit_budget(call: ToolCall[args.AuditTraceBudget]) -> Result:
    _check_size(call.engine, sum(len(span.text) for span in call.arguments.spans))
    return (await audit_trace_budget(call.engine, call.arguments)).model_dump(mode="json")


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


_BITS = (
    "p0 is the probability that the claim is true without its evidence, p1 with it; "
    "budget_gap = required_bits - observed_bits, and a claim that its evidence does not support is flagged, "
    "with a reason. Status is ENTAILED, CONTRADICTED, NOT_IN_CONTEXT, UNVERIFIABLE or UNCHECKED (the "
    "check failed: never treat it as supported)."
)

TOOLS: tuple[Tool, ...] = (
    Tool(
        "check",
        "Check an answer",
        "Verify every claim of an answer against its sources, and the conversation if args. Use it before "
        f"you show an answer that is based on documents. {_BITS} Character offsets refer to the answer.",
        args.Check,
        _check,
        ReportOut,
    ),
    Tool(
        "verify_claim",
        "Verify one claim",
        f"Verify one claim against its evidence as it stands. {_BITS}",
        args.VerifyClaim,
        _verify_claim,
        ClaimOut,
        "claims",
    ),
    Tool(
        "verify_claims",
        "Verify the claims of a text",
        f"Split a text into claims and verify each against the context. {_BITS}",
        args.VerifyClaims,
        _verify_claims,
        ClaimVerdicts,
        "claims",
    ),
    Tool(
        "audit_reasoning",
        "Audit reasoning steps",
        "Verify each step {claim, cites} against the sources and earlier steps it cites; a step counts as a "
        f"premise for later ones only if it is entailed. {_BITS}",
        args.AuditReasoning,
        _audit_reasoning,
        ClaimVerdicts,
        "trace",
    ),
    Tool(
        "audit_trace",
        "Audit reasoning and its answer",
        "Verify each step, compare the steps with each other, and derive the answer again from the steps "
        f"alone, to see if it follows from them or was decided before them. {_BITS}",
        args.AuditTrace,
        _audit_trace,
        AuditOut,
        "trace",
    ),
    Tool(
        "check_actions",
        "Check what an agent says it did",
        "Compare statements like 'all tests pass' or 'I sent the email' with the tool calls of a "
        "conversation. Status is performed, unperformed (no such call), failed (the call failed) or "
        "contradicted (its result or arguments say otherwise). Use it before you report work as done.",
        args.CheckActions,
        _check_actions,
        ActionVerdicts,
    ),
    Tool(
        "detect_hallucination",
        "Detect hallucinations in a cited answer",
        "Split an answer with citations like [S0] into claims and measure if the spans support each one "
        "(the information budget: p0 without the evidence compared to p1). Parameters and result are those "
        "of Strawberry's tool of this name.",
        args.DetectHallucination,
        _detect,
        BudgetReport,
    ),
    Tool(
        "audit_trace_budget",
        "Audit claims with explicit citations",
        "Measure the information budget of claims that you state yourself, each with the spans it cites. "
        "More exact than detect_hallucination, since no text has to be split. Parameters and result "
        "are those of Strawberry's tool of this name.",
        args.AuditTraceBudget,
        _audit_budget,
        BudgetReport,
        "trace",
    ),
)


def parse_arguments(tool: Tool, arguments: object) -> BaseModel:
    """Validate the arguments; an error is one line."""
    try:
        return tool.arguments.model_validate(arguments)
    except ValidationError as error:
        raise InputError(_first_error(error)) from None


def _first_error(error: ValidationError) -> str:
    """Describe the first error: argument, place and problem. The value itself may be confidential."""
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    where = ".".join(str(part) for part in first["loc"] if part not in args.TYPE_TAGS)
    return f"'{where}': {first['msg'][:1].lower()}{first['msg'][1:]}"


def as_text(result: Result) -> str:
    """Return the result as text, for clients that ignore structured content.

    A long result is reduced to what is flagged; one that no client would accept is an `InputError`.
    """
    text = json.dumps(result, ensure_ascii=False)
    size = len(text.encode("utf-8", "replace"))
    if size > MAX_RESULT_BYTES:
        raise InputError(f"the report is too large: {size:,} bytes", hint="check the answer in parts")
    return text if size <= MAX_TEXT_BYTES else json.dumps(_flagged(result), ensure_ascii=False)


def _flagged(result: Result) -> Result:
    lists = {key: items for key, items in result.items() if isinstance(items, list)}
    bad = {key: [item for item in items if _is_flagged(item)] for key, items in lists.items()}
    note = "flagged items only; the structured content is complete"
    return {**result, **bad, "note": note}


def _is_flagged(item: object) -> bool:
    return isinstance(item, dict) and bool(item.get("flagged"))
