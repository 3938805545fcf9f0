"""The calls of the HTTP API: how each request is built and its response parsed.

No network here: the clients send what this module describes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar
from urllib.parse import quote

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
from groundwire.reports.json import Json, audit_from, claim_from, detection_from, output_from, report_from
from groundwire.requests import History, Sources, as_sources, as_turns
from groundwire.retrieval.select import units
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

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ApiCall(Generic[T]):
    """One request, and the function that parses the body of its response."""

    method: str
    path: str
    parse: Callable[[Json], T]
    body: Mapping[str, object] | None = None
    query: Mapping[str, str] = field(default_factory=dict)

    @property
    def request(self) -> dict[str, Any]:
        """The arguments of `httpx.AsyncClient.request`."""
        found: dict[str, Any] = {"method": self.method, "url": self.path, "params": dict(self.query)}
        if self.body is not None:
            # With ASCII escapes any string can be sent, even one with half a surrogate pair.
            found |= {"content": json.dumps(self.body).encode(), "headers": {"content-type": "application/json"}}
        return found


@dataclass(frozen=True, slots=True)
class ChatEvent:
    """An event of a streamed chat: `sources`, many `token`s, the `answer`, and finally the `check`."""

    kind: str
    data: Mapping[str, Any]


def check(
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
) -> ApiCall[HallucinationReport]:
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
    return ApiCall("POST", "/v1/check", partial(_report, answer, given), _without_none(body))


def verify_claim(
    claim: str,
    evidence: Sources,
    confidence: float | None = None,
    *,
    question: str = "",
    profile: ProfileName | None = None,
) -> ApiCall[ClaimVerification]:
    """Verify one claim as it is given."""
    given = as_sources(evidence)
    body: dict[str, object] = {"claim": claim, "sources": _texts(given), "question": question}
    body |= {"confidence": confidence, "profile": profile}
    return ApiCall("POST", "/v1/claims/verify", lambda data: _claims(given, data)[0], _without_none(body))


def verify_claims(
    text: str, context: Sources, *, question: str = "", profile: ProfileName | None = None
) -> ApiCall[list[ClaimVerification]]:
    """Extract the claims of a text and verify each."""
    given = as_sources(context)
    body = {"text": text, "sources": _texts(given), "question": question, "profile": profile}
    return ApiCall("POST", "/v1/claims/verify", partial(_claims, given), _without_none(body))


def audit_trace(
    steps: Steps, question: str | None = None, context: Sources | None = None, answer: str | None = None
) -> ApiCall[TraceAudit]:
    """Verify each step of a reasoning trace, and whether the answer follows from the steps alone."""
    given = as_sources(context or ())
    trace: dict[str, object] = {"trace": steps} if isinstance(steps, str) else {"steps": _steps(steps)}
    body = {**trace, "sources": _texts(given), "question": question or "", "answer": answer or ""}
    return ApiCall("POST", "/v1/traces/audit", partial(_audit, given), body)


def detect(response: str, sources: Sources = (), *, history: History = (), kb: bool = False) -> ApiCall[Detection]:
    """Run the eight knowledge detectors, without measuring bits."""
    body = {"response": response, "sources": _texts(as_sources(sources)), **_context(history, kb)}
    return ApiCall("POST", "/v1/detect", detection_from, body)


def remember(fact: str, evidence: Sources, *, confidence: float = 0.95, verify: bool = True) -> ApiCall[Fact]:
    """Store a fact that its evidence supports; raises `FactNotGrounded` if it does not."""
    given = as_sources(evidence)
    body = {"fact": fact, "sources": _texts(given), "confidence": confidence, "verify": verify}
    return ApiCall("POST", "/v1/facts", _fact, body)


def facts(*, status: str = "", limit: int = 100, after: str = "") -> ApiCall[list[Fact]]:
    """List stored facts, newest first; `after` is the id of the last fact of the previous page."""
    query = {"limit": str(limit), "status": status, "after": after}
    given = {name: value for name, value in query.items() if value}
    return ApiCall("GET", "/v1/facts", lambda data: [_fact(row) for row in data["facts"]], query=given)


def verify_output(
    response: str, sources: Sources = (), *, question: str = "", history: History = (), wait: float = 0.0
) -> ApiCall[OutputCheck]:
    """Verify an agent's answer against its conversation; the result is pending after `wait` seconds."""
    given = as_sources(sources)
    body = {"response": response, "sources": _texts(given), "question": question, "wait": wait, **_context(history)}
    parse = partial(output_from, response=response, quote=_EvidenceTexts(given))
    return ApiCall("POST", "/v1/outputs", parse, body)


