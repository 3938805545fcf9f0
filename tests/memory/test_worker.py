"""Pending facts are verified later: each job is completed once, none is lost with a killed worker."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.figures import figures as figures_of

from groundwire.engine import Groundwire
from groundwire.errors import BackendDown, RateLimited
from groundwire.memory import JobOutcome, JobResult, MemoryGate, Worker
from groundwire.stores.database import Database, open_database
from groundwire.stores.facts import get, list_facts
from groundwire.stores.queue import DEAD, RejectedFacts, RetryPolicy
from groundwire.types import Estimate, Fact, FactStatus, Query
from groundwire.verifiers.fake import FakeVerifier

Engine = Callable[..., Groundwire]
EVIDENCE = "Ada works in London. Bob works in Paris."
TRUE, FALSE = "Ada works in London.", "Ada works in Rome."
ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 60


def limited(times: int = 99, retry_after: float | None = None) -> FakeVerifier:
    return FakeVerifier(failing=[RateLimited("come back later", retry_after=retry_after)] * times)


async def put_off(database: Database, engine: Engine, *texts: str, evidence: str = EVIDENCE) -> list[Fact]:
    async with MemoryGate(database, engine(limited()), clock=lambda: 1000.0) as gate:
        return [await gate.remember(text, evidence) for text in texts]


async def drained(worker: Worker) -> list[JobResult]:
    try:
        return [settled async for settled in worker.drain()]
    finally:
        await worker.aclose()


def statuses(database: Database) -> dict[str, FactStatus]:
    with database.read() as connection:
        return {fact.text: fact.status for fact in list_facts(connection, limit=1000)}


@pytest.mark.spec("SPEC-08.42", "SPEC-08.17")
async def test_job_stores_the_verdict(database: Database, engine: Engine) -> None:
    (fact,) = await put_off(database, engine, TRUE)
    worker = Worker(database, engine(FakeVerifier()))
    (settled,) = await drained(worker)
    with database.read() as connection:
        found = get(connection, fact.id)
    assert settled.outcome is JobOutcome.VERIFIED
    assert found is not None
    assert (found.status, found.confidence) == (FactStatus.VERIFIED, 0.95)
    assert found.record is not None
    assert worker.queue.counts() == {"waiting": 0, "dead": 0}


@pytest.mark.spec("SPEC-08.18", "SPEC-08.42")
async def test_rejected_fact_is_removed(database: Database, engine: Engine) -> None:
    await put_off(database, engine, FALSE, TRUE)
    made = engine(FakeVerifier())
    outcomes = [settled.outcome for settled in await drained(Worker(database, made))]
    assert outcomes == [JobOutcome.REJECTED, JobOutcome.VERIFIED]
    assert statuses(database) == {TRUE: FactStatus.VERIFIED}
    (one,) = RejectedFacts(database).latest()
    assert (one.text, one.confidence) == (FALSE, 0.95)
    assert figures_of(made.metrics).facts_rejected == 1


async def test_retry_waits_as_long_as_the_backend_asks(database: Database, engine: Engine) -> None:
    await put_off(database, engine, TRUE)
    worker = Worker(database, engine(limited(retry_after=500)), clock=lambda: 2000.0)
    (settled,) = await drained(worker)
    assert settled.outcome is JobOutcome.LATER
    assert worker.queue.next_due() == 2500.0
    assert statuses(database) == {TRUE: FactStatus.PENDING}


@pytest.mark.parametrize("closed", [False, True])
async def test_last_failed_attempt_ends_the_pending_state(database: Database, engine: Engine, closed: bool) -> None:
    await put_off(database, engine, TRUE)
    made = engine(FakeVerifier(failing=[BackendDown("gone")] * 9), fail_closed=closed)
    worker = Worker(database, made, terms=RetryPolicy(attempts=1))
    (settled,) = await drained(worker)
    (job,) = worker.queue.jobs(DEAD)
    assert "gone" in job.reason
    assert settled.outcome is (JobOutcome.REJECTED if closed else JobOutcome.UNVERIFIED)
    assert statuses(database) == ({} if closed else {TRUE: FactStatus.UNVERIFIED})


async def test_job_that_kills_its_workers_is_abandoned(database: Database, engine: Engine) -> None:
    await put_off(database, engine, TRUE)
    terms = RetryPolicy(lease=0.0, attempts=2)
    worker = Worker(database, engine(FakeVerifier()), terms=terms, clock=lambda: 2000.0)
    assert [worker.queue.claim() is not None for _ in range(2)] == [True, True]
    (settled,) = await drained(worker)
    assert (settled.outcome, "died" in settled.reason) == (JobOutcome.UNVERIFIED, True)


async def test_unreadable_job_does_not_stop_others(database: Database, engine: Engine) -> None:
    facts = await put_off(database, engine, TRUE, "Bob works in Paris.")
    worker = Worker(database, engine(FakeVerifier()))
    with database.write() as connection:
        worker.queue.enqueue(connection, facts[0].id, "{not json")
    outcomes = {settled.fact_id: settled.outcome for settled in await drained(worker)}
    assert outcomes == {facts[0].id: JobOutcome.UNVERIFIED, facts[1].id: JobOutcome.VERIFIED}


async def test_job_of_a_decided_fact_is_dropped(database: Database, engine: Engine) -> None:
    await put_off(database, engine, TRUE)
    async with MemoryGate(database, engine(FakeVerifier())) as gate:
        assert (await gate.remember(TRUE, EVIDENCE)).status is FactStatus.VERIFIED
    fake = FakeVerifier()
    worker = Worker(database, engine(fake))
    assert [settled.outcome for settled in await drained(worker)] == [JobOutcome.GONE]
    assert (fake.queries, worker.queue.counts()["waiting"]) == (0, 0)


class Slow:
    """Answers when it is told to."""

    def __init__(self) -> None:
        self.asked, self.release = threading.Event(), threading.Event()

    async def estimate(self, queries: Sequence[Query]) -> list[Estimate]:
        self.asked.set()
        await asyncio.to_thread(self.release.wait)
        return [Estimate.point(0.01, 0.0, "slow") for _ in queries]


async def test_worker_with_an_expired_lease_writes_nothing(database: Database, engine: Engine) -> None:
    await put_off(database, engine, FALSE)
    verifier = Slow()
    slow = Worker(database, engine(verifier), clock=lambda: 2000.0)
    late = asyncio.create_task(slow.step())
    await asyncio.to_thread(verifier.asked.wait)
    quick = Worker(database, engine(FakeVerifier()), clock=lambda: 3000.0)
    assert [settled.outcome for settled in await drained(quick)] == [JobOutcome.REJECTED]
    verifier.release.set()
    settled = await late
    await slow.aclose()
    assert settled is not None
    assert settled.outcome is JobOutcome.GONE
    assert RejectedFacts(database).count() == 1


async def test_watch_processes_later_jobs(database: Database, engine: Engine) -> None:
    worker = Worker(database, engine(FakeVerifier()))
    watching = worker.watch()
    await put_off(database, engine, TRUE)
    first = await anext(watching)
    await put_off(database, engine, "Bob works in Paris.")
    second = await anext(watching)
    await watching.aclose()  # type: ignore[attr-defined]
    await worker.aclose()
    assert [first.outcome, second.outcome] == [JobOutcome.VERIFIED, JobOutcome.VERIFIED]


def claims(count: int) -> list[str]:
    return [f"Person {n} lives in {'London' if n % 2 else 'Rome'}." for n in range(count)]


def evidence(count: int) -> str:
    return " ".join(f"Person {n} lives in London." for n in range(count))


async def test_many_workers_complete_each_job_once(store_url: str, database: Database, engine: Engine) -> None:
    count = 16
    await put_off(database, engine, *claims(count), evidence=evidence(count))
    made = engine(FakeVerifier(), timeout=PATIENCE)

    def work(_: int) -> list[JobResult]:
        own = open_database(store_url)
        try:
            return asyncio.run(drained(Worker(own, made)))
        finally:
            own.close()

    with ThreadPoolExecutor(3) as pool:
        parts = await asyncio.to_thread(lambda: list(pool.map(work, range(3))))
    # On a busy machine a check may time out: it is scheduled again, which settles nothing.
    unsettled = (JobOutcome.GONE, JobOutcome.LATER)
    settled = [one.fact_id for part in parts for one in part if one.outcome not in unsettled]
    assert len(settled) == len(set(settled)) == count
    assert RejectedFacts(database).count() == count // 2
    assert len(statuses(database)) == count // 2


WORKER = """
import asyncio, sys
from groundwire.config import Config
from groundwire.engine import Groundwire
from groundwire.memory import Worker
from groundwire.stores.database import open_database
from groundwire.verifiers import backends
from groundwire.verifiers.fake import FakeVerifier, verbatim

