"""Run untrusted code in a separate process without file or network access; and the functions it may call.

Monty interprets a subset of Python in a worker process: there are no files, no network, no subprocesses and
no imports beyond a few pure modules. Time, memory, recursion and calls are limited; if a limit is hit
hard, the worker is discarded with its state, and the next run starts afresh and says so.
"""

from __future__ import annotations

import asyncio
import os
import re
import signal
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, fields, is_dataclass
from datetime import date, datetime
from enum import Enum
from functools import partial, wraps
from inspect import Parameter, getsource, signature
from typing import Any, Protocol, TypeVar

from pydantic import ConfigDict, ValidationError, validate_call

from groundwire._loop import run
from groundwire._optional import load
from groundwire.config import SandboxConfig
from groundwire.engine import Groundwire
from groundwire.errors import GroundwireError, InputError
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
        (evidence_dependence, "0.0: the answer does not depend on the evidence; 1.0: it depends on it entirely"),
        (detect_hallucinations, "the full report on a response"),
    ]
    if ask is not None:
        offered.append((llm, "a model's answer about the files, or about the text given as context"))
    return {call.__name__: Function(call.__name__, summary, validated_call(call)) for call, summary in offered}


def validated_call(call: Call) -> Call:
    """Wrap a function so that arguments of the wrong type raise a one-line `TypeError`."""
    validated = validate_call(config=_STRICT)(call)

    @wraps(call)
    async def wrapper(*arguments: object, **named: object) -> object:
        try:
            return await validated(*arguments, **named)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False, include_context=False)[0]
            place = next(iter(first["loc"]), "")
            where = f"argument {place + 1}" if isinstance(place, int) else place
            raise TypeError(": ".join(filter(None, (call.__name__, where, first["msg"])))) from None

    return wrapper


def namespace(functions: Mapping[str, Function], files: Mapping[str, str]) -> dict[str, object]:
    """Return the initial names of a plain REPL: synchronous versions of the functions, and the files."""
    own_files = dict(files)
    synchronous = {name: _synchronous(function) for name, function in functions.items()}
    return {**synchronous, "files": own_files, "read": partial(read, own_files), "search": partial(search, own_files)}


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


Wrap = Callable[[object], object]


def to_plain_data(value: object, wrap: Wrap) -> object:
    """Convert a result to plain data; `wrap` turns dataclasses into records with readable attributes."""
    if isinstance(value, Enum):
        return to_plain_data(value.value, wrap)
    if value is None or isinstance(value, bool | int | float | str | bytes):
        return value
    if isinstance(value, datetime | date):
        return value.isoformat()
    if is_dataclass(value) and not isinstance(value, type):
        return wrap(value)
    if isinstance(value, Mapping):
        return {str(key): to_plain_data(item, wrap) for key, item in value.items()}
    if isinstance(value, Sequence | set | frozenset):
        return [to_plain_data(item, wrap) for item in value]
    return str(value)


def record_wrapper(base: Any) -> Wrap:
    """Return a wrapper that copies a result's fields and properties but none of its methods.

    `base` is the sandbox's own wrapper class, which is imported lazily.
    """

    class ResultRecord(base):  # type: ignore[misc]
        def convert_value(self, /, name: str, value: object) -> object:  # noqa: ARG002
            return to_plain_data(value, wrap)

    def wrap(value: object) -> object:
        return ResultRecord(value, eager_attrs=public_names(type(value)))

    return wrap


def public_names(kind: type) -> list[str]:
    """Return the public fields and properties of a dataclass."""
    assert is_dataclass(kind)
    stored = [item.name for item in fields(kind) if not item.name.startswith("_")]
    derived = [
        name for base in reversed(kind.__mro__) for name, item in vars(base).items() if isinstance(item, property)
    ]
    return list(dict.fromkeys((*stored, *(name for name in derived if not name.startswith("_")))))


T = TypeVar("T")

_MAX_OUTPUT = 200_000  # characters that are kept; the model sees a fraction of them
_MAX_CODE = 200_000  # characters: beyond what a model writes in one reply
_GRACE_SECONDS = 1.0  # beyond the time limit before the worker is killed from outside
_STATE_LOST = "names defined by earlier code are lost"
_FATAL = (TimeoutError, MemoryError)
"""After these the worker's heap may be inconsistent."""


