"""What can be asked of a server: each call as its request and the way to read its answer. No network here."""

from __future__ import annotations

import json
from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import field
from functools import partial
from typing import TYPE_CHECKING
from typing import Any
from typing import Generic
from typing import TypedDict
from typing import TypeVar
from typing import Unpack
from groundwire.config import ProfileName
from groundwire.config.sections import VerificationConfig
from groundwire.engine import Sources
from groundwire.engine import as_sources
from groundwire.reports.parse import Json
from groundwire.reports.parse import audit_from
from groundwire.reports.parse import claim_from
from groundwire.reports.parse import detection_from
from groundwire.reports.parse import output_from
from groundwire.reports.parse import report_from
from groundwire.retrieval.history import History
from groundwire.retrieval.history import as_turns
from groundwire.retrieval.units import units
from groundwire.types import ClaimVerification
from groundwire.types import Detection
from groundwire.types import Fact
from groundwire.types import HallucinationReport
from groundwire.types import OutputCheck
from groundwire.types import Source
from groundwire.types import Step
from groundwire.types import TraceAudit
from groundwire.verdicts.summary import with_gaps
from collections.abc import Generator
from groundwire.errors import BackendDown
from groundwire.errors import BackendError
from groundwire.errors import BackendTimeout
from groundwire.errors import FactNotGrounded
from groundwire.errors import GroundwireError
from groundwire.errors import InputError
from groundwire.errors import Overloaded

if TYPE_CHECKING:
    from groundwire.rag.chatbot import ChatReply
    from groundwire.traces.steps import Steps

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Call(Generic[T]):
    """One request: where it goes, what it says, and how its answer is read."""

    method: str
    path: str
    read: Callable[[Json], T]
    body: Mapping[str, object] | None = None
    query: Mapping[str, str] = field(default_factory=dict)

    @property
    def content(self) -> bytes | None:
        """ASCII escapes carry any string, even half of a surrogate pair."""
        return None if self.body is None else json.dumps(self.body).encode()


@dataclass(frozen=True, slots=True)
class ChatEvent:
    """What a streamed chat sends: `sources`, then many `token`s, the `answer`, and at last the `check`."""

    kind: str
    data: Mapping[str, Any]


class Judging(TypedDict, total=False):
    """How an answer is to be judged, where not as the server does."""

    target: float
    profile: ProfileName


class Beside(TypedDict, total=False):
    """What an answer may be held against besides its sources; `kb` is the server's own knowledge base."""

    history: History
    kb: bool


class Wishes(Judging, Beside, total=False):
    pass


def check(
    answer: str,
    sources: Sources = (),
    *,
    question: str = "",
    response_id: str = "response",
    fix: bool = False,
    **wishes: Unpack[Wishes],
) -> Call[HallucinationReport]:
    """Judge every claim of an answer by its sources, and by the conversation and knowledge where asked to."""
    given = as_sources(sources)
    body = {
        "id": response_id,
        "response": answer,
        "sources": _texts(given),
        "question": question,
        "fix": fix,
        **_judging(wishes),
        **_beside(wishes),
    }
    return Call("POST", "/v1/check", partial(_report, answer, given), body)


def verify_claim(
    claim: str,
    evidence: Sources,
    confidence: float | None = None,
    *,
    question: str = "",
    profile: ProfileName | None = None,
) -> Call[ClaimVerification]:
    """Judge one claim as it stands."""
    given = as_sources(evidence)
    body: dict[str, object] = {"claim": claim, "sources": _texts(given), "question": question}
    body |= {"confidence": confidence, "profile": profile}
    return Call("POST", "/v1/claims/verify", lambda data: _claims(given, data)[0], _without(body))


def verify_claims(
    text: str, context: Sources, *, question: str = "", profile: ProfileName | None = None
) -> Call[list[ClaimVerification]]:
    """Take a text apart and judge each claim."""
    given = as_sources(context)
    body = {"text": text, "sources": _texts(given), "question": question, "profile": profile}
    return Call("POST", "/v1/claims/verify", partial(_claims, given), _without(body))