def told(query):
    print("asked", flush=True)
    return verbatim(query)

fake = FakeVerifier(told, hold=asyncio.Event() if sys.argv[2] == "hang" else None)
if sys.argv[2] == "hang":
    wait = fake._hold.wait
    async def said():
        print("asked", flush=True)
        await wait()
    fake._hold.wait = said
backends.OPENERS["fake"] = lambda _: backends.BackendSpec(fake, "fake", "fake", 10_000, 2.0)
config = Config.model_validate({"hallucination": {"backend": {"type": "fake"}, "memory_gate": {"timeout": 60}}})

async def main():
    async for settled in Worker(open_database(sys.argv[1]), Groundwire(config, operation="memory_gate")).drain():
        print(settled.outcome.value, flush=True)

asyncio.run(main())
"""


def started(store_url: str, how: str) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-c", WORKER, store_url, how], stdout=subprocess.PIPE, text=True, cwd=ROOT)


def killed_after(process: subprocess.Popen[str], word: str, times: int) -> list[str]:
    """What it said until it was killed, which is right after it said a word for the so-manieth time."""
    assert process.stdout is not None
    said: list[str] = []
    for line in process.stdout:
        said.append(line.strip())
        if said.count(word) >= times:
            break
    os.kill(process.pid, signal.SIGKILL)
    process.wait(PATIENCE)
    process.stdout.close()
    return said


@pytest.mark.spec("SPEC-08.42")
async def test_job_survives_a_killed_worker(store_url: str, database: Database, engine: Engine) -> None:
    await put_off(database, engine, FALSE)
    said = await asyncio.to_thread(killed_after, started(store_url, "hang"), "asked", 1)
    assert said == ["asked"]
    worker = Worker(database, engine(FakeVerifier()), clock=lambda: 1e10)
    (job,) = worker.queue.jobs()
    assert (job.attempts, statuses(database)) == (1, {FALSE: FactStatus.PENDING})
    assert [settled.outcome for settled in await drained(worker)] == [JobOutcome.REJECTED]
    assert (RejectedFacts(database).count(), statuses(database)) == (1, {})


@pytest.mark.spec("SPEC-08.42")
async def test_no_job_is_lost_or_repeated_when_workers_are_killed(
    store_url: str, database: Database, engine: Engine
) -> None:
    count = 12
    await put_off(database, engine, *claims(count), evidence=evidence(count))
    for times in (2, 5):  # in the midst of a verification, with jobs done before
        await asyncio.to_thread(killed_after, started(store_url, "go"), "asked", times)
    worker = Worker(database, engine(FakeVerifier()), clock=lambda: 1e10)
    await drained(worker)
    refused = [one.text for one in RejectedFacts(database).latest()]
    assert sorted(refused) == sorted(text for text in claims(count) if "Rome" in text)
    assert statuses(database) == {text: FactStatus.VERIFIED for text in claims(count) if "London" in text}
    assert worker.queue.counts() == {"waiting": 0, "dead": 0}
