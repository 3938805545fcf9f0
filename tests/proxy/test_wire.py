"""The connection to an upstream, by itself."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator

import pytest
from tests.proxy.scripted import Scripted, ScriptedUpstream, scripted

from groundwire.proxy.verifier import Turns
from groundwire.proxy.wire import Pool, Request, Wire, WireError, WireTimeout


@pytest.fixture
def server() -> Iterator[ScriptedUpstream]:
    with scripted() as running:
        yield running


@pytest.fixture
async def wire(server: ScriptedUpstream) -> AsyncIterator[Wire]:
    port = int(server.url.rpartition(":")[2].partition("/")[0])
    _, made = await asyncio.get_running_loop().create_connection(Wire, "127.0.0.1", port)
    yield made
    made.close()
    await asyncio.sleep(0)  # the loop closes its socket one turn later


async def fetched(wire: Wire, method: str = "GET", read_timeout: float = 10.0) -> tuple[int, bytes]:
    request = Request(method, "h", "/x", [(b"a", b"b")], b"", read_timeout)
    head = await wire.send(request)
    return head.status, b"".join([piece async for piece in wire.body()])


async def test_an_answer_and_another_on_the_same_connection(server: ScriptedUpstream, wire: Wire) -> None:
    server.script(Scripted([b"one", b"two"]), Scripted([b"three"]))
    pool = Pool()
    assert await fetched(wire) == (200, b"onetwo")
    assert wire.release()
    pool.give(("http", "h", 1), wire)
    assert pool.take(("http", "h", 1)) is wire
    assert pool.take(("http", "h", 1)) is None
    assert await fetched(wire) == (200, b"three")
    assert server.calls[0].headers == {"host": "h", "a": "b"}


async def test_silence_on_a_used_connection_is_no_reason_to_ask_twice(
    server: ScriptedUpstream, wire: Wire
) -> None:
    server.script(Scripted([b"one"]), Scripted([], silent=True, hang=True))
    await fetched(wire)
    assert wire.release()
    with pytest.raises(WireTimeout) as caught:
        await fetched(wire, "POST", read_timeout=0.05)
    assert not caught.value.untouched


async def test_early_hints_are_no_answer(server: ScriptedUpstream, wire: Wire) -> None:
    hints = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n"
    rest = b"HTTP/1.1 201 Made\r\ncontent-length: 2\r\n\r\nok"
    server.script(Scripted([hints, rest], silent=True, chunked=False, hang=True))
    head = await wire.send(Request("GET", "h", "/", []))
    assert (head.status, head.headers) == (201, ((b"content-length", b"2"),))
    assert b"".join([piece async for piece in wire.body()]) == b"ok"


async def test_a_head_alone_is_not_waited_for(server: ScriptedUpstream, wire: Wire) -> None:
    server.script(Scripted([], headers=[("content-length", "9")], chunked=False, hang=True))
    assert await fetched(wire, "HEAD") == (200, b"")
    assert not wire.release()


@pytest.mark.parametrize("headers", [[("content-length", "99")], [("transfer-encoding", "chunked")]])
async def test_a_body_that_lacks_something_is_an_error(
    server: ScriptedUpstream, wire: Wire, headers: list[tuple[str, str]]
) -> None:
    server.script(Scripted([b"4\r\nabcd\r\n"], headers=headers, chunked=False, cut=True))
    with pytest.raises(WireError):
        await fetched(wire)


async def test_silence_is_noticed(server: ScriptedUpstream, wire: Wire) -> None:
    server.script(Scripted([b"x"], hang=True))
    with pytest.raises(WireTimeout):
        await fetched(wire, read_timeout=0.05)
    assert await asyncio.to_thread(server.gone.wait, 10)


async def test_who_speaks_without_being_asked_is_not_used_again(server: ScriptedUpstream, wire: Wire) -> None:
    twice = b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\nx" * 2
    server.script(Scripted([twice], silent=True, chunked=False, hang=True))
    assert await fetched(wire) == (200, b"x")
    assert not wire.release()


async def test_a_request_that_is_given_up_ends_its_connection(server: ScriptedUpstream, wire: Wire) -> None:
    server.script(Scripted([], silent=True, hang=True))
    asking = asyncio.create_task(wire.send(Request("GET", "h", "/", [])))
    await asyncio.sleep(0)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert await asyncio.to_thread(server.gone.wait, 10)
    assert not wire.is_free


async def test_turns_are_taken_a_few_at_a_time() -> None:
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

    turns = Turns(here, 2, 1.0)
    waiting = [asyncio.create_task(turns(job)) for _ in range(50)]
    ahead = [turns.go_ahead(asyncio.sleep(0)) for _ in range(2)]
    assert not turns.may_go_ahead
    await asyncio.sleep(0)
    assert turns.is_full  # fifty jobs of the tenth of a second that each is taken to last
    assert await asyncio.gather(*waiting) == [7] * 50
    await asyncio.gather(*ahead)
    assert max(seen) == 2
    assert (turns.may_go_ahead, turns.is_full) == (True, False)