def audit_trace(
    steps: Steps, question: str | None = None, context: Sources | None = None, answer: str | None = None
) -> Call[TraceAudit]:
    """A verdict on each step of a reasoning, and whether the answer follows from the steps alone."""
    given = as_sources(context or ())
    trace: dict[str, object] = {"trace": steps} if isinstance(steps, str) else {"steps": _steps(steps)}
    body = {**trace, "sources": _texts(given), "question": question or "", "answer": answer or ""}
    return Call("POST", "/v1/traces/audit", partial(_audit, given), body)


def detect(response: str, sources: Sources = (), **beside: Unpack[Beside]) -> Call[Detection]:
    """What the eight knowledge detectors find, without measuring bits."""
    body = {"response": response, "sources": _texts(as_sources(sources)), **_beside(beside)}
    return Call("POST", "/v1/detect", detection_from, body)


def remember(fact: str, evidence: Sources, *, confidence: float = 0.95, verify: bool = True) -> Call[Fact]:
    """Store a fact that its evidence carries; `FactNotGrounded` where it does not."""
    given = as_sources(evidence)
    body = {"fact": fact, "sources": _texts(given), "confidence": confidence, "verify": verify}
    return Call("POST", "/v1/facts", _fact, body)


def facts(*, status: str = "", limit: int = 100, after: str = "") -> Call[list[Fact]]:
    """Facts that are kept, the newest first; `after` is the id of the last one of the page before."""
    query = {"limit": str(limit), "status": status, "after": after}
    given = {name: value for name, value in query.items() if value}
    return Call("GET", "/v1/facts", lambda data: [_fact(row) for row in data["facts"]], query=given)


def verify_output(
    response: str,
    sources: Sources = (),
    *,
    question: str = "",
    history: History = (),
    wait: float = 0.0,
) -> Call[OutputCheck]:
    """Verify an agent's answer against its conversation; what takes longer than `wait` seconds is pending."""
    given = as_sources(sources)
    body = {
        "response": response,
        "sources": _texts(given),
        "question": question,
        "wait": wait,
        **_beside({"history": history}),
    }
    return Call("POST", "/v1/outputs", partial(output_from, response=response, quote=_Quotes(given)), body)


def output(identity: str, *, response: str = "", wait: float = 0.0) -> Call[OutputCheck]:
    """What became of an output that was pending."""
    read = partial(output_from, response=response)
    return Call("GET", f"/v1/outputs/{_segment(identity)}", read, query={"wait": str(wait)})


def chat(question: str, *, history: History = (), top_k: int | None = None) -> Call[ChatReply]:
    """A question to the server's documents, answered and checked."""
    return Call("POST", "/v1/rag/chat", _reply, _chat(question, history, top_k))


def chat_stream(question: str, *, history: History = (), top_k: int | None = None) -> Call[ChatReply]:
    """The same, as it is written."""
    return Call("POST", "/v1/rag/chat", _reply, {**_chat(question, history, top_k), "stream": True})


def report(identity: str) -> Call[HallucinationReport | TraceAudit]:
    """A report the server kept: the header X-Groundwire-Report of the answer names it."""
    return Call("GET", f"/v1/reports/{_segment(identity)}", _kept)


def health() -> Call[Json]:
    """The server's version, and that it lives."""
    return Call("GET", "/healthz", dict)


def _chat(question: str, history: History, top_k: int | None) -> dict[str, object]:
    return _without({"message": question, "top_k": top_k, **_beside({"history": history})})


def _reply(data: Json) -> ChatReply:
    return data  # type: ignore[return-value]


def _fact(data: Json) -> Fact:
    from groundwire.stores.io_jsonl import read_fact

    return read_fact(data)


def _report(answer: str, given: Sequence[Source], data: Json) -> HallucinationReport:
    # what is critical is a setting of the server; its default is taken for it
    return with_gaps(report_from(data, answer, _Quotes(given)), VerificationConfig().gap_threshold_bits)


def _audit(given: Sequence[Source], data: Json) -> TraceAudit:
    """Steps rest on earlier steps as on sources."""
    steps = [Source(step["id"], step["text"]) for step in data["steps"]]
    return audit_from(data, _Quotes([*steps, *given]))


