"""The proxy: forward a request to its upstream, and return the answer with the result of its verification."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import get_args
from urllib.parse import quote, unquote

from starlette.requests import Request
from starlette.types import Send

from groundwire.errors import InputError
from groundwire.proxy.dialects import DIALECTS, ApiDialect, Json
from groundwire.proxy.evidence import SOURCES_FIELD, RequestEvidence, parse_sources, read_request
from groundwire.proxy.modes import STREAM_MODES, UpstreamStream, rewrite_answer
from groundwire.proxy.upstream import (
    PREFIX,
    RELAYED_CSP,
    HeaderPairs,
    Upstream,
    UpstreamDisconnected,
    UpstreamRequest,
    UpstreamResponse,
    Upstreams,
    UpstreamUnavailable,
    client_headers,
    error_body,
    groundwire_headers,
)
from groundwire.proxy.verifier import JobLimiter, Mode, ProxyService, StreamVerifier, VerificationState, parse_object
from groundwire.types import HallucinationReport, Source

MODES: tuple[Mode, ...] = get_args(Mode)
MODE_HEADER, EVENT_HEADER, UPSTREAM_HEADER = PREFIX, PREFIX + b"-event", PREFIX + b"-upstream"
RESPONSE_MODE_HEADER = PREFIX + b"-mode"  # of responses; in a request it is an alias of MODE_HEADER
MAX_CONCURRENT_JOBS = 4  # jobs of all streams that are with the engine at a time
_LARGE_BODY = 200_000  # bytes; parsing more takes milliseconds and goes to a thread
_API_ROOT = "/v1/"
_STREAM_TYPE, _JSON_TYPE = "text/event-stream", "application/json"
_JSON_HEADERS: HeaderPairs = ((b"content-type", _JSON_TYPE.encode()),)
_log = logging.getLogger("groundwire.proxy")


@dataclass(frozen=True, slots=True)
class ProxyOptions:
    """Per-request options from headers; `event` asks for the report event at the end of a stream."""

    mode: Mode
    event: bool = True
    upstream: str = ""


def parse_options(headers: HeaderPairs, default: Mode) -> ProxyOptions:
    """Read the options strictly: a misspelt mode must not silently become the default one."""
    values = {name: value.decode("latin-1").strip() for name, value in headers}
    mode = values.get(MODE_HEADER, values.get(RESPONSE_MODE_HEADER, default)).lower()
    event = values.get(EVENT_HEADER, "on").lower()
    if mode not in MODES:
        raise InputError(f"invalid x-groundwire header {mode[:40]!r}", hint=f"use one of {', '.join(MODES)}")
    if event not in ("on", "off"):
        raise InputError(f"invalid x-groundwire-event header {event[:40]!r}", hint="use on or off")
    return ProxyOptions(MODES[MODES.index(mode)], event == "on", values.get(UPSTREAM_HEADER, ""))


@dataclass(frozen=True, slots=True)
class RoutedRequest:
    """A request's upstream, its body as forwarded, and the sources that were removed from it."""

    upstream: Upstream
    options: ProxyOptions
    dialect: ApiDialect | None
    body: bytes
    given: Sequence[Source] = ()

    @property
    def is_verified(self) -> bool:
        return self.dialect is not None and self.options.mode != "off"

    def extract_evidence(self) -> RequestEvidence:
        body = parse_object(self.body)
        return RequestEvidence() if body is None else read_request(body, self.given)


