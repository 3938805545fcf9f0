"""Code that nobody vouches for, run in a process of its own that can touch nothing but what it is given.

Monty interprets a subset of Python in a worker process: there are no files, no network, no processes and no
imports beyond a few pure modules. Time, memory, recursion and calls are bounded; where a bound is hit hard
the worker is thrown away with what it remembered, and the next run begins anew and says so.
"""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, fields, is_dataclass
from datetime import date, datetime
from enum import Enum
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from groundwire._optional import load
from groundwire.agent import context
from groundwire.agent.functions import Function
from groundwire.config import SandboxConfig
from groundwire.errors import GroundwireError, InputError

# Results as data that may cross into the sandbox: figures, texts, lists, and records of them.

Wrap = Callable[[object], object]


def crossing(value: object, wrap: Wrap) -> object:
    """Plain data as it is, and results as records: `wrap` makes one whose attributes can be read there."""
    if isinstance(value, Enum):
        return crossing(value.value, wrap)
    if value is None or isinstance(value, bool | int | float | str | bytes):
        return value
    if isinstance(value, datetime | date):
        return value.isoformat()
    if is_dataclass(value) and not isinstance(value, type):
        return wrap(value)
    if isinstance(value, Mapping):
        return {str(key): crossing(held, wrap) for key, held in value.items()}
    if isinstance(value, Sequence | set | frozenset):
        return [crossing(held, wrap) for held in value]
    return str(value)


def record_of(base: Any) -> Wrap:
    """How a result crosses: its fields and properties are copied, none of its methods can be called.

    `base` is the sandbox's own wrapper, which is imported late.
    """

    class Record(base):  # type: ignore[misc]
        def convert_value(self, /, name: str, value: object) -> object:  # noqa: ARG002
            return crossing(value, wrap)

    def wrap(value: object) -> object:
        return Record(value, eager_attrs=public_names(type(value)))

    return wrap


def public_names(kind: type) -> list[str]:
    """What a result says: its fields, then what follows from them."""
    assert is_dataclass(kind)
    stored = [item.name for item in fields(kind) if not item.name.startswith("_")]
    derived = [
        name
        for base in reversed(kind.__mro__)
        for name, item in vars(base).items()
        if isinstance(item, property)
    ]
    return list(dict.fromkeys((*stored, *(name for name in derived if not name.startswith("_")))))


T = TypeVar("T")

_OUTPUT_BYTES = 200_000
_CODE_CHARS = 200_000
_GRACE = 1.0  # beyond the time limit, before the worker is killed from outside
_LOST = "what earlier code defined is lost"
_HARD = (TimeoutError, MemoryError)
"""After these the worker's heap promises nothing."""


@dataclass(frozen=True, slots=True)
class Output:
    """What a run printed and returned, or how it failed. `calls` is how often it called a function.

    `value` is the last expression's; `lost` says that the session's state is gone.
    """

    stdout: str = ""
    value: object = None
    error: str | None = None
    seconds: float = 0.0
    calls: int = 0
    lost: bool = False

    @property
    def text(self) -> str:
        """As a REPL would show it."""
        shown = [self.stdout.rstrip("\n")] if self.stdout.strip() else []
        if self.value is not None:
            shown.append(self.value if isinstance(self.value, str) else _written(self.value))
        if self.error:
            shown.append(self.error)
        return "\n".join(shown)


@dataclass(slots=True)
class _Run:
    """One run under way."""

    printed: list[str] = field(default_factory=list)
    size: int = 0
    calls: int = 0
    refused: bool = False


class _TooMuch(Exception):
    """The code goes on beyond a bound that only the host can see."""


