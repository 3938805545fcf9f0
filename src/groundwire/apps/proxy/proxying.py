"""The proxy itself: a request goes to its upstream, and the answer comes back with what was found out."""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.types import Send

from groundwire.apps.proxy import chat, responses
from groundwire.apps.proxy.documents import Document
from groundwire.apps.proxy.evidence import FIELD, Evidence, given_sources
from groundwire.apps.proxy.flow import Broken, Flow
from groundwire.apps.proxy.headers import Wish, own, to_client, wish
from groundwire.apps.proxy.listing import all_models
from groundwire.apps.proxy.modes import MODES
from groundwire.apps.proxy.outcome import State
from groundwire.apps.proxy.protocol import Json, Spoken
from groundwire.apps.proxy.upstream import Call, Target, Unreachable, Upstreams, error_body
from groundwire.apps.proxy.watch import Asked, Watch
from groundwire.apps.proxy.whole import judged
from groundwire.apps.server.keeping import keep
from groundwire.errors import InputError
from groundwire.monitor.incremental import Lane
from groundwire.types import HallucinationReport

if TYPE_CHECKING:
    import httpx

    from groundwire.apps.server.service import Service

SPOKEN: Mapping[str, Spoken] = {"chat/completions": chat, "responses": responses}
AT_ONCE = 4
"""So many jobs of streams are with the engine at a time; the others wait their turn."""
_ROOT = len("/v1/")
_log = logging.getLogger("groundwire.proxy")


@dataclass(frozen=True, slots=True)
class Routed:
    """A request on its way: to whom, with which body, and which sources were given beside it."""

    target: Target
    body: bytes
    given: Sequence[Document] = ()


class Proxying:
    """Lives as long as the server, on the loop that speaks HTTP."""

    def __init__(self, held: Service) -> None:
        self._held = held
        self._lane = Lane(held.work, AT_ONCE)
        self.upstreams = Upstreams(held.config.proxy)

    async def answer(self, request: Request, send: Send) -> None:
        """Answer one request; what goes wrong before the first byte is told in OpenAI's words."""
        try:
            await self._answer(request, send)
        except InputError as error:
            await _fail(send, 400, error_body(str(error), "invalid_request_error", "groundwire"))
        except Unreachable as error:
            _log.warning("%s", error)
            await _fail(send, error.status, error_body(error.message, "upstream_error", error.code))
        except Broken as error:
            # Leaving the answer unfinished closes the connection: the client sees what we saw.
            _log.warning("%s", error)

    async def aclose(self) -> None:
        await self.upstreams.aclose()

    async def _answer(self, request: Request, send: Send) -> None:
        raw = request.scope["headers"]
        wanted = wish(raw, self._held.config.proxy.mode)
        path = request.scope.get("raw_path", request.url.path.encode()).decode("latin-1")[_ROOT:]
        spoken = SPOKEN.get(path.rstrip("/")) if request.method == "POST" else None
        routed = self._routed(await request.body(), wanted, spoken)
        verify = spoken if wanted.mode != "off" else None
        query = request.scope["query_string"]
        call = Call(request.method, path, query, raw, routed.body, plain=verify is not None)
        if path.rstrip("/") == "models" and len(self.upstreams.targets) > 1 and not wanted.upstream:
            await _whole(
                send, 200, [(b"content-type", b"application/json")], await all_models(self.upstreams, call)
            )
            return
        if path.startswith("models/"):
            target, model = self.upstreams.choose(path.removeprefix("models/"), wanted.upstream)
            routed, call = replace(routed, target=target), replace(call, path=f"models/{model}")
        async with self.upstreams.opened(routed.target, call) as answer:
            await self._passed(request, send, answer, verify, routed, wanted)

    def _routed(self, body: bytes, wanted: Wish, spoken: Spoken | None) -> Routed:
        """Reads a body only where it must: what is not read cannot be changed by mistake."""
        extended = spoken is not None and f'"{FIELD}"'.encode() in body
        if not extended and not self.upstreams.names_one(body):
            return Routed(self.upstreams.choose("", wanted.upstream)[0], body)
        found = _object(body)
        if found is None:
            return Routed(self.upstreams.choose("", wanted.upstream)[0], body)
        given = given_sources(found.pop(FIELD)) if extended and FIELD in found else []
        model = found.get("model")
        target, called = self.upstreams.choose(model if isinstance(model, str) else "", wanted.upstream)
        if isinstance(model, str):
            found["model"] = called
        return Routed(target, json.dumps(found).encode(), given)

    async def _passed(
        self,
        request: Request,
        send: Send,
        answer: httpx.Response,
        spoken: Spoken | None,
        routed: Routed,
        wanted: Wish,
    ) -> None:
        kind = answer.headers.get("content-type", "").partition(";")[0].strip().lower()
        if (
            spoken is None
            or answer.status_code != 200
            or kind not in ("text/event-stream", "application/json")
        ):
            await _relayed(send, answer)
            return
        watch = Watch(
            self._held,
            self._lane,
            Asked(spoken, routed.body, routed.given),
            wanted.mode,
            self._keeping(request),
        )
        try:
            if kind == "application/json":
                await self._told_whole(send, answer, watch, spoken)
            else:
                flow = Flow(_chunks(answer), spoken, watch, wanted.event)
                await _streamed(send, answer, flow, wanted)
        finally:
            watch.cancel()

    def _keeping(self, request: Request):  # type: ignore[no-untyped-def]
        def kept(report: HallucinationReport, found: Evidence) -> str:
            return keep(
                self._held,
                report,
                request,
                sources=found.sources,
                question=found.question,
                history=found.history,
                kind="proxy",
            )

        return kept

    async def _told_whole(self, send: Send, answer: httpx.Response, watch: Watch, spoken: Spoken) -> None:
        content = await _content(answer)
        found = _object(content)
        if found is None:
            await _whole(send, 200, to_client(answer.headers.raw, decoded=_is_encoded(answer)), content)
            return
        outcome, changed = await judged(found, watch, spoken)
        body = (
            content if changed is None else json.dumps(changed, ensure_ascii=False).encode("utf-8", "replace")
        )
        headers = to_client(answer.headers.raw, changed=changed is not None, decoded=_is_encoded(answer))
        await _whole(send, 200, [*headers, *own(outcome.figures)], body)