class Proxy:
    """Lives as long as the server, on the event loop that serves HTTP."""

    def __init__(self, service: ProxyService, store_report: Callable[..., str]) -> None:
        from prometheus_client import Counter

        self._service = service
        self._store_report = store_report
        timeout = service.config.proxy.report_timeout
        self._limiter = JobLimiter(service.work, MAX_CONCURRENT_JOBS, timeout, service.wait_with)
        self.upstreams = Upstreams(service.config.proxy)
        self._background: set[asyncio.Task[None]] = set()
        self._answers = Counter(
            "groundwire_proxy_answers", "Verified or not", ["mode", "status"], registry=service.metrics.registry
        )

    async def answer(self, request: Request, send: Send) -> None:
        """Answer one request. Failures before the first byte become OpenAI-style errors."""
        try:
            await self._answer(request, send)
        except InputError as error:
            body = error_body(str(error), "invalid_request_error", "groundwire")
            await _send_body(send, 400, _JSON_HEADERS, body)
        except UpstreamUnavailable as error:
            _log.warning("%s", error)
            body = error_body(error.message, "upstream_error", error.code)
            await _send_body(send, error.status, _JSON_HEADERS, body)
        except UpstreamDisconnected as error:
            # An unfinished response closes the connection, so the client sees what we saw.
            _log.warning("%s", error)

    async def aclose(self) -> None:
        for task in self._background:
            task.cancel()
        await asyncio.gather(*self._background, return_exceptions=True)
        await self.upstreams.aclose()

    async def _answer(self, request: Request, send: Send) -> None:
        headers = request.scope["headers"]
        options = parse_options(headers, self._service.config.proxy.mode)
        raw_path = request.scope.get("raw_path") or quote(request.url.path).encode()
        path = raw_path.decode("latin-1")[len(_API_ROOT) :]
        dialect = DIALECTS.get(path.rstrip("/")) if request.method == "POST" else None
        body = await request.body()
        if len(body) > _LARGE_BODY:
            routed = await asyncio.to_thread(self._route, body, options, dialect)
        else:
            routed = self._route(body, options, dialect)
        query = request.scope["query_string"]
        forwarded = UpstreamRequest(request.method, path, query, headers, routed.body, plain=routed.is_verified)
        if path.rstrip("/") == "models" and len(self.upstreams.by_name) > 1 and not options.upstream:
            await _send_body(send, 200, _JSON_HEADERS, await _list_all_models(self.upstreams, forwarded))
            return
        upstream, forwarded = self._route_model_path(options, routed.upstream, forwarded)
        async with self.upstreams.open(upstream, forwarded) as response:
            await self._respond(request, send, routed, response)

    def _route(self, body: bytes, options: ProxyOptions, dialect: ApiDialect | None) -> RoutedRequest:
        """Choose the upstream. The body is only parsed if it must be, and otherwise forwarded unchanged."""
        has_sources = dialect is not None and f'"{SOURCES_FIELD}"'.encode() in body
        must_parse = has_sources or self.upstreams.may_name_upstream(body)
        parsed = parse_object(body) if must_parse else None
        model = (parsed or {}).get("model")
        model = model if isinstance(model, str) else ""
        upstream, upstream_model = self.upstreams.choose(model, options.upstream)
        if parsed is None or not ((has_sources and SOURCES_FIELD in parsed) or upstream_model != model):
            return RoutedRequest(upstream, options, dialect, body)
        given = parse_sources(parsed.pop(SOURCES_FIELD)) if has_sources and SOURCES_FIELD in parsed else []
        if "model" in parsed and upstream_model != model:
            parsed["model"] = upstream_model
        return RoutedRequest(upstream, options, dialect, json.dumps(parsed).encode(), given)

    def _route_model_path(
        self, options: ProxyOptions, upstream: Upstream, request: UpstreamRequest
    ) -> tuple[Upstream, UpstreamRequest]:
        """Send `/v1/models/UPSTREAM/MODEL` to that upstream as `/v1/models/MODEL`."""
        if not request.path.startswith("models/"):
            return upstream, request
        named = unquote(request.path.removeprefix("models/"))
        chosen, model = self.upstreams.choose(named, options.upstream)
        if model == named:
            return upstream, request
        return chosen, replace(request, path=f"models/{quote(model)}")

    async def _respond(self, request: Request, send: Send, routed: RoutedRequest, response: UpstreamResponse) -> None:
        content_type = response.head.get(b"content-type").partition(";")[0].strip()
        dialect, options = routed.dialect, routed.options
        verifiable = routed.is_verified and response.head.status == 200 and response.is_decodable
        if dialect is None or not verifiable or content_type not in (_STREAM_TYPE, _JSON_TYPE):
            await _relay(send, response)
            return

        def store(report: HallucinationReport, evidence: RequestEvidence) -> str:
            return self._store_report(
                report,
                request,
                sources=evidence.sources,
                question=evidence.question,
                history=evidence.history,
                kind="proxy",
            )

        extract, size = routed.extract_evidence, len(routed.body)
        verifier = StreamVerifier(self._service, self._limiter, dialect, extract, size, options.mode, store)
        complete = False
        try:
            if content_type == _JSON_TYPE:
                await _send_json(send, response, verifier, dialect)
            else:
                stream = UpstreamStream(response.decoded(), dialect, verifier, options.event)
                await _send_stream(send, response, stream, options)
                complete = True
        finally:
            self._finish(verifier, complete=complete)

    def _finish(self, verifier: StreamVerifier, *, complete: bool) -> None:
        """Record metrics. If the client did not wait for the report, finish it in the background."""
        if verifier.outcome is not None:
            self._answers.labels(verifier.outcome.mode, verifier.outcome.state.value).inc()
        if verifier.outcome is not None or not complete:
            verifier.cancel()
            return

        async def finish() -> None:
            try:
                await verifier.finish()
            finally:
                self._finish(verifier, complete=False)

        task = asyncio.create_task(finish())
        self._background.add(task)
        task.add_done_callback(self._background.discard)


