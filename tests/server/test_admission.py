"""A full server rejects requests with 429 and Retry-After, and answers the admitted ones correctly."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, generate_latest
from tests.serving import Served, served

from groundwire.errors import Overloaded
from groundwire.server.admission import ORDINARY_CHARS, Admission, export_metrics
from groundwire.types import Estimate, Query
from groundwire.verifiers import backends
from groundwire.verifiers.backends import BackendSpec
from groundwire.verifiers.fake import FakeVerifier

CAPACITY = 4


class TestAdmission:
    def test_requests_beyond_the_capacity_are_rejected(self) -> None:
        admission = Admission(2)
        with admission.admitted(), admission.admitted():
            assert admission.load == 1.0
            with pytest.raises(Overloaded), admission.admitted():
                raise AssertionError("let in")
        with admission.admitted():
            assert admission.load == 0.5
        assert (admission.inside, admission.refused) == (0.0, 1)

    def test_an_exception_releases_the_place(self) -> None:
        admission = Admission(1)
        with pytest.raises(ZeroDivisionError), admission.admitted():
            raise ZeroDivisionError
        assert admission.inside == 0.0

    def test_long_requests_weigh_more(self) -> None:
        admission = Admission(8)
        with admission.admitted(3 * ORDINARY_CHARS):
            assert admission.inside == 3.0

    def test_two_requests_of_any_size_fit(self) -> None:
        admission = Admission(8)
        with admission.admitted(10**9), admission.admitted(10**9):
            assert admission.load == 1.0

    def test_the_smallest_capacity_admits_the_largest_request(self) -> None:
        admission = Admission(1)
        with admission.admitted(10**9):
            assert admission.load == 1.0

    def test_retry_after_follows_from_the_pace(self) -> None:
        now = 1.0
        admission = Admission(4, clock=lambda: now)
        with admission.admitted():
            now += 3.0
        assert admission.wait == 0.0
        with admission.admitted(), admission.admitted(), admission.admitted(), admission.admitted():
            assert admission.wait == pytest.approx(12.0)
            with pytest.raises(Overloaded) as told, admission.admitted(2 * ORDINARY_CHARS):
                pass
        assert told.value.retry_after == pytest.approx(6.0)

    def test_concurrent_requests_yield_the_overall_pace(self) -> None:
        """Four at a time, each four seconds: one a second."""
        now = 1.0
        admission = Admission(4, clock=lambda: now)
        with admission.admitted(), admission.admitted(), admission.admitted(), admission.admitted():
            now += 4.0
        with admission.admitted():
            assert admission.wait == pytest.approx(1.0, rel=0.5)

    def test_cancelled_requests_do_not_change_the_pace(self) -> None:
        now = 1.0
        admission = Admission(4, clock=lambda: now)
        with suppress(asyncio.CancelledError), admission.admitted():
            now += 100.0
            raise asyncio.CancelledError
        with admission.admitted():
            assert admission.wait == 0.0

    def test_retry_after_is_bounded(self) -> None:
        now = 1.0
        admission = Admission(1, clock=lambda: now)
        with admission.admitted(), pytest.raises(Overloaded) as soon, admission.admitted():
            pass
        with admission.admitted():
            now += 1e6
        with admission.admitted(), pytest.raises(Overloaded) as late, admission.admitted():
            pass
        assert (soon.value.retry_after, late.value.retry_after) == (1.0, 60.0)

    def test_requests_that_would_wait_too_long_are_rejected(self) -> None:
        now = 1.0
        admission = Admission(64, max_wait=30.0, clock=lambda: now)
        with admission.admitted():
            now += 2.0  # one takes two seconds
        with ExitStack() as inside:
            for _ in range(15):
                inside.enter_context(admission.admitted())
            with pytest.raises(Overloaded) as told, admission.admitted():
                pass
            assert told.value.retry_after == pytest.approx(2.0)

    def test_one_slow_request_does_not_close_the_server(self) -> None:
        now = 1.0
        admission = Admission(64, max_wait=30.0, clock=lambda: now)
        with admission.admitted():
            now += 1000.0
        with ExitStack() as inside:
            for _ in range(8):
                inside.enter_context(admission.admitted())
            now += 16.0  # side by side they took two seconds each
        with admission.admitted():
            assert 2.0 < admission.wait < 200.0

    @given(st.lists(st.integers(1, 40), min_size=1, max_size=30))
    def test_the_order_of_completion_does_not_change_the_pace(self, order: list[int]) -> None:
        """Sixteen at a time, one a second in truth: whatever the order they end in, that is what is seen."""
        now = 1.0
        admission = Admission(64, clock=lambda: now)
        for _ in range(3):
            stacks = [ExitStack() for _ in range(16)]
            for stack in stacks:
                stack.enter_context(admission.admitted())
            now += 16.0
            for place in order:
                stacks.append(stacks.pop(place % len(stacks)))
            for stack in stacks:
                stack.close()
        with admission.admitted():
            assert admission.wait == pytest.approx(1.0)

    def test_busy_starts_before_full(self) -> None:
        admission = Admission(4)
        with admission.admitted(), admission.admitted():
            assert not admission.is_busy
            with admission.admitted():
                assert admission.is_busy

    def test_its_state_is_exported_as_metrics(self) -> None:
        registry = CollectorRegistry()
        one, other = Admission(2), Admission(4)
        export_metrics([one, other], registry)
        with one.admitted(), other.admitted():
            shown = generate_latest(registry).decode()
        assert "groundwire_server_load 0.5" in shown
        assert "groundwire_server_refused_requests 0.0" in shown


class HeldVerifier:
    """A fake model that answers nothing until it is released."""

    def __init__(self) -> None:
        self.release = threading.Event()
        self.began = threading.Semaphore(0)
        self.asked: list[str] = []
        self._fake = FakeVerifier()

    async def estimate(self, queries: Sequence[Query]) -> list[Estimate]:
        self.asked += [query.claim for query in queries]
        self.began.release()
        await asyncio.to_thread(self.release.wait)
        return await self._fake.estimate(queries)


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> Iterator[HeldVerifier]:
    slow = HeldVerifier()
    monkeypatch.setitem(backends.OPENERS, "fake", lambda _: BackendSpec(slow, "fake", "fake", 10**6, 0.0))
    yield slow
    slow.release.set()


@pytest.fixture
def server(held: HeldVerifier) -> Iterator[Served]:
    with served({"hallucination.backend.type": "fake", "server.max_in_flight": CAPACITY}) as running:
        held.release.set()  # the server asks the model once itself, to see that it is there
        while running.client.get("/readyz").status_code != 200:
            pass
        held.release.clear()
        held.asked.clear()
        while held.began.acquire(blocking=False):
            pass
        yield running


async def until(reached: Callable[[], bool]) -> None:
    """What happens in the server's threads cannot be awaited here."""
    async with asyncio.timeout(30):
        while not reached():  # noqa: ASYNC110
            await asyncio.sleep(0.005)


