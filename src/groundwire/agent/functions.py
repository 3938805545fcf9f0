"""The functions a REPL offers: one table for the sandbox, for `groundwire repl` and for tools."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial, wraps
from inspect import Parameter, signature
from typing import Protocol

from pydantic import ConfigDict, ValidationError, validate_call

from groundwire._loop import run
from groundwire.agent import context
from groundwire.engine import Groundwire
from groundwire.types import ClaimVerification, HallucinationReport, TraceAudit

Evidence = str | list[str] | dict[str, str]
Steps = str | list[str | dict[str, object]]
Call = Callable[..., Awaitable[object]]
_STRICT = ConfigDict(strict=True, arbitrary_types_allowed=True)


class Ask(Protocol):
    """Another call of a language model: on the same files, or on the text it is given."""

    async def __call__(self, query: str, context: Evidence = "", *, verify: bool = True) -> str: ...


@dataclass(frozen=True, slots=True)
class Function:
    """`call` is asynchronous; what it is called with is checked, since the caller may be a model's code."""

    name: str
    summary: str
    call: Call

    @property
    def signature(self) -> str:
        """As one writes it: `verify_claim(claim, evidence, confidence=None)`."""
        shown = (
            p.name if p.default is Parameter.empty else f"{p.name}={p.default!r}"
            for p in signature(self.call).parameters.values()
        )
        return f"{self.name}({', '.join(shown)})"


def functions_for(engine: Groundwire, ask: Ask | None = None) -> dict[str, Function]:
    """All functions over one engine; `llm` is there where a model is."""

    async def verify_claim(
        claim: str, evidence: Evidence, confidence: float | None = None, threshold: float | None = None
    ) -> ClaimVerification:
        target = threshold if confidence is None else confidence
        return await engine.verify_claim(claim, evidence, target)

    async def verify_claims(text: str, context: Evidence) -> list[ClaimVerification]:
        return await engine.verify_claims(text, context)

    async def detect_hallucinations(response: str, context: Evidence) -> HallucinationReport:
        return await engine.detect_hallucinations(response, context)

    async def evidence_dependence(question: str, answer: str, evidence: Evidence) -> float:
        return float(await engine.evidence_dependence(question, answer, evidence))

    async def audit_trace(
        steps: Steps, question: str | None = None, context: Evidence | None = None, answer: str | None = None
    ) -> TraceAudit:
        return await engine.audit_trace(steps, question=question, context=context, answer=answer)

    async def audit_reasoning(steps: Steps, sources: dict[str, str]) -> list[ClaimVerification]:
        return await engine.audit_reasoning(steps, sources)

    async def llm(query: str, context: Evidence = "", verify: bool = True) -> str:
        if ask is None:
            raise LookupError("no language model is at hand here")
        return await ask(query, context, verify=verify)

    offered: list[tuple[Call, str]] = [
        (verify_claim, "p0, p1, required_bits, observed_bits, budget_gap and status of one claim"),
        (verify_claims, "the same for every claim of a text"),
        (audit_trace, "a verdict on each step, and whether the answer follows from the steps alone"),
        (audit_reasoning, "a verdict on each step of {claim, cites} against its sources"),
        (evidence_dependence, "0.0: the answer stands without the evidence; 1.0: it hangs on it"),
        (detect_hallucinations, "everything found out about a response"),
    ]
    if ask is not None:
        offered.append((llm, "a model's answer about the files, or about the text given as context"))
    return {call.__name__: Function(call.__name__, summary, checked(call)) for call, summary in offered}


def checked(call: Call) -> Call:
    """The function, refusing arguments of another kind with a `TypeError` of one line."""
    validated = validate_call(config=_STRICT)(call)

    @wraps(call)
    async def asked(*arguments: object, **named: object) -> object:
        try:
            return await validated(*arguments, **named)
        except ValidationError as error:
            raise TypeError(f"{call.__name__}: {_first(error)}") from None

    return asked


def _first(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=False, include_context=False)[0]
    place = next(iter(first["loc"]), "")
    where = f"argument {place + 1}" if isinstance(place, int) else place
    return f"{where}: {first['msg']}" if where else first["msg"]


def namespace(functions: Mapping[str, Function], files: Mapping[str, str]) -> dict[str, object]:
    """What a plain REPL starts with: the functions, waiting for their results, and the files."""
    held = dict(files)
    waiting = {name: _waiting(function) for name, function in functions.items()}
    return {
        **waiting,
        "files": held,
        "read": partial(context.read, held),
        "search": partial(context.search, held),
    }


def _waiting(function: Function) -> Callable[..., object]:
    @wraps(function.call)
    def call(*arguments: object, **named: object) -> object:
        async def finished() -> object:
            return await function.call(*arguments, **named)

        return run(finished())

    call.__doc__ = f"{function.signature}: {function.summary}."
    return call