@dataclass(frozen=True, slots=True)
class SandboxOutput:
    """The result of a run: printed text, value of the last expression, error, and number of function calls.

    `lost` is set if the session's state was discarded.
    """

    stdout: str = ""
    value: object = None
    error: str | None = None
    seconds: float = 0.0
    calls: int = 0
    lost: bool = False

    @property
    def text(self) -> str:
        """The result as a REPL would show it."""
        shown = [self.stdout.rstrip("\n")] if self.stdout.strip() else []
        if self.value is not None:
            try:
                shown.append(self.value if isinstance(self.value, str) else repr(self.value))
            except ValueError as error:  # Python refuses to print integers with too many digits
                shown.append(f"(value cannot be shown: {error})")
        if self.error:
            shown.append(self.error)
        return "\n".join(shown)


@dataclass(slots=True)
class _RunState:
    """State of one run."""

    printed: list[str] = field(default_factory=list)
    size: int = 0
    calls: int = 0
    refused: bool = False


class _LimitExceeded(Exception):
    """The code exceeds a limit that only the host can see."""


class Sandbox:
    """A REPL session: names persist from one `run` to the next. Not safe for concurrent use."""

    def __init__(
        self,
        functions: Mapping[str, Function],
        files: Mapping[str, str] | None = None,
        limits: SandboxConfig | None = None,
    ) -> None:
        self.functions = dict(functions)
        self.files = {name: _without_surrogates(text) for name, text in (files or {}).items()}
        self.limits = limits or SandboxConfig()
        self._monty = load("pydantic_monty", feature="the sandbox", extra="repl")
        self._wrap = record_wrapper(self._monty.ClassInstance)
        self._pool: Any = None
        self._session: Any = None
        self._worker: int | None = None
        # The blocking interface in a thread: the asynchronous one may abort the process on exit.
        self._thread = ThreadPoolExecutor(1, "groundwire-sandbox")

    async def run(self, code: str) -> SandboxOutput:
        """Run code until it ends, fails or hits a limit. Never raises for what the code does."""
        began = time.perf_counter()
        if len(code) > _MAX_CODE:
            return SandboxOutput(error=f"SyntaxError: more than {_MAX_CODE:,} characters of code")
        state = _RunState()
        value, error, lost = await self._run(_without_surrogates(code), state)
        stdout = "".join(state.printed)
        return SandboxOutput(stdout, value, error, time.perf_counter() - began, state.calls, lost)

    async def _run(self, code: str, state: _RunState) -> tuple[object, str | None, bool]:
        monty = self._monty
        try:
            return await self._execute(code, state), None, False
        except monty.MontyCrashedError as crash:
            await self._discard()
            why = "TimeoutError: the code did not stop in time" if crash.timed_out else "MemoryError: the process died"
            return None, f"{why}; {_STATE_LOST}", True
        except monty.MontyError as error:
            inner = error.exception() if isinstance(error, monty.MontyRuntimeError) else None
            if not isinstance(inner, _FATAL) and "suspension limit" not in str(inner):
                return None, _error_text(error), False
            await self._discard()
            return None, f"{error.display('type-msg')}; {_STATE_LOST}", True
        except (_LimitExceeded, RuntimeError) as bound:  # RuntimeError: the worker is in an unknown state
            await self._discard()
            return None, f"RuntimeError: {bound}; {_STATE_LOST}", True
        except BaseException:
            self._kill()  # an interrupt does not wait for the time limit
            await self._discard()
            raise

    async def _execute(self, code: str, state: _RunState) -> object:
        """Serve the code's calls to the host until it is done."""
        if self._session is None:
            self._session = await self._blocking(self._open)
        session = self._session
        step = await self._blocking(lambda: session.feed_start(code, print_callback=_printer(state)))
        while not isinstance(step, self._monty.MontyComplete):
            if state.size > _MAX_OUTPUT:
                raise _LimitExceeded(f"printed more than {_MAX_OUTPUT:,} characters")
            step = await self._blocking(await self._respond(step, state))
        return step.output

    async def _respond(self, step: Any, state: _RunState) -> Callable[[], Any]:
        monty = self._monty
        if isinstance(step, monty.NameLookupSnapshot):
            function = self.functions.get(step.variable_name) if step.object_id is None else None
            if function is None:
                return partial(step.resume)
            return partial(step.resume, value=_placeholder(function.name))
        if not isinstance(step, monty.FunctionSnapshot):
            raise _LimitExceeded("unsupported await")
        if step.is_os_function:
            return partial(step.resume_not_handled)
        function = self.functions.get(step.function_name) if step.object_id is None else None
        if function:
            return partial(step.resume, await self._call(function, step, state))
        missing: Exception = NameError(f"name '{step.function_name}' is not defined")
        if step.object_id is not None:
            missing = AttributeError(f"results have no method '{step.function_name}'")
        return partial(step.resume, {"exception": missing})

    async def _call(self, function: Function, step: Any, state: _RunState) -> dict[str, object]:
        """Call a function; return its result or exception in the sandbox's format."""
        state.calls += 1
        if state.calls > self.limits.calls:
            if state.refused:
                raise _LimitExceeded(f"more than {self.limits.calls} function calls")
            state.refused = True
            return {"exception": RuntimeError(f"only {self.limits.calls} function calls are allowed per run")}
        try:
            result = await function.call(*step.args, **step.kwargs)
        except InputError as error:
            return {"exception": ValueError(str(error))}
        except (GroundwireError, LookupError) as error:
            return {"exception": RuntimeError(str(error).strip("'\""))}
        except (TypeError, ValueError, RecursionError) as error:
            return {"exception": TypeError(str(error)[:300])}
        return {"return_value": to_plain_data(result, self._wrap)}

    def _open(self) -> Any:
        if self._pool is None:
            options = {"request_timeout": self.limits.seconds + 2 * _GRACE_SECONDS}
            pool = self._monty.Monty(min_processes=1, max_processes=1, **options)
            self._pool = pool.__enter__()
        # the files are not counted against the code
        heap = self.limits.memory_bytes + 4 * sum(len(text.encode()) for text in self.files.values())
        bounds = {
            "max_feed_duration_secs": self.limits.seconds,
            "max_memory": heap,
            "max_recursion_depth": self.limits.recursion,
            "max_suspensions": 100_000,
        }
        session = self._pool.checkout(script_name="repl.py", limits=bounds, os_policy={"sleep": "zero"})
        session.__enter__()
        self._worker = session.worker_pid
        limit_worker(self._worker, heap)
        session.feed_run(PREAMBLE, inputs={"files": self.files}, print_callback=lambda *_: None)
        return session

    def _kill(self) -> None:
        worker, self._worker = self._worker, None
        if worker is not None and self._session is not None:
            with suppress(OSError):
                os.kill(worker, signal.SIGTERM)

    async def _discard(self) -> None:
        """Discard the session; the pool starts a new worker for the next one."""
        session, self._session = self._session, None
        if session is not None:
            with suppress(self._monty.MontyError):
                await self._blocking(lambda: session.__exit__(None, None, None))

    async def _blocking(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    async def aclose(self) -> None:
        await self._discard()
        pool, self._pool = self._pool, None
        if pool is not None:
            await self._blocking(lambda: pool.__exit__(None, None, None))
        self._thread.shutdown(wait=False)

    async def __aenter__(self) -> Sandbox:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


PREAMBLE = (
    "import re\n"
    + getsource(read)
    + getsource(search)
    + (
        "\n_read, _search = read, search\n"
        "def read(name, start=0, end=None):\n    return _read(files, name, start, end)\n"
        "def search(pattern, limit=20):\n    return _search(files, pattern, limit)\n"
    )
)


def limit_worker(worker: int | None, heap_bytes: int) -> None:
    """Limit the worker's memory and file writes in the kernel, in case its own limits fail (Linux only)."""
    import resource

    if worker is None or not hasattr(resource, "prlimit"):
        return
    with suppress(OSError):
        room = 2 * heap_bytes + 1_000_000_000
        resource.prlimit(worker, resource.RLIMIT_AS, (room, room))
        resource.prlimit(worker, resource.RLIMIT_FSIZE, (0, 0))
        resource.prlimit(worker, resource.RLIMIT_CORE, (0, 0))


def _printer(state: _RunState) -> Callable[[str, str], None]:
    """Return a print callback that keeps at most `_MAX_OUTPUT` characters."""

    def keep(_: str, text: str) -> None:
        room = _MAX_OUTPUT - state.size
        state.size += len(text)
        if room > 0:
            state.printed.append(text[:room] + ("\n… (output truncated)\n" if len(text) > room else ""))

    return keep


def _placeholder(name: str) -> Callable[..., None]:
    """Return a placeholder: the sandbox knows host functions by name only."""

    def function() -> None: ...

    function.__name__ = function.__qualname__ = name
    return function


def _error_text(error: Any) -> str:
    display = getattr(error, "display", None)
    return str(display() if display is not None else error)[-2000:]


def _without_surrogates(text: str) -> str:
    """Replace lone surrogates, which cannot be sent to another process."""
    return text.encode("utf-8", "replace").decode("utf-8")