class Sandbox:
    """A REPL session: names live from one `run` to the next. Not to be used by two tasks at once."""

    def __init__(
        self,
        functions: Mapping[str, Function],
        files: Mapping[str, str] | None = None,
        limits: SandboxConfig | None = None,
    ) -> None:
        self.functions = dict(functions)
        self.files = {name: _sendable(text) for name, text in (files or {}).items()}
        self.limits = limits or SandboxConfig()
        self._monty = load("pydantic_monty", feature="the sandbox", extra="repl")
        self._wrap = record_of(self._monty.ClassInstance)
        self._pool: Any = None
        self._session: Any = None
        self._worker: int | None = None
        # The blocking interface in a thread: the asynchronous one may abort the process as it ends.
        self._thread = ThreadPoolExecutor(1, "groundwire-sandbox")

    async def run(self, code: str) -> Output:
        """Run a piece of code to its end, its failure, or its bound. Never raises for what the code does."""
        began = time.perf_counter()
        if len(code) > _CODE_CHARS:
            return Output(error=f"SyntaxError: more than {_CODE_CHARS:,} characters of code")
        this = _Run()
        value, error, lost = await self._outcome(_sendable(code), this)
        stdout = "".join(this.printed)
        return Output(stdout, value, error, time.perf_counter() - began, this.calls, lost)

    async def _outcome(self, code: str, this: _Run) -> tuple[object, str | None, bool]:
        monty = self._monty
        try:
            return await self._drive(code, this), None, False
        except monty.MontyCrashedError as crash:
            await self._discard()
            why = (
                "TimeoutError: it did not stop in time"
                if crash.timed_out
                else "MemoryError: its process died"
            )
            return None, f"{why}; {_LOST}", True
        except monty.MontyRuntimeError as error:
            return await self._failed(error)
        except monty.MontyError as error:
            return None, _shown(error), False
        except (_TooMuch, RuntimeError) as bound:  # the latter where the worker no longer makes sense
            await self._discard()
            return None, f"RuntimeError: {bound}; {_LOST}", True
        except BaseException:
            self._kill()  # whoever interrupts code does not wait until its time is up
            await self._discard()  # nobody will answer what the code is waiting for
            raise

    async def _failed(self, error: Any) -> tuple[object, str | None, bool]:
        inner = error.exception()
        hard = isinstance(inner, _HARD) or "suspension limit" in str(inner)
        if not hard:
            return None, _shown(error), False
        await self._discard()
        return None, f"{error.display('type-msg')}; {_LOST}", True

    async def _drive(self, code: str, this: _Run) -> object:
        """Answer what the code asks of the host, one question after the other, until it is done."""
        session = await self._opened()
        step = await self._blocking(lambda: session.feed_start(code, print_callback=_printer(this)))
        while not isinstance(step, self._monty.MontyComplete):
            if this.size > _OUTPUT_BYTES:
                raise _TooMuch(f"it printed more than {_OUTPUT_BYTES:,} characters")
            step = await self._blocking(await self._answer(step, this))
        return step.output

    async def _answer(self, step: Any, this: _Run) -> Callable[[], Any]:
        monty = self._monty
        if isinstance(step, monty.NameLookupSnapshot):
            function = self.functions.get(step.variable_name) if step.object_id is None else None
            if function is None:
                return partial(step.resume)
            return partial(step.resume, value=_stand_in(function.name))
        if not isinstance(step, monty.FunctionSnapshot):
            raise _TooMuch("it waits for what never comes")
        if step.is_os_function:
            return partial(step.resume_not_handled)
        function = self.functions.get(step.function_name) if step.object_id is None else None
        answer = await self._called(function, step, this) if function else _unknown(step)
        return partial(step.resume, answer)

    async def _called(self, function: Function, step: Any, this: _Run) -> dict[str, object]:
        """A function's result or its failure, as data that may cross the border."""
        this.calls += 1
        if this.calls > self.limits.calls:
            if this.refused:
                raise _TooMuch(f"it called functions more than {self.limits.calls} times")
            this.refused = True
            return {
                "exception": RuntimeError(f"only {self.limits.calls} calls of functions are allowed a run")
            }
        try:
            result = await function.call(*step.args, **step.kwargs)
        except InputError as error:
            return {"exception": ValueError(str(error))}
        except (GroundwireError, LookupError) as error:
            return {"exception": RuntimeError(str(error).strip("'\""))}
        except (TypeError, ValueError, RecursionError) as error:
            return {"exception": TypeError(str(error)[:300])}
        return {"return_value": crossing(result, self._wrap)}

    async def _opened(self) -> Any:
        if self._session is None:
            self._session = await self._blocking(self._open)
        return self._session

    def _open(self) -> Any:
        if self._pool is None:
            options = {"request_timeout": self.limits.seconds + 2 * _GRACE}
            pool = self._monty.Monty(min_processes=1, max_processes=1, **options)
            self._pool = pool.__enter__()
        session = self._pool.checkout(
            script_name="repl.py", limits=self._bounds(), os_policy={"sleep": "zero"}
        )
        session.__enter__()
        self._worker = session.worker_pid
        confine(self._worker, self._heap)
        session.feed_run(PREAMBLE, inputs={"files": self.files}, print_callback=lambda *_: None)
        return session

    @property
    def _heap(self) -> int:
        """What the files take is the host's own doing, and not counted against the code."""
        return self.limits.memory_bytes + 4 * sum(len(text.encode()) for text in self.files.values())

    def _bounds(self) -> dict[str, float]:
        return {
            "max_feed_duration_secs": self.limits.seconds,
            "max_memory": self._heap,
            "max_recursion_depth": self.limits.recursion,
            "max_suspensions": 100_000,
        }

    def _kill(self) -> None:
        worker, self._worker = self._worker, None
        if worker is not None and self._session is not None:
            with suppress(OSError):
                os.kill(worker, signal.SIGTERM)

    async def _discard(self) -> None:
        """Give the session up; the pool makes a fresh worker for the next."""
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


