"""Make the N-th store call, file write, socket read, model call or clock reading fail, on every main path.

    python -m tests.chaos --seeds 3000        # what `make chaos` runs
    python -m tests.chaos --seed 1234         # one seed again, with its traceback

A seed is a path and one fault at one place; once all places have had their turn, a seed is several faults
at once. Whatever fails, the answer under test is wrong, so that no verdict may be clean; no acknowledged fact
may be lost, none stored twice, no line of output torn, no descriptor or thread left behind.
"""

from __future__ import annotations

import asyncio
import errno
import http.client
import io
import json
import logging
import random
import shutil
import sqlite3
import sys
import tempfile
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self
from unittest.mock import patch

import httpcore
import typer
from httpcore._backends.anyio import AnyIOStream
from rich.console import Console
from tests.loopback import Loopback, Reply, Request
from tests.proxy.requests import BAD, MESSAGES
from tests.proxy.scripted import Scripted, ScriptedUpstream, chat_stream, scripted
from tests.serving import Served, served

from groundwire.cli.batch import BatchArgs, run_batch
from groundwire.cli.guard import guard as guard_command
from groundwire.config import Config
from groundwire.engine import Groundwire
from groundwire.errors import BackendDown, BackendTimeout, FactNotGrounded, GroundwireError, RateLimited
from groundwire.llm.fake import ScriptedGenerator
from groundwire.memory import MemoryGate, Worker
from groundwire.proxy.connection import HttpConnection
from groundwire.stores.database import open_database
from groundwire.stores.facts import list_facts
from groundwire.stores.queue import RetryPolicy
from groundwire.traces.audit import audit_trace
from groundwire.types import Estimate, FactStatus, Query
from groundwire.verifiers import backends
from groundwire.verifiers.fake import FakeVerifier

TOWER = "The tower is 330 metres tall. It stands in Paris."
WRONG = "The tower stands in Paris. The tower is 999 metres tall."
KINDS: Mapping[str, tuple[str, ...]] = {
    "store": ("error", "locked"),
    "file": ("error", "torn"),
    "socket": ("error", "end", "stall"),
    "model": ("error", "late", "bug", "short", "nan", "limit"),
    "clock": ("ahead", "back"),
}
"""What can fail, and how."""


class Fault(NamedTuple):
    """The `number`-th event of a kind fails in this way."""

    kind: str
    number: int
    how: str


class Violation(AssertionError):
    """A promise that did not hold."""


def require(holds: object, message: str) -> None:
    if not holds:
        raise Violation(message)


@dataclass
class Faults:
    """Counts events while it is armed, and says which of them fail. Safe for threads."""

    plan: Sequence[Fault] = ()
    counts: Counter[str] = field(default_factory=Counter)
    fired: int = 0
    armed: bool = False
    _lock: threading.RLock = field(default_factory=threading.RLock)

    def reset(self, plan: Sequence[Fault]) -> None:
        self.plan, self.armed, self.fired = plan, False, 0
        self.counts.clear()

    @contextmanager
    def injected(self) -> Iterator[None]:
        self.armed = True
        try:
            yield
        finally:
            self.armed = False

    def next(self, kind: str) -> str | None:
        """How this event fails; None where it does not."""
        if not self.armed:
            return None
        with self._lock:
            self.counts[kind] += 1
            number = self.counts[kind]
            how = next((f.how for f in self.plan if f.kind == kind and f.number == number), None)
            self.fired += how is not None
            return how

    def clock(self) -> float:
        how = self.next("clock")
        return _NOW() + {None: 0.0, "ahead": 7200.0, "back": -7200.0}[how]


FAULTS = Faults()
_NOW = time.time


def _check_store() -> None:
    how = FAULTS.next("store")
    if how:
        raise sqlite3.OperationalError("disk I/O error" if how == "error" else "database is locked")


class ChaosCursor(sqlite3.Cursor):
    def execute(self, *given: Any) -> Self:
        _check_store()
        return super().execute(*given)

    def executemany(self, *given: Any) -> Self:
        _check_store()
        return super().executemany(*given)


class ChaosConnection(sqlite3.Connection):
    """SQLite behind both the stores and the cache."""

    def cursor(self, factory: Any = ChaosCursor) -> Any:
        return super().cursor(factory)

    def execute(self, *given: Any) -> sqlite3.Cursor:
        _check_store()
        return super().execute(*given)

    def commit(self) -> None:
        _check_store()
        super().commit()


