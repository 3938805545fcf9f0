"""The MCP tools: what each takes, what it does, and how it is described to a model."""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from pydantic import BaseModel, ValidationError

from groundwire.config import Operation
from groundwire.engine import Beside, Groundwire, as_sources
from groundwire.errors import InputError
from groundwire.mcp import arguments as given
from groundwire.mcp.strawberry import Budgeted, audit_trace_budget, detect_hallucination
from groundwire.reports.json import audit_object, claim_object
from groundwire.server.responses import AuditOut, ClaimOut, ReportOut
from groundwire.types import ClaimVerification, HallucinationReport, KnowledgeBase, Source, Status, Step

T = TypeVar("T")
A = TypeVar("A")
LARGEST = 600_000
READABLE = 150_000
"""Bytes of a result. Clients of streamable HTTP take a message of a megabyte, text and structure together."""
Result = dict[str, Any]
"""The contract's JSON objects, as every other door prints them."""


Kb = KnowledgeBase | str | None


class Held(Protocol):
    """Whoever holds the engines and lets them work: the server's service, or this process alone."""

    def engine_for(self, operation: Operation) -> Groundwire: ...

    async def work(self, job: Callable[[], Coroutine[Any, Any, T]], size: int = 0) -> T: ...

    async def known(self, request: Any) -> Kb:
        """What is known here, for the caller of this HTTP request where there is one."""
        ...

    async def with_opinions(self, report: HallucinationReport) -> HallucinationReport: ...


@dataclass(frozen=True, slots=True)
class Call(Generic[A]):
    """A call on its way: who judges, what was asked, and what is known where that was asked for."""

    engine: Groundwire
    asked: A
    kb: Kb = None


Run = Callable[[Call[Any]], Coroutine[Any, Any, Result | HallucinationReport]]


@dataclass(frozen=True, slots=True)
class Tool:
    name: str
    title: str
    summary: str
    arguments: type[BaseModel]
    run: Run
    returns: type[BaseModel]
    operation: Operation = "output"


class Verdicts(BaseModel):
    """Claims that have no report around them. Nothing found, and something unchecked, is not "fine"."""

    flagged: bool | None
    claims: list[ClaimOut]


async def _check(call: Call[given.Check]) -> HallucinationReport:
    asked, judge = call.asked, call.engine.variant(profile=call.asked.profile, target=call.asked.target)
    sources = _sources(judge, asked.sources)
    turns = [turn if isinstance(turn, str) else turn.model_dump() for turn in asked.history]
    beside: Beside = {"history": turns, "kb": call.kb}
    report = await judge.check(
        asked.answer, sources, question=asked.question, response_id="response", **beside
    )
    return await judge.fix(report, sources, **beside) if asked.fix else report


async def _verify_claim(call: Call[given.VerifyClaim]) -> Result:
    asked = call.asked
    confidence = asked.threshold if asked.confidence is None else asked.confidence
    sources = _sources(call.engine, asked.evidence)
    return claim_object(await call.engine.verify_claim(asked.claim, sources, confidence))


async def _verify_claims(call: Call[given.VerifyClaims]) -> Result:
    asked, sources = call.asked, _sources(call.engine, call.asked.context)
    return _claims(await call.engine.verify_claims(asked.text, sources, question=asked.question))


async def _audit_reasoning(call: Call[given.AuditReasoning]) -> Result:
    sources = _sources(call.engine, call.asked.sources)
    return _claims(await call.engine.audit_reasoning(_steps(call.asked.steps), sources))


async def _audit_trace(call: Call[given.AuditTrace]) -> Result:
    asked, sources = call.asked, _sources(call.engine, call.asked.context)
    steps = _steps(asked.steps)
    return audit_object(await call.engine.audit_trace(steps, asked.question, sources, asked.answer))


async def _detect(call: Call[given.DetectHallucination]) -> Result:
    _bounded(call.engine, sum(len(span.text) for span in call.asked.spans))
    return (await detect_hallucination(call.engine, call.asked)).model_dump(mode="json")


async def _budget(call: Call[given.AuditTraceBudget]) -> Result:
    _bounded(call.engine, sum(len(span.text) for span in call.asked.spans))
    return (await audit_trace_budget(call.engine, call.asked)).model_dump(mode="json")


def _sources(engine: Groundwire, sources: given.Sources) -> tuple[Source, ...]:
    found = as_sources(given.as_sources(sources))
    _bounded(engine, sum(len(source.text) for source in found))
    return found


def _bounded(engine: Groundwire, size: int) -> None:
    limit = engine.config.limits.max_source_bytes
    if size > limit:
        raise InputError(f"the sources have {size:,} characters", hint=f"the limit is {limit:,}")


