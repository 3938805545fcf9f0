"""The proxy itself: a request goes to its upstream, and the answer comes back with what was found out."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

from starlette.requests import Request
from starlette.types import Send

from groundwire.apps.proxy import chat, responses
from groundwire.apps.proxy.documents import Document
from groundwire.apps.proxy.evidence import FIELD, Evidence, given_sources
from groundwire.apps.proxy.flow import Flow
from groundwire.apps.proxy.headers import Wish, own, to_client, wish
from groundwire.apps.proxy.listing import all_models
from groundwire.apps.proxy.modes import MODES
from groundwire.apps.proxy.outcome import State
from groundwire.apps.proxy.protocol import Json, Spoken
from groundwire.apps.proxy.turns import Turns
from groundwire.apps.proxy.upstream import Answer, Broken, Call, Target, Unreachable, Upstreams, error_body
from groundwire.apps.proxy.watch import Asked, Watch
from groundwire.apps.proxy.whole import judged
from groundwire.apps.server.keeping import keep
from groundwire.errors import InputError
from groundwire.types import HallucinationReport

if TYPE_CHECKING:
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
        self._turns = Turns(held.work, AT_ONCE, held.config.proxy.report_timeout)
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
            named = unquote(path.removeprefix("models/"))
            target, model = self.upstreams.choose(named, wanted.upstream)
            if model != named:
                routed, call = replace(routed, target=target), replace(call, path=f"models/{quote(model)}")
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
        answer: Answer,
        spoken: Spoken | None,
        routed: Routed,
        wanted: Wish,
    ) -> None:
        kind = answer.head.get(b"content-type").partition(";")[0].strip()
        if (
            spoken is None
            or answer.head.status != 200
            or kind not in ("text/event-stream", "application/json")
            or not answer.is_readable
        ):
            await _relayed(send, answer)
            return
        watch = Watch(
            self._held,
            self._turns,
            Asked(spoken, routed.body, routed.given),
            wanted.mode,
            self._keeping(request),
        )
        try:
            if kind == "application/json":
                await self._told_whole(send, answer, watch, spoken)
            else:
                flow = Flow(answer.plain(), spoken, watch, wanted.event)
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

    async def _told_whole(self, send: Send, answer: Answer, watch: Watch, spoken: Spoken) -> None:
        content = await answer.whole()
        found = _object(content)
        if found is None:
            await _whole(send, 200, to_client(answer.head.headers, decoded=bool(answer.coding)), content)
            return
        outcome, changed = await judged(found, watch, spoken)
        body = (
            content if changed is None else json.dumps(changed, ensure_ascii=False).encode("utf-8", "replace")
        )
        headers = to_client(answer.head.headers, changed=changed is not None, decoded=bool(answer.coding))
        await _whole(send, 200, [*headers, *own(outcome.figures)], body)


async def _streamed(send: Send, answer: Answer, flow: Flow, wanted: Wish) -> None:
    headers = to_client(answer.head.headers, changed=True, decoded=bool(answer.coding))
    told = own({"mode": wanted.mode, "status": State.PENDING.value})
    await _begin(send, answer.head.status, [*headers, *told, (b"x-accel-buffering", b"no")])
    async with aclosing(MODES[wanted.mode](flow)) as pieces:  # type: ignore[type-var]
        async for piece in pieces:
            if piece:
                await send({"type": "http.response.body", "body": piece, "more_body": True})
    await send({"type": "http.response.body", "body": b""})


async def _relayed(send: Send, answer: Answer) -> None:
    """What is not ours to judge, exactly as it is."""
    await _begin(send, answer.head.status, to_client(answer.head.headers))
    async for chunk in answer.raw():
        await send({"type": "http.response.body", "body": chunk, "more_body": True})
    await send({"type": "http.response.body", "body": b""})


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
