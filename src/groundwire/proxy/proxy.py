"""The proxy itself: a request goes to its upstream, and the answer comes back with what was found out."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

from starlette.requests import Request
from starlette.types import Send

from groundwire.errors import InputError
from groundwire.proxy import chat, responses
from groundwire.proxy.documents import Document
from groundwire.proxy.evidence import FIELD, Evidence, given_sources
from groundwire.proxy.flow import Flow
from groundwire.proxy.headers import Wish, wish
from groundwire.proxy.listing import all_models
from groundwire.proxy.protocol import Spoken
from groundwire.proxy.telling import JSON, failed, object_in, relayed, streamed, told_whole, whole
from groundwire.proxy.upstream import Answer, Broken, Call, Target, Unreachable, Upstreams, error_body
from groundwire.proxy.verifier import Asked, Keep, Turns, Watch
from groundwire.server.reports import keep
from groundwire.types import HallucinationReport

if TYPE_CHECKING:
    from groundwire.server.service import Service

SPOKEN: Mapping[str, Spoken] = {"chat/completions": chat, "responses": responses}
AT_ONCE = 4
"""So many jobs of streams are with the engine at a time; the others wait their turn."""
_ROOT = len("/v1/")
_LARGE = 200_000
_STREAM, _WHOLE = "text/event-stream", "application/json"
_log = logging.getLogger("groundwire.proxy")


@dataclass(frozen=True, slots=True)
class Routed:
    """A request on its way: to whom, with which body, and which sources were given beside it."""

    target: Target
    body: bytes
    given: Sequence[Document] = ()


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request and the way back to who asked it. `spoken` is None where nothing is to be judged."""

    request: Request
    send: Send
    wanted: Wish
    spoken: Spoken | None
    routed: Routed


class Proxying:
    """Lives as long as the server, on the loop that speaks HTTP."""

    def __init__(self, held: Service) -> None:
        from prometheus_client import Counter

        self._held = held
        self._turns = Turns(held.work, AT_ONCE, held.config.proxy.report_timeout)
        self.upstreams = Upstreams(held.config.proxy)
        self._later: set[asyncio.Task[None]] = set()
        self._answers = Counter(
            "groundwire_proxy_answers", "Verified or not", ["mode", "status"], registry=held.metrics.registry
        )

    async def answer(self, request: Request, send: Send) -> None:
        """Answer one request; what goes wrong before the first byte is told in OpenAI's words."""
        try:
            await self._answer(request, send)
        except InputError as error:
            await failed(send, 400, error_body(str(error), "invalid_request_error", "groundwire"))
        except Unreachable as error:
            _log.warning("%s", error)
            await failed(send, error.status, error_body(error.message, "upstream_error", error.code))
        except Broken as error:
            # Leaving the answer unfinished closes the connection: the client sees what we saw.
            _log.warning("%s", error)

    async def aclose(self) -> None:
        for task in self._later:
            task.cancel()
        await asyncio.gather(*self._later, return_exceptions=True)
        await self.upstreams.aclose()

    async def _answer(self, request: Request, send: Send) -> None:
        headers = request.scope["headers"]
        wanted = wish(headers, self._held.config.proxy.mode)
        path = (request.scope.get("raw_path") or quote(request.url.path).encode()).decode("latin-1")[_ROOT:]
        spoken = SPOKEN.get(path.rstrip("/")) if request.method == "POST" else None
        body = await request.body()
        aside = len(body) > _LARGE  # reading it would hold up everybody's streams
        routing = (body, wanted, spoken is not None)
        routed = await asyncio.to_thread(self._routed, *routing) if aside else self._routed(*routing)
        verify = spoken if wanted.mode != "off" else None
        query = request.scope["query_string"]
        call = Call(request.method, path, query, headers, routed.body, plain=verify is not None)
        if path.rstrip("/") == "models" and len(self.upstreams.targets) > 1 and not wanted.upstream:
            await whole(send, 200, JSON, await all_models(self.upstreams, call))
            return
        target, call = self._named(path, wanted, routed.target, call)
        async with self.upstreams.opened(target, call) as answer:
            await self._passed(Exchange(request, send, wanted, verify, routed), answer)

    def _routed(self, body: bytes, wanted: Wish, extensible: bool) -> Routed:
        """Reads a body only where it must: what is not read cannot be changed by mistake."""
        extended = extensible and f'"{FIELD}"'.encode() in body
        found = object_in(body) if extended or self.upstreams.names_one(body) else None
        model = found.get("model") if found is not None else ""
        named = model if isinstance(model, str) else ""
        target, called = self.upstreams.choose(named, wanted.upstream)
        if found is None or not ((extended and FIELD in found) or called != named):
            return Routed(target, body)
        given = given_sources(found.pop(FIELD)) if extended and FIELD in found else []
        changed = {**found, "model": called} if "model" in found and called != named else found
        return Routed(target, json.dumps(changed).encode(), given)

    def _named(self, path: str, wanted: Wish, target: Target, call: Call) -> tuple[Target, Call]:
        """`/v1/models/name/model` goes to the upstream of that name, as `/v1/models/model`."""
        if not path.startswith("models/"):
            return target, call
        named = unquote(path.removeprefix("models/"))
        chosen, model = self.upstreams.choose(named, wanted.upstream)
        return (target, call) if model == named else (chosen, replace(call, path=f"models/{quote(model)}"))

    async def _passed(self, exchange: Exchange, answer: Answer) -> None:
        kind = answer.head.get(b"content-type").partition(";")[0].strip()
        spoken, readable = exchange.spoken, answer.head.status == 200 and answer.is_readable
        if spoken is None or not readable or kind not in (_STREAM, _WHOLE):
            await relayed(exchange.send, answer)
            return
        asked = Asked(spoken, exchange.routed.body, exchange.routed.given)
        watch = Watch(self._held, self._turns, asked, exchange.wanted.mode, self._kept(exchange.request))
        complete = False
        try:
            if kind == _WHOLE:
                await told_whole(exchange.send, answer, watch, spoken)
            else:
                flow = Flow(answer.plain(), spoken, watch, exchange.wanted.event)
                await streamed(exchange.send, answer, flow, exchange.wanted.mode)
                complete = True
        finally:
            self._settle(watch, complete=complete)

    def _settle(self, watch: Watch, *, complete: bool) -> None:
        """Count what was found out. Where nobody waited for that, it is done behind his back."""
        if watch.found is not None:
            self._answers.labels(watch.found.mode, watch.found.state.value).inc()
        if watch.found is not None or not complete:
            watch.cancel()
            return
        task = asyncio.create_task(self._found_out(watch))
        self._later.add(task)
        task.add_done_callback(self._later.discard)

    async def _found_out(self, watch: Watch) -> None:
        try:
            await watch.outcome()
        finally:
            self._settle(watch, complete=False)

    def _kept(self, request: Request) -> Keep:
        """Reports are kept as those of every other door are, unless the caller says no."""

        def kept(report: HallucinationReport, found: Evidence) -> str:
            sources, question, history = found.sources, found.question, found.history
            return keep(
                self._held, report, request, sources=sources, question=question, history=history, kind="proxy"
            )

        return kept
