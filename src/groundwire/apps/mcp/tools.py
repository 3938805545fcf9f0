"""The MCP tools: what each takes, what it does, and how it is described to a model."""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from pydantic import BaseModel, ValidationError

from groundwire.apps.mcp import arguments as given
from groundwire.apps.mcp.budget import Budgeted, audit_trace_budget, detect_hallucination
from groundwire.apps.server.answers import AuditOut, ClaimOut, ReportOut
from groundwire.engine import Beside, Groundwire, as_sources
from groundwire.errors import InputError
from groundwire.report.audit import audit_object
from groundwire.report.json import claim_object, report_object
from groundwire.types import ClaimVerification, Source, Status, Step

T = TypeVar("T")
LARGEST = 600_000
READABLE = 150_000
"""Bytes of a result. Clients of streamable HTTP take a message of a megabyte, text and structure together."""
Result = dict[str, Any]
"""The contract's JSON objects, as every other door prints them."""


class Held(Protocol):
    """Whoever holds the engine and lets it work: the server's service, or this process alone."""

    @property
    def engine(self) -> Groundwire: ...

    async def work(self, job: Callable[[], Coroutine[Any, Any, T]], size: int = 0) -> T: ...


Run = Callable[[Groundwire, Any], Coroutine[Any, Any, Result]]


@dataclass(frozen=True, slots=True)
class Tool:
    name: str
    title: str
    summary: str
    arguments: type[BaseModel]
    run: Run
    returns: type[BaseModel]


class Verdicts(BaseModel):
    """Claims that have no report around them. Nothing found, and something unchecked, is not "fine"."""

    flagged: bool | None
    claims: list[ClaimOut]


async def _check(engine: Groundwire, asked: given.Check) -> Result:
    judge = engine.variant(profile=asked.profile, target=asked.target)
    sources = _sources(engine, asked.sources)
    beside: Beside = {"history": [t if isinstance(t, str) else t.model_dump() for t in asked.history]}
    if asked.kb:
        beside["kb"] = engine.config.store.url
    report = await judge.check(
        asked.answer, sources, question=asked.question, response_id="response", **beside
    )
    return report_object(await judge.fix(report, sources, **beside) if asked.fix else report)


async def _verify_claim(engine: Groundwire, asked: given.VerifyClaim) -> Result:
    confidence = asked.threshold if asked.confidence is None else asked.confidence
    return claim_object(await engine.verify_claim(asked.claim, _sources(engine, asked.evidence), confidence))


async def _verify_claims(engine: Groundwire, asked: given.VerifyClaims) -> Result:
    found = await engine.verify_claims(asked.text, _sources(engine, asked.context), question=asked.question)
    return _claims(found)


async def _audit_reasoning(engine: Groundwire, asked: given.AuditReasoning) -> Result:
    return _claims(await engine.audit_reasoning(_steps(asked.steps), _sources(engine, asked.sources)))


async def _audit_trace(engine: Groundwire, asked: given.AuditTrace) -> Result:
    sources = _sources(engine, asked.context)
    return audit_object(await engine.audit_trace(_steps(asked.steps), asked.question, sources, asked.answer))


async def _detect(engine: Groundwire, asked: given.DetectHallucination) -> Result:
    _bounded(engine, sum(len(span.text) for span in asked.spans))
    return (await detect_hallucination(engine, asked)).model_dump(mode="json")


async def _budget(engine: Groundwire, asked: given.AuditTraceBudget) -> Result:
    _bounded(engine, sum(len(span.text) for span in asked.spans))
    return (await audit_trace_budget(engine, asked)).model_dump(mode="json")


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
    ),
    Tool(
        "verify_claims",
        "Verify the claims of a text",
        f"Take a text apart into claims and judge each by its context. {_BITS}",
        given.VerifyClaims,
        _verify_claims,
        Verdicts,
    ),
    Tool(
        "audit_reasoning",
        "Audit the steps of a reasoning",
        "Judge each step {claim, cites} by the sources and earlier steps it cites; a step counts as a "
        f"premise for later ones only where it is entailed. {_BITS}",
        given.AuditReasoning,
        _audit_reasoning,
        Verdicts,
    ),
    Tool(
        "audit_trace",
        "Audit a reasoning and its answer",
        "Judge each step of a reasoning, hold steps against each other, and derive the answer anew from the "
        f"steps alone, to see whether it follows from them or was there before them. {_BITS}",
        given.AuditTrace,
        _audit_trace,
        AuditOut,
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