class ChaosFile:
    """A file opened for writing, on a disk that may be full half-way through."""

    def __init__(self, file: Any) -> None:
        self._file = file

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._file)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._file.close()

    def write(self, data: Any) -> int:
        how = FAULTS.next("file")
        if how == "torn":
            self._file.write(data[: len(data) // 2])
            self._file.flush()
        if how:
            raise OSError(errno.ENOSPC, "No space left on device")
        return int(self._file.write(data))

    def writelines(self, parts: Sequence[Any]) -> None:
        for part in parts:
            self.write(part)


_OPEN, _CONNECT, _READ = io.open, sqlite3.connect, AnyIOStream.read
_RECEIVE = HttpConnection.data_received


def _open(file: Any, mode: str = "r", *given: Any, **named: Any) -> Any:
    found = _OPEN(file, mode, *given, **named)
    return ChaosFile(found) if FAULTS.armed and set(mode) & set("wax+") else found


async def _read(self: AnyIOStream, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ASYNC109
    how = FAULTS.next("socket")
    if how == "error":
        raise httpcore.ReadError("connection reset")
    if how == "stall":
        raise httpcore.ReadTimeout("timed out")
    return b"" if how == "end" else await _READ(self, max_bytes, timeout)


def _receive(self: HttpConnection, data: bytes) -> None:
    """What the proxy reads from its upstream."""
    how = FAULTS.next("socket")
    if how == "error":
        self.abort()
    elif how == "end":
        self.close()
    elif how is None:  # else it never arrives
        _RECEIVE(self, data)


def judge(query: Query) -> tuple[float, float]:
    """P(yes) and P(no): what is wrong in these tests is contradicted, what stands in the context supported."""
    if any(wrong in query.claim for wrong in ("999 metres", "9.7 million", "Rome")):
        return 0.02, 0.95
    known = query.claim.casefold().rstrip(".") in query.context.casefold()
    return (0.98, 0.01) if known else (0.05, 0.05)


class ChaosVerifier(FakeVerifier):
    async def estimate(self, queries: Sequence[Query]) -> list[Estimate]:
        how = FAULTS.next("model")
        if how == "limit":
            raise RateLimited("come back later", retry_after=0.0)
        if how == "error":
            raise BackendDown("the model went away")
        if how == "late":
            raise BackendTimeout("no answer in time")
        if how == "bug":
            raise ZeroDivisionError("a bug in a backend")
        found = await super().estimate(queries)
        if how == "nan":
            return [Estimate(float("nan"), 0.0, 0.0, 0.0, 1.0, "fake")] * len(found)
        return found[:-1] if how == "short" else found


@contextmanager
def patched() -> Iterator[None]:
    """Every place where a fault can be injected. Nothing fails until `FAULTS` is armed."""
    spec = backends.BackendSpec(ChaosVerifier(judge), "fake", "fake", 10_000, 0.0)
    connect = partial(_CONNECT, factory=ChaosConnection)
    with (
        patch.dict(backends.OPENERS, {"fake": lambda _: spec}),
        patch("sqlite3.connect", connect),
        patch("sqlite3.dbapi2.connect", connect),
        patch("io.open", _open),
        patch("builtins.open", _open),
        patch("time.time", FAULTS.clock),
        patch.object(AnyIOStream, "read", _read),
        patch.object(HttpConnection, "data_received", _receive),
    ):
        yield


PATIENT = {"hallucination.timeout": "30s", "realtime.hold_timeout": 30.0}
"""A busy machine is no fault: without one injected, everything must succeed."""


@dataclass
class World:
    """What the paths share: an empty store to copy, a service for estimates, a server with an upstream."""

    root: Path
    template: Path
    estimates: Loopback
    upstream: ScriptedUpstream
    server: Served
    folder: Path = Path()
    number: int = 0
    seed: int = 0

    def config(self, **overrides: object) -> Config:
        given = {
            "hallucination.backend.type": "fake",
            **PATIENT,
            "store.url": str(self.folder / "store.db"),
            "store.cache_path": str(self.folder / "cache.db"),
            "limits.retries": 1,
        }
        return Config.load(overrides=given | {key.replace("__", "."): value for key, value in overrides.items()})

    def fresh(self) -> None:
        """A folder of its own for the next seed, with an empty store in it."""
        if self.number:
            shutil.rmtree(self.folder, ignore_errors=True)
        self.number += 1
        self.folder = self.root / str(self.number)
        self.folder.mkdir()
        shutil.copyfile(self.template, self.folder / "store.db")


def _estimate(request: Request) -> Reply:
    claims = request.body.get("claims") or [request.body["claim"]]
    found = [judge(Query(claim, request.body["context"])) for claim in claims]
    answers = [{"probability": yes, "p_no": no} for yes, no in found]
    return Reply({"estimates": answers} if "claims" in request.body else answers[0])


def _not_clean(flagged: bool | None) -> bool:
    """A wrong answer is flagged; where something failed, it may be that it could not be checked."""
    return flagged is True or (flagged is None and FAULTS.fired > 0)


# The paths. Each arms the faults around what it does, then proves that its promises held.


def check(world: World) -> None:
    """`check` with a remote service behind a cache, twice."""
    config = world.config(hallucination__backend__type="external", external__url=world.estimates.url)

    async def twice() -> None:
        async with Groundwire(config) as engine:
            for _ in range(2):
                try:
                    report = await engine.check(WRONG, TOWER)
                except GroundwireError:
                    continue
                require(_not_clean(report.flagged), "check: a wrong answer is clean")
                require(
                    not any("999" in c.claim_text and c.status == "ENTAILED" for c in report.claims),
                    "check: a wrong claim is entailed",
                )

    with FAULTS.injected():
        asyncio.run(twice())


def batch(world: World) -> None:
    """`batch`, and `batch --resume` after what went wrong."""
    rows, out = world.folder / "in.jsonl", world.folder / "out.jsonl"
    wanted = [{"id": str(n), "response": WRONG, "context": TOWER} for n in range(12)]
    rows.write_text("".join(json.dumps(row) + "\n" for row in wanted))
    config, quiet = world.config(), Console(quiet=True)
    with FAULTS.injected():
        try:
            code: int | None = run_batch(BatchArgs(rows, out), config, quiet)
        except GroundwireError:
            code = None
    require(code == 1 or (code != 0 and FAULTS.fired), f"batch: exit code {code} over wrong answers")
    if code is None:
        run_batch(BatchArgs(rows, out, resume=True), config, quiet)
    lines = out.read_bytes().splitlines(keepends=True)
    require(all(line.endswith(b"\n") for line in lines), "batch: the last line is torn")
    found = [json.loads(line) for line in lines]
    require([row["id"] for row in found] == [row["id"] for row in wanted], "batch: rows are lost or doubled")
    require(all(_not_clean(row["flagged"]) for row in found), "batch: a wrong answer is clean")


FACTS = ("Ada works in London.", "Ada works in Rome.", "Bob works in Paris.")
EVIDENCE = "Ada works in London. Bob works in Paris."


def memory(world: World) -> None:
    """Facts through the gate, then the worker for those that wait; then the worker once more, undisturbed."""
    database = open_database(str(world.folder / "store.db"))
    config = world.config(hallucination__enabled=True, hallucination__memory_gate__enabled=True)
    terms = RetryPolicy(attempts=3)
    kept: list[str] = []

    async def remember() -> None:
        async with (
            Groundwire(config, operation="memory_gate") as engine,
            MemoryGate(database, engine, terms=terms, clock=FAULTS.clock) as gate,
        ):
            for text in FACTS:
                try:
                    kept.append((await gate.remember(text, EVIDENCE)).text)
                except GroundwireError as error:
                    unheard = not isinstance(error, FactNotGrounded)
                    require(unheard or "Rome" in text, f"gate: {text} was rejected")

    async def work(at: Callable[[], float]) -> None:
        async with Groundwire(config, operation="memory_gate") as engine:
            worker = Worker(database, engine, terms=terms, clock=at)
            try:
                async for _ in worker.drain():
                    pass
            except GroundwireError:
                pass
            finally:
                await worker.aclose()

    try:
        with FAULTS.injected():
            asyncio.run(remember())
            asyncio.run(work(FAULTS.clock))
        for hours in (24, 48, 72, 96):  # a lease or a retry may lie ahead, by a clock that was wrong
            asyncio.run(work(lambda hours=hours: _NOW() + 3600.0 * hours))  # type: ignore[misc]
        with database.read() as connection:
            found = list_facts(connection, limit=100)
            stored = Counter(fact.text for fact in found)
            waiting = [fact.text for fact in found if fact.status is FactStatus.PENDING]
    finally:
        database.close()
    require(all(count == 1 for count in stored.values()), f"memory: a fact is stored twice: {stored}")
    require(set(kept) - {FACTS[1]} <= set(stored), f"memory: an acknowledged fact is lost: {kept}, {stored}")
    clean = [f.text for f in found if f.status is FactStatus.VERIFIED and "Rome" in f.text]
    require(not clean, "memory: a wrong fact is verified")
    require(not waiting, f"memory: {waiting} still wait after the queue was worked off")


def _ask(world: World, method: str, path: str, body: object = None, **headers: str) -> tuple[int, bytes]:
    """One request by the standard library, whose sockets do not fail here."""
    connection = http.client.HTTPConnection(world.server.url.removeprefix("http://"), timeout=30)
    try:
        sent = {"content-type": "application/json", "connection": "close", **headers}
        connection.request(method, path, json.dumps(body) if body is not None else None, sent)
        answer = connection.getresponse()
        try:
            return answer.status, answer.read()
        except http.client.IncompleteRead as cut:
            return answer.status, cut.partial
    finally:
        connection.close()


def serve(world: World) -> None:
    """A check whose report is stored, and a fact, over HTTP."""
    fact = f"Person {world.number} works in London."
    with FAULTS.injected():
        status, body = _ask(world, "POST", "/v1/check", {"response": WRONG, "sources": {"S0": TOWER}})
        told, _ = _ask(world, "POST", "/v1/facts", {"fact": fact, "sources": {"S0": fact}})
    if status == 200:
        require(_not_clean(json.loads(body)["flagged"]), "serve: a wrong answer is clean")
    else:
        require(FAULTS.fired and json.loads(body)["status"] == status, f"serve: {status}: {body!r}")
    status, body = _ask(world, "GET", "/v1/facts?limit=20")
    require(status == 200, f"serve: facts cannot be listed afterwards ({status})")
    stored = [one for one in json.loads(body)["facts"] if one["text"] == fact]
    failed = told >= 400 and FAULTS.fired
    require(len(stored) == 1 or (not stored and failed), f"serve: {len(stored)} facts after a {told}")


def proxy(world: World) -> None:
    """A streamed answer through the proxy."""
    modes = ("observe", "annotate", "block", "fix")
    mode = modes[world.seed % len(modes)]
    world.upstream.script(Scripted(chat_stream(BAD), pause=0.001))
    with FAULTS.injected():
        body = {"model": "m", "messages": MESSAGES, "stream": True}
        status, got = _ask(world, "POST", "/v1/chat/completions", body, **{"x-groundwire": mode})
    if status != 200:
        require(FAULTS.fired, f"proxy: {status} undisturbed: {got!r}")
        return
    whole = got if got.endswith(b"\n\n") else got[: got.rfind(b"\n\n") + 1]
    events = [json.loads(line[6:]) for line in whole.splitlines() if line.startswith(b"data: {")]
    passed = "9.7 million" in "".join(map(_said, events))
    for told in (event["groundwire"] for event in events if "groundwire" in event):
        # An upstream that broke off before it was wrong has said nothing wrong.
        cut = FAULTS.fired and not passed and told["claims"] < 3
        require(cut or _not_clean(told["flagged"]), f"proxy: a wrong answer is clean in mode {mode}")
        # Text that cannot be verified in time passes, and the report says so.
        blocks = mode == "block" and not any(fault.kind == "model" for fault in FAULTS.plan)
        require(not (blocks and passed), "proxy: a contradicted statement passed in mode block")


def _said(event: Mapping[str, Any]) -> str:
    return "".join(choice["delta"].get("content") or "" for choice in event.get("choices", ()))


def guard(world: World) -> None:
    """`groundwire guard` from its sources to its exit code."""
    model = ScriptedGenerator(lambda _: WRONG)
    with FAULTS.injected():
        try:
            quiet = Console(quiet=True)
            code: int | None = guard_command(
                "How tall is it?", [TOWER], config=world.config(), console=quiet, generator=model
            )
        except GroundwireError:
            code = None
    require(code == 1 or (code != 0 and FAULTS.fired), f"guard: exit code {code} over a wrong answer")


def audit(world: World) -> None:
    """The audit of a trace with a wrong step."""
    steps = ["The tower stands in Paris [S0].", "The tower is 999 metres tall [S0]."]

    async def ask() -> None:
        async with Groundwire(world.config(), operation="trace") as engine:
            try:
                found = await audit_trace(engine, steps, "How tall is it?", {"S0": TOWER}, "999 metres")
            except GroundwireError:
                return
            require(_not_clean(found.flagged), "audit: a wrong trace is clean")

    with FAULTS.injected():
        asyncio.run(ask())


ChaosPath = Callable[[World], None]
PATHS: Mapping[ChaosPath, Mapping[str, int]] = {
    check: {"store": 15, "socket": 6, "clock": 6},
    batch: {"file": 12, "model": 2, "store": 1},
    memory: {"store": 52, "model": 4, "clock": 3},
    serve: {"store": 28, "model": 2, "clock": 8},
    proxy: {"socket": 16, "model": 3, "store": 6},
    guard: {"model": 5},
    audit: {"model": 2},
}
"""The paths, and up to which number their events of each kind fail."""

PLACES: tuple[tuple[ChaosPath, Fault], ...] = tuple(
    (path, Fault(kind, number + 1, how))
    for path, kinds in PATHS.items()
    for kind, most in kinds.items()
    for number, how in product(range(most), KINDS[kind])
)
_STRIDE = 7919
"""A prime: consecutive seeds visit places far from each other, so that a short run sees every path."""


def plan(seed: int) -> tuple[ChaosPath, tuple[Fault, ...]]:
    """What a seed means: one place each as long as there are any, then two to four faults on one path."""
    if seed < len(PLACES):
        path, fault = PLACES[seed * _STRIDE % len(PLACES)]
        return path, (fault,)
    drawn = random.Random(seed)
    path = drawn.choice(list(PATHS))
    own = [fault for where, fault in PLACES if where is path]
    return path, tuple(drawn.sample(own, drawn.randint(2, 4)))


@dataclass
class Tally:
    """The figures of a run."""

    seeds: int = 0
    injected: int = 0
    violations: list[str] = field(default_factory=list)
    by_path: Counter[str] = field(default_factory=Counter)

    def __str__(self) -> str:
        paths = ", ".join(f"{name} {count}" for name, count in sorted(self.by_path.items()))
        return (
            f"chaos: {self.seeds} seeds, {self.injected} faults injected ({paths}), {len(self.violations)} violations"
        )


def _held() -> tuple[int, int]:
    """Open descriptors and threads."""
    descriptors = len(list(Path("/proc/self/fd").iterdir())) if sys.platform == "linux" else 0
    return descriptors, threading.active_count()


SLACK = (12, 8)
"""Descriptors and threads that pools may keep between two seeds."""


def run_seed(seed: int, world: World, tally: Tally) -> None:
    path, faults = plan(seed)
    world.fresh()
    world.seed = seed
    FAULTS.reset(faults)
    try:
        path(world)
    except Exception as error:
        shown = "".join(traceback.format_exception(error)) if not isinstance(error, Violation) else str(error)
        tally.violations.append(f"seed {seed}: {path.__name__} {list(map(tuple, faults))}: {shown}")
    tally.seeds += 1
    tally.injected += FAULTS.fired
    tally.by_path[path.__name__] += FAULTS.fired
    FAULTS.reset(())


@contextmanager
def worlds() -> Iterator[World]:
    with ExitStack() as stack:
        root = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        template = root / "template.db"
        open_database(str(template)).close()
        estimates = Loopback()
        stack.callback(estimates.close)
        estimates.script(_estimate)
        upstream = stack.enter_context(scripted())
        shutil.copyfile(template, root / "server.db")
        stack.enter_context(patched())
        settings = {
            "hallucination.enabled": True,
            "hallucination.memory_gate.enabled": True,
            "hallucination.backend.type": "fake",
            "proxy.upstreams": {"local": upstream.url},
            "proxy.read_timeout": 0.5,
            "proxy.report_timeout": 30.0,
            **PATIENT,
            "store.url": str(root / "server.db"),
            "store.cache_path": str(root / "cache.db"),
        }
        server = stack.enter_context(served(settings))
        yield World(root, template, estimates, upstream, server)


def run(seeds: Sequence[int], console: Console) -> Tally:
    """Try every seed; the tally holds what went wrong."""
    logging.disable(logging.CRITICAL)
    tally = Tally()
    with worlds() as world:
        for path in PATHS:  # what is loaded once is loaded before anything is counted
            world.fresh()
            FAULTS.reset(())
            path(world)
        before = _held()
        for seed in seeds:
            run_seed(seed, world, tally)
            after = _held()
            if any(now > was + slack for now, was, slack in zip(after, before, SLACK, strict=True)):
                tally.violations.append(f"seed {seed}: {after} descriptors and threads, {before} before")
                before = after
    logging.disable(logging.NOTSET)
    for violation in tally.violations:
        console.print(violation, markup=False, highlight=False, soft_wrap=True)
    console.print(str(tally), highlight=False, soft_wrap=True)
    return tally


def main(
    seeds: int = typer.Option(3000, min=1, help="How many seeds to try."),
    first: int = typer.Option(0, min=0, help="The first of them."),
    seed: int = typer.Option(-1, help="Try this seed alone."),
) -> None:
    """Make the N-th store call, file write, socket read, model call or clock reading fail, on every main path."""
    chosen = [seed] if seed >= 0 else range(first, first + seeds)
    raise typer.Exit(bool(run(chosen, Console()).violations))


if __name__ == "__main__":
    typer.run(main)