PREAMBLE = Path(context.__file__).read_text(encoding="utf-8") + (
    "\n_read, _search = read, search\n"
    "def read(name, start=0, end=None):\n    return _read(files, name, start, end)\n"
    "def search(pattern, limit=20):\n    return _search(files, pattern, limit)\n"
)


def confine(worker: int | None, heap_bytes: int) -> None:
    """What the kernel can hold against the worker, should its own bounds fail: no file grows by it, and its
    memory ends. Only Linux lets one process bound another.
    """
    import resource

    if worker is None or not hasattr(resource, "prlimit"):
        return
    with suppress(OSError):
        room = 2 * heap_bytes + 1_000_000_000
        resource.prlimit(worker, resource.RLIMIT_AS, (room, room))
        resource.prlimit(worker, resource.RLIMIT_FSIZE, (0, 0))
        resource.prlimit(worker, resource.RLIMIT_CORE, (0, 0))


def _written(value: object) -> str:
    """The value as Python writes it, where it does: there is an end to the digits it is willing to write."""
    try:
        return repr(value)
    except ValueError as error:
        return f"(a value that cannot be written out: {error})"


def _printer(this: _Run) -> Callable[[str, str], None]:
    """Keeps what fits: a flood ends in a mark, not in our memory."""

    def keep(_: str, text: str) -> None:
        room = _OUTPUT_BYTES - this.size
        this.size += len(text)
        if room > 0:
            this.printed.append(text[:room] + ("\n… (more was printed)\n" if len(text) > room else ""))

    return keep


def _stand_in(name: str) -> Callable[..., None]:
    """The sandbox knows functions of the host by name only; it never holds one."""

    def function() -> None: ...

    function.__name__ = function.__qualname__ = name
    return function


def _unknown(step: Any) -> dict[str, object]:
    if step.object_id is not None:
        return {"exception": AttributeError(f"results have no method '{step.function_name}'")}
    return {"exception": NameError(f"name '{step.function_name}' is not defined")}


def _shown(error: Any) -> str:
    display = getattr(error, "display", None)
    return str(display() if display is not None else error)[-2000:]


def _sendable(text: str) -> str:
    """Half a surrogate pair cannot cross into another process."""
    return text.encode("utf-8", "replace").decode("utf-8")