async def _list_all_models(upstreams: Upstreams, request: UpstreamRequest) -> bytes:
    """Merge `/v1/models` of all upstreams; all but the first one's models are prefixed with its name."""
    targets = list(upstreams.by_name.values())
    answers = await asyncio.gather(*(_list_models(upstreams, upstream, request) for upstream in targets))
    failed = [answer for answer in answers if isinstance(answer, UpstreamUnavailable)]
    if len(failed) == len(targets):
        raise failed[0]
    found: list[Json] = []
    for number, (upstream, models) in enumerate(zip(targets, answers, strict=True)):
        if isinstance(models, UpstreamUnavailable):
            _log.warning("%s", models)
            continue
        found += [{**model, "id": f"{upstream.name}/{model['id']}"} if number else model for model in models]
    return json.dumps({"object": "list", "data": found}).encode()


async def _list_models(
    upstreams: Upstreams, upstream: Upstream, request: UpstreamRequest
) -> list[Json] | UpstreamUnavailable:
    unusable = UpstreamUnavailable(502, f"upstream {upstream.name!r} returned no list of models", "no_models")
    try:
        async with upstreams.open(upstream, request) as response:
            content = await response.read()
            if response.head.status != 200:
                return unusable
            data = json.loads(content)["data"]
            return [model for model in data if isinstance(model, dict) and "id" in model]
    except UpstreamUnavailable as error:
        return error
    except (ValueError, KeyError, TypeError):
        return unusable


async def _relay(send: Send, response: UpstreamResponse) -> None:
    """Send a response that is not verified, unchanged."""
    await _send_head(send, response.head.status, client_headers(response.head.headers))
    async for chunk in response.raw():
        await send({"type": "http.response.body", "body": chunk, "more_body": True})
    await send({"type": "http.response.body", "body": b""})


async def _send_stream(send: Send, response: UpstreamResponse, stream: UpstreamStream, options: ProxyOptions) -> None:
    headers = client_headers(response.head.headers, changed=True, decoded=bool(response.encoding))
    headers += groundwire_headers({"mode": options.mode, "status": VerificationState.PENDING.value})
    # nginx would otherwise collect the stream before it sends it on.
    await _send_head(send, response.head.status, [*headers, (b"x-accel-buffering", b"no")])
    async with aclosing(STREAM_MODES[options.mode](stream)) as chunks:
        async for chunk in chunks:
            if chunk:
                await send({"type": "http.response.body", "body": chunk, "more_body": True})
    await send({"type": "http.response.body", "body": b""})


async def _send_json(send: Send, response: UpstreamResponse, verifier: StreamVerifier, dialect: ApiDialect) -> None:
    """Send a complete answer with the result of its verification in the headers."""
    content = await response.read()
    answer = parse_object(content)
    decoded = bool(response.encoding)
    if answer is None:
        await _send_body(send, 200, client_headers(response.head.headers, decoded=decoded), content)
        return
    outcome, rewritten = await rewrite_answer(answer, verifier, dialect)
    if rewritten is not None:
        content = json.dumps(rewritten, ensure_ascii=False).encode("utf-8", "replace")
    headers = client_headers(response.head.headers, changed=rewritten is not None, decoded=decoded)
    await _send_body(send, 200, [*headers, *groundwire_headers(outcome.header_values)], content)


async def _send_body(send: Send, status: int, headers: HeaderPairs, body: bytes) -> None:
    rest = [(name, value) for name, value in headers if name != b"content-length"]
    await _send_head(send, status, [*rest, (b"content-length", str(len(body)).encode())])
    await send({"type": "http.response.body", "body": body})


async def _send_head(send: Send, status: int, headers: HeaderPairs) -> None:
    policy = (b"content-security-policy", RELAYED_CSP)
    await send({"type": "http.response.start", "status": status, "headers": [*headers, policy]})