def output(identity: str, *, response: str = "", wait: float = 0.0) -> ApiCall[OutputCheck]:
    """The result of a pending `verify_output`."""
    parse = partial(output_from, response=response)
    return ApiCall("GET", f"/v1/outputs/{quote(identity, safe='')}", parse, query={"wait": str(wait)})


def chat(question: str, *, history: History = (), top_k: int | None = None) -> ApiCall[ChatReply]:
    """Answer a question from the server's documents, with a verdict on each claim."""
    body = _without_none({"message": question, "top_k": top_k, **_context(history)})
    return ApiCall("POST", "/v1/rag/chat", _reply, body)


def chat_stream(question: str, *, history: History = (), top_k: int | None = None) -> ApiCall[ChatReply]:
    """`chat` as a stream of events."""
    call = chat(question, history=history, top_k=top_k)
    return replace(call, body={**(call.body or {}), "stream": True})


def report(identity: str) -> ApiCall[HallucinationReport | TraceAudit]:
    """A stored report; its id is in the response header X-Groundwire-Report."""
    return ApiCall("GET", f"/v1/reports/{quote(identity, safe='')}", _stored_report)


def health() -> ApiCall[Json]:
    """The server's status and version."""
    return ApiCall("GET", "/healthz", dict)


def _context(history: History, kb: bool = False) -> dict[str, object]:
    turns = as_turns(history)
    body: dict[str, object] = {"kb": True} if kb else {}
    if turns:
        body["history"] = [{"role": turn.role, "content": turn.text} for turn in turns]
    return body


def _texts(sources: Sequence[Source]) -> dict[str, str]:
    return {source.id: source.text for source in sources}


def _steps(steps: Sequence[Step | Mapping[str, object] | str]) -> list[object]:
    from groundwire.traces.steps import as_steps

    return [
        _without_none({"id": s.id, "claim": s.text, "cites": list(s.cites), "confidence": s.confidence})
        for s in as_steps(steps)
    ]


def _without_none(body: Mapping[str, object]) -> dict[str, object]:
    return {name: value for name, value in body.items() if value is not None}


def _reply(data: Json) -> ChatReply:
    return data  # type: ignore[return-value]


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


def parse_response(call: ApiCall[T], body: bytes, host: str) -> T:
    try:
        return call.parse(_object(body))
    except (ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
        raise BackendDown(
            f"unexpected response of {host} to {call.path}", hint="is it a groundwire server, and of this release?"
        ) from error


def error_of(status: int, body: bytes, host: str, retry_after: float | None = None) -> GroundwireError:
    """The exception that a problem document describes, with the server's message."""
    try:
        problem = _object(body)
    except ValueError:
        problem = {}
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


class EventParser:
    """Parses server-sent events from chunks of bytes."""

    def __init__(self) -> None:
        self._rest = b""
        self._kind = ""
        self._data: list[str] = []

    def feed(self, chunk: bytes) -> Iterator[ChatEvent]:
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        for line in lines:
            yield from self._line(line.rstrip(b"\r").decode("utf-8", "replace"))

    def _line(self, line: str) -> Iterator[ChatEvent]:
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "event":
            self._kind = value
        elif name == "data":
            self._data.append(value)
        elif not line and self._data:
            found = json.loads("\n".join(self._data))
            kind, self._kind, self._data = self._kind or "message", "", []
            yield ChatEvent(kind, found if isinstance(found, dict) else {"data": found})