def asked(number: int) -> dict[str, object]:
    right = number % 2 == 0
    answer = f"The box number {number} is {'green' if right else 'blue'}."
    return {"id": f"r{number}", "response": answer, "context": f"The box number {number} is green."}


async def test_at_four_times_the_capacity_the_excess_gets_429_and_the_rest_is_correct(
    held: HeldVerifier, server: Served
) -> None:
    async with httpx.AsyncClient(base_url=server.url, timeout=30, trust_env=False) as client:
        tasks = [asyncio.create_task(client.post("/v1/check", json=asked(n))) for n in range(4 * CAPACITY)]
        await until(lambda: sum(task.done() for task in tasks) >= 3 * CAPACITY)
        held.release.set()
        answers = await asyncio.gather(*tasks)
    assert Counter(answer.status_code for answer in answers) == {200: CAPACITY, 429: 3 * CAPACITY}
    for number, answer in enumerate(answers):
        if answer.status_code == 200:
            assert answer.json()["flagged"] is (number % 2 == 1)
        else:
            assert int(answer.headers["retry-after"]) >= 1
            assert answer.headers["content-type"] == "application/problem+json"
            assert answer.json()["type"].endswith("too-many")
    assert (await asyncio.to_thread(server.client.post, "/v1/check", json=asked(0))).status_code == 200


async def test_a_full_server_still_answers_health_and_metrics(held: HeldVerifier, server: Served) -> None:
    async with httpx.AsyncClient(base_url=server.url, timeout=30, trust_env=False) as client:
        tasks = [asyncio.create_task(client.post("/v1/check", json=asked(n))) for n in range(CAPACITY)]
        await until(lambda: server.service.admission.load == 1.0)
        assert (await client.get("/healthz")).status_code == 200
        assert "groundwire_server_load 1.0" in (await client.get("/metrics")).text
        held.release.set()
        await asyncio.gather(*tasks)


async def test_work_of_a_disconnected_client_is_dropped_before_it_begins(held: HeldVerifier, server: Served) -> None:
    async with httpx.AsyncClient(base_url=server.url, timeout=30, trust_env=False) as client:
        first = []
        for number in range(2):  # two batches are under way: what comes after them must wait
            first.append(asyncio.create_task(client.post("/v1/check", json=asked(number))))
            assert await asyncio.to_thread(held.began.acquire, timeout=20)
        leaving = asyncio.create_task(client.post("/v1/check", json=asked(7)))
        await until(lambda: server.service.admission.inside == 3)
        leaving.cancel()
        await until(lambda: server.service.admission.inside == 2)
        held.release.set()
        assert [answer.status_code for answer in await asyncio.gather(*first)] == [200, 200]
    assert not any("number 7" in claim for claim in held.asked)
