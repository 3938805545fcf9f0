"""A client of the HTTP service with the functions of this package: `AsyncClient`, and `Client` for synchronous code.

>>> from groundwire.client import AsyncClient, Client
>>> with Client("http://localhost:8321") as server:
...     server.host
'localhost:8321'
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Self, TypeVar, cast
from urllib.parse import quote

import httpx
from pydantic import SecretStr

from groundwire._loop import PerLoop, run
from groundwire.config import ProfileName
from groundwire.errors import (
    BackendDown,
    BackendError,
    BackendTimeout,
    FactNotGrounded,
    GroundwireError,
    InputError,
    Overloaded,
)
from groundwire.llm.base import Endpoint, retry_after
from groundwire.reports.json import Json, audit_from, claim_from, detection_from, output_from, report_from
from groundwire.requests import History, Sources, as_sources, as_turns
from groundwire.retrieval.select import units
from groundwire.sse import SseFrame, SseParser
from groundwire.types import (
    ClaimVerification,
    Detection,
    Fact,
    HallucinationReport,
    OutputCheck,
    Source,
    Step,
    TraceAudit,
)

if TYPE_CHECKING:
    from groundwire.rag.chatbot import ChatReply
    from groundwire.traces.steps import Steps

__all__ = ["AsyncClient", "ChatEvent", "Client"]

P = ParamSpec("P")
T = TypeVar("T")
Sleep = Callable[[float], Coroutine[Any, Any, None]]
_RETRY_STATUSES = (429, 503)


@dataclass(frozen=True, slots=True)
class ChatEvent:
    """An event of a streamed chat: `sources`, many `token`s, the `answer`, and finally the `check`."""

    kind: str
    data: Mapping[str, Any]


class AsyncClient:
    """A client of a groundwire server. Close it, or use it as a context manager; it may be used on several event loops.

    `timeout` is in seconds and applies to each request. When the server is at capacity (429) or shutting down
    (503), the request is repeated up to `retries` times, as long as the waits that the server asks for add up
    to at most `longest_wait` seconds.
    """

    def __init__(
        self,
        url: str,
        api_key: str | None = None,
        *,
        sleep: Sleep = asyncio.sleep,
        timeout: float = 60.0,
        retries: int = 3,
        longest_wait: float = 30.0,
    ) -> None:
        key = SecretStr(api_key) if api_key else None
        self._endpoint = Endpoint("client", url.rstrip("/"), "", key, timeout)
        self._sleep, self._retries, self._longest_wait = sleep, retries, longest_wait
        self._http = PerLoop(self._open, httpx.AsyncClient.aclose)

    @property
    def host(self) -> str:
        return self._endpoint.host

    async def check(
        self,
        answer: str,
        sources: Sources = (),
        *,
        question: str = "",
        response_id: str = "response",
        fix: bool = False,
        shares: bool = False,
        history: History = (),
        kb: bool = False,
        target: float | None = None,
        profile: ProfileName | None = None,
    ) -> HallucinationReport:
        """Verify every claim of an answer against its sources.

        `history` is the conversation so far; `kb` checks against the server's knowledge base too; `fix` repairs
        the answer; `shares` measures what each source adds. `target` and `profile` override the server's
        settings.
        """
        given = as_sources(sources)
        body = {
            "id": response_id,
            "response": answer,
            "sources": _texts(given),
            "question": question,
            "fix": fix,
            "shares": shares or None,  # left out, so that an older server accepts the request
            "target": target,
            "profile": profile,
            **_context(history, kb),
        }
        return await self._post("/v1/check", partial(_report, answer, given), body)

    async def verify_claim(
        self,
        claim: str,
        evidence: Sources,
        confidence: float | None = None,
        *,
        question: str = "",
        profile: ProfileName | None = None,
    ) -> ClaimVerification:
        """Verify one claim as it is given."""
        given = as_sources(evidence)
        body: dict[str, object] = {"claim": claim, "sources": _texts(given), "question": question}
        body |= {"confidence": confidence, "profile": profile}
        return await self._post("/v1/claims/verify", lambda data: _claims(given, data)[0], body)

    async def verify_claims(
        self, text: str, context: Sources, *, question: str = "", profile: ProfileName | None = None
    ) -> list[ClaimVerification]:
        """Extract the claims of a text and verify each."""
        given = as_sources(context)
        body = {"text": text, "sources": _texts(given), "question": question, "profile": profile}
        return await self._post("/v1/claims/verify", partial(_claims, given), body)

    async def audit_trace(
        self, steps: Steps, question: str | None = None, context: Sources | None = None, answer: str | None = None
    ) -> TraceAudit:
        """Verify each step of a reasoning trace, and whether the answer follows from the steps alone."""
        given = as_sources(context or ())
        trace = {"trace": steps} if isinstance(steps, str) else {"steps": _steps(steps)}
        body = {**trace, "sources": _texts(given), "question": question or "", "answer": answer or ""}
        return await self._post("/v1/traces/audit", partial(_audit, given), body)

    async def detect(
        self, response: str, sources: Sources = (), *, history: History = (), kb: bool = False
    ) -> Detection:
        """Run the eight knowledge detectors, without measuring bits."""
        body = {"response": response, "sources": _texts(as_sources(sources)), **_context(history, kb)}
        return await self._post("/v1/detect", detection_from, body)

    async def remember(self, fact: str, evidence: Sources, *, confidence: float = 0.95, verify: bool = True) -> Fact:
        """Store a fact that its evidence supports; raises `FactNotGrounded` if it does not."""
        body = {"fact": fact, "sources": _texts(as_sources(evidence)), "confidence": confidence, "verify": verify}
        return await self._post("/v1/facts", _fact, body)

    async def facts(self, *, status: str = "", limit: int = 100, after: str = "") -> list[Fact]:
        """List stored facts, newest first; `after` is the id of the last fact of the previous page."""
        query = {"limit": str(limit), "status": status, "after": after}
        given = {name: value for name, value in query.items() if value}
        return await self._get("/v1/facts", lambda data: [_fact(row) for row in data["facts"]], **given)

    async def verify_output(
        self, response: str, sources: Sources = (), *, question: str = "", history: History = (), wait: float = 0.0
    ) -> OutputCheck:
        """Verify an agent's answer against its conversation; the result is pending after `wait` seconds."""
        given = as_sources(sources)
        body = {"response": response, "sources": _texts(given), "question": question, "wait": wait, **_context(history)}
        parse = partial(output_from, response=response, quote=_EvidenceTexts(given))
        return await self._post("/v1/outputs", parse, body)

    async def output(self, identity: str, *, response: str = "", wait: float = 0.0) -> OutputCheck:
        """The result of a pending `verify_output`."""
        parse = partial(output_from, response=response)
        return await self._get(f"/v1/outputs/{quote(identity, safe='')}", parse, wait=str(wait))

    async def chat(self, question: str, *, history: History = (), top_k: int | None = None) -> ChatReply:
        """Answer a question from the server's documents, with a verdict on each claim."""
        body = {"message": question, "top_k": top_k, **_context(history)}
        return await self._post("/v1/rag/chat", lambda data: cast("ChatReply", data), body)

    async def chat_stream(
        self, question: str, *, history: History = (), top_k: int | None = None
    ) -> AsyncGenerator[ChatEvent, None]:
        """Answer a question from the server's documents, as a stream of events."""
        body = {"message": question, "top_k": top_k, **_context(history), "stream": True}
        parser = SseParser()
        try:
            async with self._http.get().stream("POST", "/v1/rag/chat", **_json_body(body)) as response:
                if not response.is_success:
                    await response.aread()
                    raise self._error(response)
                async for chunk in response.aiter_bytes():
                    for found in chat_events(parser.feed(chunk)):
                        if found.kind == "error":
                            raise error_of(found.data.get("status"), found.data, self.host)
                        yield found
        except httpx.HTTPError as error:
            raise self._connection_error(error) from error

    async def report(self, identity: str) -> HallucinationReport | TraceAudit:
        """A stored report; its id is in the response header X-Groundwire-Report."""
        return await self._get(f"/v1/reports/{quote(identity, safe='')}", _stored_report)

    async def health(self) -> Json:
        """The server's status and version."""
        return await self._get("/healthz", dict)

    async def aclose(self) -> None:
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def _get(self, path: str, parse: Callable[[Json], T], **query: str) -> T:
        return await self._send("GET", path, parse, params=query)

    async def _post(self, path: str, parse: Callable[[Json], T], body: Mapping[str, object]) -> T:
        return await self._send("POST", path, parse, **_json_body(body))

    async def _send(self, method: str, path: str, parse: Callable[[Json], T], **request: Any) -> T:
        left = self._longest_wait
        for retries in range(self._retries, -1, -1):
            try:
                response = await self._http.get().request(method, path, **request)
            except httpx.HTTPError as error:
                raise self._connection_error(error) from error
            wait = retry_after(response.headers) if response.status_code in _RETRY_STATUSES else None
            if wait is None or wait > left or not retries:
                break
            left -= wait
            await self._sleep(wait)
        if not response.is_success:
            raise self._error(response)
        try:
            return parse(_object(response.content))
        except (ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
            hint = "is it a groundwire server, and of this release?"
            raise BackendDown(f"unexpected response of {self.host} to {path}", hint=hint) from error

    def _open(self) -> httpx.AsyncClient:
        key = self._endpoint.api_key.get_secret_value() if self._endpoint.api_key else ""
        return httpx.AsyncClient(
            base_url=self._endpoint.base_url,
            timeout=self._endpoint.timeout,
            headers={"authorization": f"Bearer {key}"} if key else {},
            trust_env=not self._endpoint.is_loopback,
        )

    def _error(self, response: httpx.Response) -> GroundwireError:
        try:
            problem = _object(response.content)
        except ValueError:
            problem = {}
        return error_of(response.status_code, problem, self.host, retry_after(response.headers))

    def _connection_error(self, error: httpx.HTTPError) -> BackendError:
        if isinstance(error, httpx.TimeoutException):
            return BackendTimeout(f"{self.host} did not answer within {self._endpoint.timeout:g} s")
        why = self._endpoint.public(str(error) or type(error).__name__)
        return BackendDown(f"cannot reach {self.host}, or the connection was lost", hint=why, retryable=True)


def _sync(method: Callable[Concatenate[AsyncClient, P], Coroutine[Any, Any, T]]) -> Callable[Concatenate[Client, P], T]:
    """A method of `Client` from the one of `AsyncClient`, whose signature `help()` shows."""

    @wraps(method)
    def call(self: Client, /, *args: P.args, **named: P.kwargs) -> T:
        return run(method(self._client, *args, **named))

    return call


class Client:
    """`AsyncClient` for synchronous code, with the same options. Thread-safe; close it, or use it in a `with` block."""

    check = _sync(AsyncClient.check)
    verify_claim = _sync(AsyncClient.verify_claim)
    verify_claims = _sync(AsyncClient.verify_claims)
    audit_trace = _sync(AsyncClient.audit_trace)
    detect = _sync(AsyncClient.detect)
    remember = _sync(AsyncClient.remember)
    facts = _sync(AsyncClient.facts)
    verify_output = _sync(AsyncClient.verify_output)
    output = _sync(AsyncClient.output)
    chat = _sync(AsyncClient.chat)
    report = _sync(AsyncClient.report)
    health = _sync(AsyncClient.health)
    close = _sync(AsyncClient.aclose)

    def __init__(
        self,
        url: str,
        api_key: str | None = None,
        *,
        sleep: Sleep = asyncio.sleep,
        timeout: float = 60.0,
        retries: int = 3,
        longest_wait: float = 30.0,
    ) -> None:
        waits = {"timeout": timeout, "longest_wait": longest_wait}
        self._client = AsyncClient(url, api_key, sleep=sleep, retries=retries, **waits)

    @property
    def host(self) -> str:
        return self._client.host

    def chat_stream(self, question: str, *, history: History = (), top_k: int | None = None) -> Iterator[ChatEvent]:
        """Answer a question from the server's documents, as a stream of events."""
        events = self._client.chat_stream(question, history=history, top_k=top_k)

        async def following() -> ChatEvent | None:
            return await anext(events, None)

        try:
            while event := run(following()):
                yield event
        finally:
            run(events.aclose())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


# ---- request bodies


def _json_body(body: Mapping[str, object]) -> dict[str, Any]:
    """The arguments of a request; what is None is not sent."""
    given = {name: value for name, value in body.items() if value is not None}
    # With ASCII escapes any string can be sent, even one with half a surrogate pair.
    return {"content": json.dumps(given).encode(), "headers": {"content-type": "application/json"}}


def _context(history: History, kb: bool = False) -> dict[str, object]:
    turns = [{"role": turn.role, "content": turn.text} for turn in as_turns(history)]
    return {"kb": kb or None, "history": turns or None}


def _texts(sources: Sequence[Source]) -> dict[str, str]:
    return {source.id: source.text for source in sources}


def _steps(steps: Sequence[Step | Mapping[str, object] | str]) -> list[object]:
    from groundwire.traces.steps import as_steps

    found = [(step, {"id": step.id, "claim": step.text, "cites": list(step.cites)}) for step in as_steps(steps)]
    return [body if step.confidence is None else {**body, "confidence": step.confidence} for step, body in found]


# ---- responses


def _fact(data: Json) -> Fact:
    from groundwire.stores.import_export import read_fact

    return read_fact(data)


def _report(answer: str, sources: Sequence[Source], data: Json) -> HallucinationReport:
    return report_from(data, answer, _EvidenceTexts(sources))


def _audit(sources: Sequence[Source], data: Json) -> TraceAudit:
    steps = [Source(step["id"], step["text"]) for step in data["steps"]]  # steps cite earlier steps, too
    return audit_from(data, _EvidenceTexts([*steps, *sources]))


def _stored_report(data: Json) -> HallucinationReport | TraceAudit:
    sources = [Source(source["id"], source["text"]) for source in data["sources"]]
    if data.get("audit") is not None:
        return _audit(sources, data["audit"])
    return _report(data["answer"] or "", sources, data["report"])


def _claims(sources: Sequence[Source], data: Json) -> list[ClaimVerification]:
    texts = _EvidenceTexts(sources)
    return [claim_from(claim, texts) for claim in data["claims"]]


class _EvidenceTexts:
    """The text of evidence, which the JSON gives as positions: cut from the sources as the server does."""

    def __init__(self, sources: Sequence[Source]) -> None:
        self._sources = {source.id: source for source in sources}
        self._units: dict[str, dict[tuple[int, int], str]] = {}

    def __call__(self, name: str, start: int, end: int) -> str:
        source = self._sources.get(name)
        if source is None:
            return ""
        if name not in self._units:
            self._units[name] = {(unit.start, unit.end): unit.text for unit in units(source)}
        return self._units[name].get((start, end), source.text[start:end])


def error_of(status: object, problem: Json, host: str, retry_after: float | None = None) -> GroundwireError:
    """The exception that a problem document describes, with the server's message."""
    status = status if isinstance(status, int) else 500
    hint = str(problem.get("hint") or "")
    message = str(problem.get("detail") or f"{host} answered {status}")
    if str(problem.get("type", "")).endswith("not-grounded"):
        gap = problem.get("gap_bits")
        return FactNotGrounded(message, gap_bits=gap if isinstance(gap, int | float) else None, hint=hint)
    if status == 429:
        return Overloaded(message, retry_after=retry_after or 1.0, hint=hint)
    if status in (408, 504):
        return BackendTimeout(message, hint=hint)
    if status == 503:
        return BackendDown(message, hint=hint, retryable=True)
    if status in (401, 403):
        return InputError(message, hint=hint or "give Client an api_key")
    return InputError(message, hint=hint) if 400 <= status < 500 else BackendError(message, hint=hint)


def _object(body: bytes) -> Json:
    found = json.loads(body)
    if not isinstance(found, dict):
        raise ValueError("not a JSON object")
    return found


def chat_events(frames: Iterable[SseFrame]) -> Iterator[ChatEvent]:
    for frame in frames:
        if frame.data:
            found = json.loads(frame.data)
            yield ChatEvent(frame.event or "message", found if isinstance(found, dict) else {"data": found})