def _steps(steps: Sequence[given.Step | str]) -> list[Step | str]:
    return [
        step if isinstance(step, str) else Step(step.id or "", step.claim, tuple(step.cites), step.confidence)
        for step in steps
    ]


def _claims(found: Sequence[ClaimVerification]) -> Result:
    bad = any(claim.is_flagged for claim in found)
    unsure = any(claim.status is Status.UNCHECKED for claim in found)
    return {"flagged": None if unsure and not bad else bad, "claims": [claim_object(c) for c in found]}


_BITS = (
    "p0 is the probability that the claim holds with its evidence taken away, p1 with it in view; "
    "budget_gap = required_bits - observed_bits, and a claim whose evidence does not carry it is flagged, "
    "with a reason. Status is ENTAILED, CONTRADICTED, NOT_IN_CONTEXT, UNVERIFIABLE or UNCHECKED (nobody "
    "could check it: never read that as fine)."
)

TOOLS: tuple[Tool, ...] = (
    Tool(
        "check",
        "Check an answer",
        "Judge every claim of an answer by its sources, and by the conversation where given. Use it before "
        f"you show an answer that rests on documents. {_BITS} Character offsets are into the answer.",
        given.Check,
        _check,
        ReportOut,
    ),
    Tool(
        "verify_claim",
        "Verify one claim",
        f"Judge one claim by its evidence, without taking it apart. {_BITS}",
        given.VerifyClaim,
        _verify_claim,
        ClaimOut,
        "claims",
    ),
    Tool(
        "verify_claims",
        "Verify the claims of a text",
        f"Take a text apart into claims and judge each by its context. {_BITS}",
        given.VerifyClaims,
        _verify_claims,
        Verdicts,
        "claims",
    ),
    Tool(
        "audit_reasoning",
        "Audit the steps of a reasoning",
        "Judge each step {claim, cites} by the sources and earlier steps it cites; a step counts as a "
        f"premise for later ones only where it is entailed. {_BITS}",
        given.AuditReasoning,
        _audit_reasoning,
        Verdicts,
        "trace",
    ),
    Tool(
        "audit_trace",
        "Audit a reasoning and its answer",
        "Judge each step of a reasoning, hold steps against each other, and derive the answer anew from the "
        f"steps alone, to see whether it follows from them or was there before them. {_BITS}",
        given.AuditTrace,
        _audit_trace,
        AuditOut,
        "trace",
    ),
    Tool(
        "detect_hallucination",
        "Detect hallucinations in a cited answer",
        "Take an answer with citations like [S0] apart and measure, claim by claim, whether the spans carry "
        "it (the information budget: evidence scrubbed, p0 and p1 compared). Parameters and result are those "
        "of Strawberry's tool of this name.",
        given.DetectHallucination,
        _detect,
        Budgeted,
    ),
    Tool(
        "audit_trace_budget",
        "Audit claims with explicit citations",
        "Measure the information budget of claims that you state yourself, each with the spans it cites. "
        "More exact than detect_hallucination, since nothing has to be taken apart. Parameters and result "
        "are those of Strawberry's tool of this name.",
        given.AuditTraceBudget,
        _budget,
        Budgeted,
        "trace",
    ),
)


def parsed(tool: Tool, arguments: object) -> BaseModel:
    """The arguments, checked; what is wrong with them is one line."""
    try:
        return tool.arguments.model_validate(arguments)
    except ValidationError as error:
        raise InputError(_complaint(error)) from None


def _complaint(error: ValidationError) -> str:
    """The first mistake: which argument, where in it, and what is wrong. Never what was given: it is data."""
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    where = ".".join(str(part) for part in first["loc"] if part not in given.SHAPES)
    return f"'{where}': {first['msg'][:1].lower()}{first['msg'][1:]}"


def as_text(result: Result) -> str:
    """The result for those who read text alone; of a long one what is flagged, the rest stands beside it.

    What no client would take is refused: they bound what they read at once.
    """
    text = json.dumps(result, ensure_ascii=False)
    size = len(text.encode("utf-8", "replace"))
    if size > LARGEST:
        raise InputError(f"the report has {size:,} bytes", hint="check the answer in parts")
    return text if size <= READABLE else json.dumps(_flagged(result), ensure_ascii=False)


def _flagged(result: Result) -> Result:
    lists = {key: items for key, items in result.items() if isinstance(items, list)}
    bad = {key: [item for item in items if _is_flagged(item)] for key, items in lists.items()}
    note = "only what is flagged; the structured content holds everything"
    return {**result, **bad, "note": note}


def _is_flagged(item: object) -> bool:
    return isinstance(item, dict) and bool(item.get("flagged"))