async def _streamed(send: Send, answer: httpx.Response, flow: Flow, wanted: Wish) -> None:
    headers = to_client(answer.headers.raw, changed=True, decoded=_is_encoded(answer))
    told = own({"mode": wanted.mode, "status": State.PENDING.value})
    await _begin(send, answer.status_code, [*headers, *told, (b"x-accel-buffering", b"no")])
    async with aclosing(MODES[wanted.mode](flow)) as pieces:  # type: ignore[type-var]
        async for piece in pieces:
            if piece:
                await send({"type": "http.response.body", "body": piece, "more_body": True})
    await send({"type": "http.response.body", "body": b""})


async def _relayed(send: Send, answer: httpx.Response) -> None:
    """What is not ours to judge, exactly as it is."""
    await _begin(send, answer.status_code, to_client(answer.headers.raw))
    async for chunk in _chunks(answer, raw=True):
        await send({"type": "http.response.body", "body": chunk, "more_body": True})
    await send({"type": "http.response.body", "body": b""})


async def _chunks(answer: httpx.Response, *, raw: bool = False) -> AsyncIterator[bytes]:
    """The upstream's bytes as they come, unpacked where it packed them against our wish."""
    import httpx

    try:
        async for chunk in answer.aiter_raw() if raw or not _is_encoded(answer) else answer.aiter_bytes():
            yield chunk
    except httpx.TimeoutException as error:
        raise Broken("the upstream fell silent in the middle of its answer") from error
    except httpx.RequestError as error:
        raise Broken("the upstream broke off in the middle of its answer") from error


async def _content(answer: httpx.Response) -> bytes:
    pieces = [chunk async for chunk in _collected(answer)]
    return b"".join(pieces)


async def _collected(answer: httpx.Response) -> AsyncIterator[bytes]:
    try:
        async for chunk in _chunks(answer):
            yield chunk
    except Broken as error:
        raise Unreachable(502, str(error), "broken_off") from error


def _is_encoded(answer: httpx.Response) -> bool:
    return answer.headers.get("content-encoding", "identity").strip().lower() not in ("", "identity")


def _object(body: bytes) -> Json | None:
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


async def _fail(send: Send, status: int, body: bytes) -> None:
    await _whole(send, status, [(b"content-type", b"application/json")], body)


async def _whole(send: Send, status: int, headers: list[tuple[bytes, bytes]], body: bytes) -> None:
    kept = [(name, value) for name, value in headers if name != b"content-length"]
    await _begin(send, status, [*kept, (b"content-length", str(len(body)).encode())])
    await send({"type": "http.response.body", "body": body})


async def _begin(send: Send, status: int, headers: list[tuple[bytes, bytes]]) -> None:
    await send({"type": "http.response.start", "status": status, "headers": headers})
