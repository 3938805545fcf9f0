"""Jobs are taken by one, done once, and outlive whoever took them; on both databases."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass
from random import Random

import pytest
from sqlalchemy import Connection

from groundwire.stores.database import Database, open_database
from groundwire.stores.queue import DEAD, JobQueue, QueuedJob, RetryPolicy


@dataclass
class Clock:
    now: float = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def database(store_url: str) -> Iterator[Database]:
    found = open_database(store_url)
    yield found
    found.close()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def queue(database: Database, clock: Clock) -> JobQueue:
    return JobQueue(database, "test", RetryPolicy(lease=60, attempts=3), clock=clock, uniform=lambda: 1.0)


def add(database: Database, queue: JobQueue, *keys: str, delay: float = 0.0) -> None:
    with database.write() as connection:
        for key in keys:
            queue.enqueue(connection, key, f"about {key}", delay=delay)


def taken(queue: JobQueue) -> QueuedJob:
    job = queue.claim()
    assert job is not None
    return job


def test_the_longest_due_comes_first(database: Database, queue: JobQueue, clock: Clock) -> None:
    add(database, queue, "later", delay=5)
    add(database, queue, "a", "b")
    clock.now += 10
    assert [taken(queue).key for _ in range(3)] == ["a", "b", "later"]
    assert queue.claim() is None


def test_a_delayed_job_waits(database: Database, queue: JobQueue, clock: Clock) -> None:
    add(database, queue, "a", delay=30)
    assert queue.claim() is None
    assert queue.next_due() == 1030
    clock.now += 30
    assert taken(queue).key == "a"


def test_what_is_rolled_back_was_never_enqueued(database: Database, queue: JobQueue) -> None:
    def broken() -> None:
        with database.write() as connection:
            queue.enqueue(connection, "a", "")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        broken()
    assert queue.claim() is None


def test_a_job_is_hidden_for_its_lease_and_comes_back_after(database: Database, queue: JobQueue, clock: Clock) -> None:
    add(database, queue, "a")
    first = taken(queue)
    assert queue.claim() is None
    clock.now += 61
    second = taken(queue)
    assert (second.id, second.attempts) == (first.id, 2)
    assert second.holder != first.holder


def test_who_lost_the_lease_can_write_nothing(database: Database, queue: JobQueue, clock: Clock) -> None:
    add(database, queue, "a")
    slow = taken(queue)
    clock.now += 61
    quick = taken(queue)
    with database.write() as connection:
        assert not queue.complete(connection, slow)
        assert not queue.retry(connection, slow, "late")
        assert not queue.bury(connection, slow, "late")
        assert queue.complete(connection, quick)
        assert not queue.complete(connection, quick)
    assert queue.counts() == {"waiting": 0, "dead": 0}


def test_the_lease_begins_when_the_job_is_claimed(
    database: Database, queue: JobQueue, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(database, queue, "a")
    begin = database.write

    def after_waiting() -> AbstractContextManager[Connection]:
        clock.now += 50  # another process held the write lock
        return begin()

    monkeypatch.setattr(database, "write", after_waiting)
    assert taken(queue).due == clock.now + 60


@pytest.mark.parametrize("seed", range(6))
def test_each_job_is_settled_once_whatever_expires(
    database: Database, queue: JobQueue, clock: Clock, seed: int
) -> None:
    """Workers claim, stall beyond their leases and settle in any order, again and again with old claims."""
    chance, claims = Random(seed), list[QueuedJob]()
    settled: Counter[str] = Counter()
    newest: dict[str, str] = {}
    keys = [f"k{n}" for n in range(5)]
    add(database, queue, *keys)
    for _ in range(60):
        clock.now += chance.choice((0, 1, 61))
        job = queue.claim() if chance.random() < 0.5 else None
        if job is not None:
            claims.append(job)
            newest[job.key] = job.holder
        elif claims:
            job = chance.choice(claims)
            retried = chance.random() < 0.3
            with database.write() as connection:
                owned = queue.retry(connection, job, "again") if retried else queue.complete(connection, job)
            assert owned == (newest[job.key] == job.holder)
            if owned:
                newest[job.key] = ""
                settled[job.key] += not retried
    while (job := _next(queue, clock)) is not None:
        with database.write() as connection:
            settled[job.key] += queue.complete(connection, job)
    assert settled == dict.fromkeys(keys, 1)


def _next(queue: JobQueue, clock: Clock) -> QueuedJob | None:
    clock.now += 10_000
    return queue.claim()


@pytest.mark.spec("SPEC-08.42")
def test_waits_grow_and_a_server_is_waited_for(database: Database, queue: JobQueue, clock: Clock) -> None:
    add(database, queue, "a")
    for wanted, after in ((5.0, None), (10.0, None), (300.0, 300.0)):
        job = taken(queue)
        with database.write() as connection:
            assert queue.retry(connection, job, "rate_limited: later", after=after)
        assert queue.next_due() == clock.now + wanted
        clock.now += wanted
    assert queue.is_spent(taken(queue))


def test_a_dead_job_keeps_its_reason_and_is_not_taken(database: Database, queue: JobQueue, clock: Clock) -> None:
    add(database, queue, "a")
    job = taken(queue)
    with database.write() as connection:
        assert queue.bury(connection, job, "no such model " * 100)
    clock.now += 1e6
    assert queue.claim() is None
    (dead,) = queue.jobs(DEAD)
    assert dead.reason.startswith("no such model")
    assert len(dead.reason) <= 500
    assert queue.counts() == {"waiting": 0, "dead": 1}


def test_a_key_asked_for_anew_replaces_the_job_before(database: Database, queue: JobQueue) -> None:
    add(database, queue, "a")
    old = taken(queue)
    add(database, queue, "a")
    with database.write() as connection:
        assert not queue.complete(connection, old)
    assert taken(queue).attempts == 1


def test_kinds_do_not_mix(database: Database, queue: JobQueue, clock: Clock) -> None:
    add(database, queue, "a")
    assert JobQueue(database, "other", clock=clock).claim() is None


def test_many_takers_get_each_job_once(store_url: str, database: Database, queue: JobQueue) -> None:
    keys = [f"k{n}" for n in range(40)]
    add(database, queue, *keys)

    def work(_: int) -> list[str]:
        own = open_database(store_url)
        mine, done = JobQueue(own, "test", clock=lambda: 2000.0), []
        while (job := mine.claim()) is not None:
            with own.write() as connection:
                if mine.complete(connection, job):
                    done.append(job.key)
        own.close()
        return done

    with ThreadPoolExecutor(4) as pool:
        done = [key for part in pool.map(work, range(4)) for key in part]
    assert sorted(done) == sorted(keys)
