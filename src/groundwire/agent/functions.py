"""The functions that code may call, in the sandbox and in `groundwire repl`."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial, wraps
from inspect import Parameter, signature
from typing import Protocol

from pydantic import ConfigDict, ValidationError, validate_call

from groundwire._loop import run
from groundwire.engine import Groundwire
from groundwire.traces import audit as traces
from groundwire.types import ClaimVerification, HallucinationReport, TraceAudit

Evidence = str | list[str] | dict[str, str]
Steps = str | list[str | dict[str, object]]
Call = Callable[..., Awaitable[object]]
_STRICT = ConfigDict(strict=True, arbitrary_types_allowed=True)


class AskModel(Protocol):
    """Asks the model again, about the same files or about the given text."""

    async def __call__(self, query: str, context: Evidence = "", *, verify: bool = True) -> str: ...


@dataclass(frozen=True, slots=True)
class Function:
    """`call` is asynchronous and validates its arguments, since the caller may be a model's code."""

    name: str
    summary: str
    call: Call

    @property
    def signature(self) -> str:
        """The call signature, such as `verify_claim(claim, evidence, confidence=None)`."""
        shown = (
            p.name if p.default is Parameter.empty else f"{p.name}={p.default!r}"
            for p in signature(self.call).parameters.values()
        )
        return f"{self.name}({', '.join(shown)})"


def functions_for(engine: Groundwire, ask: AskModel | None = None) -> dict[str, Function]:
    """Return all functions for one engine; `llm` only if there is a model to ask."""

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
        return await traces.audit_trace(engine, steps, question=question, context=context, answer=answer)

    async def audit_reasoning(steps: Steps, sources: dict[str, str]) -> list[ClaimVerification]:
        return await traces.audit_reasoning(engine, steps, sources)

    async def llm(query: str, context: Evidence = "", verify: bool = True) -> str:
        if ask is None:
            raise LookupError("no language model is available here")
        return await ask(query, context, verify=verify)

    offered: list[tuple[Call, str]] = [
        (verify_claim, "p0, p1, required_bits, observed_bits, budget_gap and status of one claim"),
        (verify_claims, "the same for every claim of a text"),
        (audit_trace, "a verdict on each step, and if the answer follows from the steps alone"),
        (audit_reasoning, "a verdict on each step of {claim, cites} against its sources"),
        (
            evidence_dependence,
            "0.0: the answer does not depend on the evidence; 1.0: it depends on it entirely",
        ),
        (detect_hallucinations, "the full report on a response"),
    ]
    if ask is not None:
        offered.append((llm, "a model's answer about the files, or about the text given as context"))
    return {
        call.__name__: Function(call.__name__, summary, validated_call(call)) for call, summary in offered
    }


def validated_call(call: Call) -> Call:
    """Wrap a function so that arguments of the wrong type raise a one-line `TypeError`."""
    validated = validate_call(config=_STRICT)(call)

    @wraps(call)
    async def wrapper(*arguments: object, **named: object) -> object:
        try:
            return await validated(*arguments, **named)
        except ValidationError as error:
            raise TypeError(f"{call.__name__}: {_first_error(error)}") from None

    return wrapper


def _first_error(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=False, include_context=False)[0]
    place = next(iter(first["loc"]), "")
    where = f"argument {place + 1}" if isinstance(place, int) else place
    return f"{where}: {first['msg']}" if where else first["msg"]


def namespace(functions: Mapping[str, Function], files: Mapping[str, str]) -> dict[str, object]:
    """Return the initial names of a plain REPL: synchronous versions of the functions, and the files."""
    own_files = dict(files)
    synchronous = {name: _synchronous(function) for name, function in functions.items()}
    return {
        **synchronous,
        "files": own_files,
        "read": partial(read, own_files),
        "search": partial(search, own_files),
    }


def _synchronous(function: Function) -> Callable[..., object]:
    @wraps(function.call)
    def call(*arguments: object, **named: object) -> object:
        async def finished() -> object:
            return await function.call(*arguments, **named)

        return run(finished())

    call.__doc__ = f"{function.signature}: {function.summary}."
    return call


# The source text of the next two functions also runs inside the sandbox, so they must stay within what it
# supports: plain functions and `re`. A pattern that backtracks forever hits the time limit there.


def read(files: dict[str, str], name: str, start: int = 0, end: int | None = None) -> str:
    """Return a file's text, or its characters from `start` to `end`."""
    if name not in files:
        raise KeyError(f"no file {name}; available: {', '.join(sorted(files)) or 'none'}")
    return files[name][start:end]


def search(files: dict[str, str], pattern: str, limit: int = 20) -> list[str]:
    """Return lines that match a regular expression, ignoring case, as "file:line: text"."""
    wanted = re.compile(pattern, re.IGNORECASE)
    found: list[str] = []
    for name, text in files.items():
        for number, line in enumerate(text.splitlines(), 1):
            if len(found) == limit:
                return found
            if wanted.search(line):
                found.append(f"{name}:{number}: {line.strip()[:400]}")
    return found
