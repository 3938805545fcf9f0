"""The HTTP connection and the job limiter on their own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator

import pytest
from tests.proxy.scripted import Scripted, ScriptedUpstream, scripted

from groundwire.proxy.connection import (
    ConnectionPool,
    HttpConnection,
    HttpConnectionError,
    HttpReadTimeout,
    HttpRequest,
)
from groundwire.proxy.verifier import JobLimiter
from groundwire.server.admission import Admission
from groundwire.streaming.incremental import run_inline


@pytest.fixture
def server() -> Iterator[ScriptedUpstream]:
    with scripted() as running:
        yield running


@pytest.fixture
async def connection(server: ScriptedUpstream) -> AsyncIterator[HttpConnection]:
    port = int(server.url.rpartition(":")[2].partition("/")[0])
    _, made = await asyncio.get_running_loop().create_connection(HttpConnection, "127.0.0.1", port)
    yield made
    made.close()
    await asyncio.sleep(0)  # the loop closes its socket one turn later


async def fetched(connection: HttpConnection, method: str = "GET", read_timeout: float = 10.0) -> tuple[int, bytes]:
    request = HttpRequest(method, "h", "/x", [(b"a", b"b")], b"", read_timeout)
    head = await connection.send(request)
    return head.status, b"".join([piece async for piece in connection.body()])


async def test_connection_is_reused_for_a_second_request(server: ScriptedUpstream, connection: HttpConnection) -> None:
    server.script(Scripted([b"one", b"two"]), Scripted([b"three"]))
    pool = ConnectionPool()
    assert await fetched(connection) == (200, b"onetwo")
    assert connection.release()
    pool.put(("http", "h", 1), connection)
    assert pool.take(("http", "h", 1)) is connection
    assert pool.take(("http", "h", 1)) is None
    assert await fetched(connection) == (200, b"three")
    assert server.calls[0].headers == {"host": "h", "a": "b"}


async def test_timeout_on_a_reused_connection_is_not_retried(
    server: ScriptedUpstream, connection: HttpConnection
) -> None:
    server.script(Scripted([b"one"]), Scripted([], silent=True, hang=True))
    await fetched(connection)
    assert connection.release()
    with pytest.raises(HttpReadTimeout) as caught:
        await fetched(connection, "POST", read_timeout=0.05)
    assert not caught.value.untouched


async def test_informational_responses_are_skipped(server: ScriptedUpstream, connection: HttpConnection) -> None:
    hints = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n"
    rest = b"HTTP/1.1 201 Made\r\ncontent-length: 2\r\n\r\nok"
    server.script(Scripted([hints, rest], silent=True, chunked=False, hang=True))
    head = await connection.send(HttpRequest("GET", "h", "/", []))
    assert (head.status, head.headers) == (201, ((b"content-length", b"2"),))
    assert b"".join([piece async for piece in connection.body()]) == b"ok"


async def test_head_response_has_no_body(server: ScriptedUpstream, connection: HttpConnection) -> None:
    server.script(Scripted([], headers=[("content-length", "9")], chunked=False, hang=True))
    assert await fetched(connection, "HEAD") == (200, b"")
    assert not connection.release()


@pytest.mark.parametrize("headers", [[("content-length", "99")], [("transfer-encoding", "chunked")]])
async def test_incomplete_body_is_an_error(
    server: ScriptedUpstream, connection: HttpConnection, headers: list[tuple[str, str]]
) -> None:
    server.script(Scripted([b"4\r\nabcd\r\n"], headers=headers, chunked=False, cut=True))
    with pytest.raises(HttpConnectionError):
        await fetched(connection)


async def test_read_timeout(server: ScriptedUpstream, connection: HttpConnection) -> None:
    server.script(Scripted([b"x"], hang=True))
    with pytest.raises(HttpReadTimeout):
        await fetched(connection, read_timeout=0.05)
    assert await asyncio.to_thread(server.gone.wait, 10)


async def test_connection_with_an_extra_response_is_not_reused(
    server: ScriptedUpstream, connection: HttpConnection
) -> None:
    twice = b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\nx" * 2
    server.script(Scripted([twice], silent=True, chunked=False, hang=True))
    assert await fetched(connection) == (200, b"x")
    assert not connection.release()


async def test_cancelled_request_closes_the_connection(server: ScriptedUpstream, connection: HttpConnection) -> None:
    server.script(Scripted([], silent=True, hang=True))
    asking = asyncio.create_task(connection.send(HttpRequest("GET", "h", "/", [])))
    await asyncio.sleep(0)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert await asyncio.to_thread(server.gone.wait, 10)
    assert not connection.is_usable


async def test_job_limiter_bounds_concurrency() -> None:
    running = 0
    seen: list[int] = []

    async def here(job):  # type: ignore[no-untyped-def]
        nonlocal running
        running += 1
        seen.append(running)
        await asyncio.sleep(0)
        running -= 1
        return await job()

    async def job() -> int:
        return 7

    limiter = JobLimiter(here, 2, 1.0, lambda jobs: 0.1 * jobs)
    waiting = [asyncio.create_task(limiter(job)) for _ in range(50)]
    ahead = [limiter.start_early(asyncio.sleep(0)) for _ in range(2)]
    assert not limiter.has_spare_capacity
    await asyncio.sleep(0)
    assert limiter.is_overloaded  # fifty jobs, each estimated at a tenth of a second
    assert await asyncio.gather(*waiting) == [7] * 50
    await asyncio.gather(*ahead)
    assert max(seen) == 2
    assert (limiter.has_spare_capacity, limiter.is_overloaded) == (True, False)


async def test_streams_are_not_verified_while_the_server_has_too_much_to_do() -> None:
    admission = Admission(10, clock=iter(range(5, 100, 5)).__next__)
    limiter = JobLimiter(run_inline, 2, 1.0, admission.wait_with)
    with admission.admitted():
        pass  # took five seconds, which is the estimate for the next ones
    assert not limiter.is_overloaded
    with admission.admitted():
        assert limiter.is_overloaded