def _kept(data: Json) -> HallucinationReport | TraceAudit:
    given = [Source(source["id"], source["text"]) for source in data["sources"]]
    if data.get("audit") is not None:
        return _audit(given, data["audit"])
    return _report(data["answer"] or "", given, data["report"])


def _claims(given: Sequence[Source], data: Json) -> list[ClaimVerification]:
    quotes = _Quotes(given)
    return [claim_from(claim, quotes) for claim in data["claims"]]


class _Quotes:
    """The text of evidence, from the sources that were sent: as the server read them, unit by unit."""

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


def _texts(given: Sequence[Source]) -> dict[str, str]:
    return {source.id: source.text for source in given}


def _judging(wishes: Wishes) -> dict[str, object]:
    return _without({"target": wishes.get("target"), "profile": wishes.get("profile")})


def _beside(beside: Beside | Wishes) -> dict[str, object]:
    turns = as_turns(beside.get("history") or ())
    said = {"history": [{"role": turn.role, "content": turn.text} for turn in turns]} if turns else {}
    return {**said, **({"kb": True} if beside.get("kb") else {})}


def _steps(steps: Sequence[Step | Mapping[str, object] | str]) -> list[object]:
    from groundwire.traces.steps import as_steps

    return [_without({"id": s.id, "claim": s.text, "cites": list(s.cites), "confidence": s.confidence})
            for s in as_steps(steps)]  # fmt: skip


def _without(body: Mapping[str, object]) -> dict[str, object]:
    """Without what was not given."""
    return {name: value for name, value in body.items() if value is not None}


def _segment(name: str) -> str:
    from urllib.parse import quote

    return quote(name, safe="")


class Events:
    """Server-sent events, cut out of bytes as they come."""

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

# From an answer on the wire to a result or an error, and when to ask again: the same for both clients.

_AGAIN = (429, 503)


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back. `retry_after` is in how many seconds the server wants to be asked again."""

    host: str
    status: int
    body: bytes
    retry_after: float | None = None

    @property
    def is_good(self) -> bool:
        return 200 <= self.status < 300


@dataclass(frozen=True, slots=True)
class Patience:
    """How often to ask again, and how long to wait in all."""

    retries: int = 3
    seconds: float = 30.0


def exchange(call: Call[T], patience: Patience) -> Generator[float, Answer, T]:
    """Yields in how many seconds to send the request, is given the answer, and returns the result."""
    left, wait = patience.seconds, 0.0
    for retries in range(patience.retries, -1, -1):
        answer = yield wait
        wanted = answer.retry_after if answer.status in _AGAIN else None
        if wanted is None or wanted > left or not retries:
            break
        wait, left = wanted, left - wanted
    return read(call, answer)


def read(call: Call[T], answer: Answer) -> T:
    if not answer.is_good:
        raise error_of(answer)
    try:
        return call.read(_object(answer.body))
    except (ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
        raise BackendDown(
            f"{answer.host} answered {call.path} with something else than expected",
            hint="is it a groundwire server, and of this release?",
        ) from error


def error_of(answer: Answer) -> GroundwireError:
    """A problem document as the error it tells of, with the server's own line."""
    try:
        told = _object(answer.body)
    except ValueError:
        told = {}
    said = str(told.get("detail") or f"{answer.host} answered {answer.status}")
    return _error(answer, told, said, hint=str(told.get("hint") or ""))


def _error(answer: Answer, told: Json, said: str, hint: str) -> GroundwireError:
    status = answer.status
    if str(told.get("type", "")).endswith("not-grounded"):
        gap = told.get("gap_bits")
        return FactNotGrounded(said, gap_bits=gap if isinstance(gap, int | float) else None, hint=hint)
    if status == 429:
        return Overloaded(said, retry_after=answer.retry_after or 1.0, hint=hint)
    if status in (408, 504):
        return BackendTimeout(said, hint=hint)
    if status == 503:
        return BackendDown(said, hint=hint, retryable=True)
    if status in (401, 403):
        return InputError(said, hint=hint or "give Client an api_key")
    if 400 <= status < 500:
        return InputError(said, hint=hint)
    return BackendError(said, hint=hint)


def _object(body: bytes) -> Json:
    found = json.loads(body)
    if not isinstance(found, dict):
        raise ValueError("no object")
    return found
