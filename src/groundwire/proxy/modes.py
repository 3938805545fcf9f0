"""The modes observe, annotate, fix and block: what each does to an answer, complete or streamed.

A streamed answer is split into parts with their texts, and re-encoded only where it changes.
"""

from __future__ import annotations

import asyncio
import re
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from groundwire.errors import GroundwireError
from groundwire.pipeline import all_flags
from groundwire.proxy.dialects import ApiDialect, Json, TextKey, response_id
from groundwire.proxy.upstream import UpstreamDisconnected
from groundwire.proxy.verifier import Mode, StreamVerifier, VerificationOutcome, parse_object
from groundwire.reports.plaintext import shorten
from groundwire.sse import DONE, FrameTooLarge, SseFrame, SseParser, encode_comment, encode_event, ending_of
from groundwire.streaming.protocol import assess, cut_at
from groundwire.streaming.protocol import stopped as stop_text
from groundwire.types import Action, ActionKind, ClaimVerification, Flag, HallucinationReport, Status
from groundwire.verdicts.repair import apply

_MAX_LINE = 200  # characters of a quotation or reason inside a remark
_ACTIONS_HEADING = "\n\n---\nNot done as stated, by the tool calls of this conversation:\n"
_NOTES_HEADING = "\n\n---\nNot supported by the sources:\n"


async def rewrite_answer(
    body: Json, verifier: StreamVerifier, dialect: ApiDialect
) -> tuple[VerificationOutcome, Json | None]:
    """Verify a complete answer. Return the outcome, and the answer rewritten by the mode or None."""
    verifier.response_id = response_id(body)
    for key, text in dialect.texts(body).items():
        verifier.feed_text(key, text)
    outcome = await verifier.finish()
    texts: dict[TextKey, str] = {}
    reasons: dict[TextKey, str] = {}
    if outcome.mode == "annotate":
        flagged = {key: report for key, report in outcome.reports.items() if report.flagged}
        texts = {key: add_remarks(report) for key, report in flagged.items()}
        given = dialect.texts(body)
        texts |= {key: texts.get(key, given[key]) + note for key, note in action_notes(outcome).items()}
    elif outcome.mode == "fix":
        texts = await repair_texts(verifier, outcome)
    elif outcome.mode == "block":
        threshold = verifier.contradiction_threshold
        for key, report in outcome.reports.items():
            if claim := first_contradiction(report.claims):
                texts[key] = "".join(cut_before(report.response, claim, threshold))
                reasons[key] = stop_reason(claim)
        outcome = replace(outcome, blocked=next(iter(reasons.values()), ""))
    return outcome, dialect.replace_texts(body, texts, reasons) if texts else None


def add_remarks(report: HallucinationReport) -> str:
    """Return the answer with a remark after each flagged statement."""
    actions = [
        Action(ActionKind.FLAG, flag.start, flag.end, annotation=f"[{_remark(flag)}]", flag=flag)
        for flag in all_flags(report)
    ]
    return apply(actions, report.response).text


def notes(report: HallucinationReport) -> str:
    """Return the remarks as a list, for text that was already sent; empty if nothing is flagged."""
    flags = sorted(all_flags(report), key=lambda flag: flag.start)
    lines = (f"{n}. “{shorten(flag.content, _MAX_LINE)}”: {_remark(flag)}" for n, flag in enumerate(flags, start=1))
    return _NOTES_HEADING + "\n".join(lines) + "\n" if flags else ""


def action_notes(outcome: VerificationOutcome) -> dict[TextKey, str]:
    """Remarks on actions that were not performed as stated, to be appended to each text."""
    flagged = {key: [a for a in actions if a.is_flagged] for key, actions in outcome.actions.items()}
    return {
        key: _ACTIONS_HEADING
        + "".join(f"- “{shorten(a.text, _MAX_LINE)}”: {a.status}, {shorten(a.reason, _MAX_LINE)}\n" for a in actions)
        for key, actions in flagged.items()
        if actions
    }


async def repair_texts(verifier: StreamVerifier, outcome: VerificationOutcome) -> dict[TextKey, str]:
    """Return a new text for each flagged one; what cannot be repaired in time gets remarks instead."""
    texts: dict[TextKey, str] = {}
    for key, report in outcome.reports.items():
        if report.flagged:
            repair = None
            with suppress(GroundwireError, TimeoutError):
                async with asyncio.timeout(verifier.timeout):
                    repair = (await verifier.repair(report)).repair
            texts[key] = repair.text if repair is not None and repair.edits else add_remarks(report)
    return texts


def first_contradiction(claims: Sequence[ClaimVerification]) -> ClaimVerification | None:
    """Return the first claim that a check would report as contradicted; the answer stops before it."""
    return next((claim for claim in claims if claim.status is Status.CONTRADICTED and claim.is_flagged), None)


def stop_reason(claim: ClaimVerification) -> str:
    sources = ", ".join(claim.evidence_ids)
    detail = f"{sources}: {shorten(claim.reason, _MAX_LINE)}" if sources else shorten(claim.reason, _MAX_LINE)
    return f"groundwire stopped this answer: the next statement contradicts the sources ({detail})"


def cut_before(text: str, claim: ClaimVerification, threshold: float) -> tuple[str, str]:
    """Return the text before the contradiction, and the sentence that it ends with instead."""
    points = assess((claim,), threshold=threshold).points
    start = text[: cut_at(text, points)].rstrip()
    return start, stop_text(text, points)[len(start) :]


def _remark(flag: Flag) -> str:
    """A sentence that the reader of the answer understands."""
    kind, reason = flag.type.description, shorten(flag.evidence, _MAX_LINE).rstrip(".")
    reason = reason.replace("evidence says", "the sources say", 1)
    reason = re.sub(r"^cites ", "it cites ", reason)
    # Behind "This claim has no supporting evidence:" these two would read as a list and as a contradiction.
    reason = re.sub(r"^(?:not in the sources:|supported except for) (?=“)", "the sources do not say ", reason)
    if not reason:
        return f"{kind}."
    ended = re.search(r"[.!?…]”$", reason)  # a quoted sentence brings its own full stop
    return f"{kind}: {reason}" if ended else f"{kind}: {reason}."


# Streamed answers.


@dataclass(frozen=True, slots=True)
class StreamPart:
    """A frame, its event if it has one, and the text the event adds. `changed`: the event is ours."""

    frame: SseFrame
    event: Json | None = None
    deltas: list[tuple[TextKey, str]] = field(default_factory=list)
    changed: bool = False


@dataclass(slots=True)
class UpstreamStream:
    """The chunks of an upstream, the verifier that reads along, and the state needed to make events."""

    chunks: AsyncIterator[bytes]
    dialect: ApiDialect
    verifier: StreamVerifier
    send_report: bool = True
    last_event: Json = field(default_factory=dict)
    text_by_choice: dict[TextKey, list[str]] = field(default_factory=dict)
    last_event_by_choice: dict[TextKey, Json] = field(default_factory=dict)
    error: UpstreamDisconnected | None = None
    response_meta: Json = field(default_factory=dict)
    rest: bytes = b""
    _last_bytes: bytes = b""
    _renumber: bool = False
    _number: int = -1

    async def parts(self) -> AsyncIterator[StreamPart]:
        """Yield parts up to `[DONE]`. A failing upstream ends the iteration and sets `error`."""
        parser = SseParser()
        try:
            async for chunk in self.chunks:
                frames = parser.feed(chunk)
                for frame in frames:
                    yield self._read(frame)
                if any(frame.done for frame in frames):
                    self.rest = parser.rest
                    return
        except (UpstreamDisconnected, FrameTooLarge) as error:
            self.error = error if isinstance(error, UpstreamDisconnected) else UpstreamDisconnected(str(error))
            self.rest = parser.rest
            return
        for frame in parser.finish():
            yield self._read(frame)

    async def remaining(self) -> AsyncIterator[bytes]:
        """Yield what follows `[DONE]` unchanged, or raise the error that ended the stream."""
        if self.error is not None:
            raise self.error
        yield self.rest
        async for chunk in self.chunks:
            yield chunk

    def _read(self, frame: SseFrame) -> StreamPart:
        event = parse_object(frame.data) if frame.data.startswith("{") else None
        if event is None:
            return StreamPart(frame)
        self.last_event = event
        if isinstance(event.get("response"), dict):
            self.response_meta = event["response"]
        deltas = self.verifier.feed_event(event)
        for key, text in deltas:
            self.text_by_choice.setdefault(key, []).append(text)
            self.last_event_by_choice[key] = event
        return StreamPart(frame, event, deltas)

    def is_end(self, part: StreamPart) -> bool:
        """True if a part closes a text. Anthropic's blocks of thoughts and tool calls close the same way."""
        event = part.event
        if event is None or not self.dialect.is_end(event):
            return False
        texts = [last.get("index") for last in self.last_event_by_choice.values()]
        return event.get("type") != "content_block_stop" or event.get("index") in texts

    def text(self, key: TextKey) -> str:
        """Return a text as far as it has arrived."""
        return "".join(self.text_by_choice[key])

    def template(self, key: TextKey) -> Json:
        """Return the last event of a text with the response's metadata: enough to make another event."""
        return {**self.last_event_by_choice[key], "response": self.response_meta}

    def encode(self, part: StreamPart) -> bytes:
        """Return a part as bytes: the original ones unless it changed or must be renumbered."""
        event = part.event
        if event is not None and (part.changed or self._renumber):
            return self.encode_new(event)
        if event is not None and isinstance(event.get("sequence_number"), int):
            self._number = event["sequence_number"]
        self._last_bytes = part.frame.raw[-4:]
        return part.frame.raw

    def encode_new(self, event: Json) -> bytes:
        """Encode an event of ours. From here on events are renumbered if the API numbers them."""
        if isinstance(event.get("sequence_number"), int):
            self._renumber = True
            self._number += 1
            event = {**event, "sequence_number": self._number}
        self.last_event, self._last_bytes = event, b""
        return encode_event(event, str(event.get("type") or ""))

    def encode_report(self, outcome: VerificationOutcome) -> bytes:
        """Encode the report event; an upstream's last frame may lack the blank line that separates the two."""
        outcome = replace(outcome, reason=str(self.error)) if self.error else outcome
        event = self.dialect.report_event(self.last_event, outcome.report_object)
        return ending_of(self._last_bytes) + encode_event(event, str(event.get("type") or ""))


async def with_ticks(parts: AsyncIterator[StreamPart], seconds: float) -> AsyncIterator[StreamPart | None]:
    """Yield the parts, and None whenever none arrives for that many seconds."""
    pending: asyncio.Task[StreamPart] | None = None
    try:
        while True:
            pending = pending or asyncio.ensure_future(anext(parts))
            await asyncio.wait({pending}, timeout=seconds)
            if not pending.done():
                yield None
                continue
            try:
                part = pending.result()
            except StopAsyncIteration:
                return
            pending = None
            yield part
    finally:
        if pending is not None:
            pending.cancel()
            await asyncio.wait({pending})


KEEPALIVE_SECONDS = 10.0  # a buffered stream sends a comment after this much silence
BLOCK_TICK = 0.03  # seconds between two looks at new verdicts in mode `block`: below what a reader notices
_KEEPALIVE = encode_comment("groundwire is checking")
_NO_FRAME = SseFrame(b"")


async def observe(stream: UpstreamStream) -> AsyncGenerator[bytes, None]:
    """Send the upstream's frames unchanged as they arrive, and the report event before `[DONE]`."""
    ending: list[StreamPart] = []
    async for part in stream.parts():
        if ending or part.frame.done:
            ending.append(part)
        else:
            yield stream.encode(part)
    if stream.error is not None and stream.rest:  # cut off inside a frame, where no event can be inserted
        yield stream.rest
        raise stream.error
    if stream.send_report:
        yield stream.encode_report(await stream.verifier.finish())
    for part in ending:
        yield part.frame.raw
    async for data in stream.remaining():
        yield data


async def annotate(stream: UpstreamStream) -> AsyncGenerator[bytes, None]:
    """Send the text as it arrives, and notes on unsupported statements before the event that ends it."""
    buffered: list[StreamPart] = []
    async for part in stream.parts():
        ends = part.frame.done or stream.is_end(part)
        if buffered or ends:
            buffered.append(part)
        else:
            yield stream.encode(part)
    outcome = await stream.verifier.finish()
    added = {key: text for key, report in outcome.reports.items() if (text := notes(report))}
    added |= {key: added.get(key, "") + note for key, note in action_notes(outcome).items()}
    texts = {key: stream.text(key) + note for key, note in added.items()}
    for data in _encode_end(stream, list(_with_notes(stream, buffered, added)), outcome, texts):
        yield data
    async for data in stream.remaining():
        yield data


def _with_notes(
    stream: UpstreamStream, buffered: list[StreamPart], added: Mapping[TextKey, str]
) -> Iterator[StreamPart]:
    """Insert each note before the first end behind its text; text in the same event as the end goes first."""
    last = {key: n for n, part in enumerate(buffered) for key, _ in part.deltas}
    pending = dict(added)
    for number, part in enumerate(buffered):
        ends = part.frame.done or stream.is_end(part)
        due = {key: pending.pop(key) for key in added if ends and key in pending and last.get(key, -1) <= number}
        for key, note in due.items():
            late = "".join(text for own, text in part.deltas if own == key)
            yield _delta(stream.dialect.delta_event(stream.template(key), key, late + note))
        yield from _without_text(stream, part, due)
    for key, note in pending.items():
        yield _delta(stream.dialect.delta_event(stream.template(key), key, note))


async def fix(stream: UpstreamStream) -> AsyncGenerator[bytes, None]:
    """Hold the text back until it is checked, then send it, repaired where necessary."""
    buffered: list[StreamPart] = []
    unverifiable: bool | None = None  # None until the first text arrives
    clock = asyncio.get_running_loop().time
    last_sent = clock()
    async for part in with_ticks(stream.parts(), KEEPALIVE_SECONDS):
        if clock() - last_sent >= KEEPALIVE_SECONDS:
            last_sent = clock()
            yield _KEEPALIVE
        if part is None:
            continue
        if part.deltas and unverifiable is None:
            unverifiable = not await stream.verifier.has_evidence()
        if part.frame.done or buffered or (part.deltas and not unverifiable):
            buffered.append(part)
        else:
            yield stream.encode(part)
    outcome = await stream.verifier.finish()
    texts = await repair_texts(stream.verifier, outcome)
    if texts:
        buffered = _joined(stream, list(_with_texts(stream, buffered, texts)))
    for data in _encode_end(stream, buffered, outcome, texts):
        yield data
    async for data in stream.remaining():
        yield data


def _joined(stream: UpstreamStream, parts: list[StreamPart]) -> list[StreamPart]:
    events = [part.event for part in parts if part.event is not None]
    joined = stream.dialect.join_texts(events)
    return parts if joined is events else [*(part for part in parts if part.event is None), *map(_delta, joined)]


def _with_texts(
    stream: UpstreamStream, buffered: list[StreamPart], texts: Mapping[TextKey, str]
) -> Iterator[StreamPart]:
    """Put each new text, as one delta, where the old one began."""
    begun: set[TextKey] = set()
    for part in buffered:
        for key, _ in part.deltas:
            if key in texts and key not in begun:
                begun.add(key)
                yield _delta(stream.dialect.delta_event(part.event or {}, key, texts[key]))
        yield from _without_text(stream, part, texts)


def _delta(event: dict[str, object]) -> StreamPart:
    return StreamPart(_NO_FRAME, event, changed=True)


def _without_text(stream: UpstreamStream, part: StreamPart, keys: Mapping[TextKey, str]) -> Iterator[StreamPart]:
    if part.event is None or not any(key in keys for key, _ in part.deltas):
        yield part
        return
    event = stream.dialect.without_text(part.event, keys)
    if event is not None:
        yield replace(part, event=event, changed=True)


def _encode_end(
    stream: UpstreamStream, buffered: list[StreamPart], outcome: VerificationOutcome, texts: Mapping[TextKey, str]
) -> Iterator[bytes]:
    """Encode the buffered parts with the new texts wherever they occur, and the report before `[DONE]`."""
    end = next((n for n, part in enumerate(buffered) if part.frame.done), len(buffered))
    for part in buffered[:end]:
        event = stream.dialect.replace_repeated(part.event, texts) if part.event and texts else part.event
        yield stream.encode(part if event == part.event else replace(part, event=event, changed=True))
    if stream.send_report:
        yield stream.encode_report(outcome)
    yield from (part.frame.raw for part in buffered[end:])


async def block(stream: UpstreamStream) -> AsyncGenerator[bytes, None]:
    """Send each statement once it is verified; stop the answer before the first contradiction."""
    blocker = _Blocker(stream)
    try:
        async for data in blocker.run():
            yield data
    finally:
        if blocker.waiting is not None:
            blocker.waiting.cancel()


@dataclass(slots=True)
class _Blocker:
    """The state of mode `block`: buffered parts, how much of each text was sent, which texts were stopped."""

    stream: UpstreamStream
    buffered: deque[StreamPart] = field(default_factory=deque)
    sent: dict[TextKey, int] = field(default_factory=dict)
    last_sent: dict[TextKey, Json] = field(default_factory=dict)
    stopped: dict[TextKey, str] = field(default_factory=dict)  # stopped texts, with the reason
    waiting: asyncio.Task[object] | None = None
    waiting_since: float = 0.0

    async def run(self) -> AsyncIterator[bytes]:
        stream, clock = self.stream, asyncio.get_running_loop().time
        # Text passes unverified if there is nothing to check it against, or no verdict comes in time.
        pass_all: bool | None = None
        last_sent = clock()
        async for part in with_ticks(stream.parts(), BLOCK_TICK):
            if part is not None:
                if part.deltas and pass_all is None:
                    pass_all = not await stream.verifier.has_evidence()
                self._hold(part)
            for key, checker in list(stream.verifier.checkers.items()):
                if key not in self.stopped and (claim := first_contradiction(checker.verdicts())):
                    for data in self._stop(key, claim):
                        yield data
            if self._is_over:
                outcome = await stream.verifier.finish() if stream.send_report else None
                for data in self._close(outcome):
                    yield data
                return
            waiting = self.waiting is not None and not self.waiting.done()
            pass_all = pass_all or (waiting and clock() - self.waiting_since > stream.verifier.timeout)
            while self.buffered and self._may_send(self.buffered[0], bool(pass_all)):
                yield self._send_first()
                last_sent = clock()
            if clock() - last_sent > KEEPALIVE_SECONDS:
                last_sent += KEEPALIVE_SECONDS
                yield _KEEPALIVE
        async for data in self._finish():
            yield data

    async def _finish(self) -> AsyncIterator[bytes]:
        """The upstream has finished: verify the last statements, then send or stop them."""
        stream = self.stream
        outcome = await stream.verifier.finish()
        for key, report in outcome.reports.items():
            claim = first_contradiction(report.claims)
            if claim and key not in self.stopped and claim.end > self.sent.get(key, 0):
                for data in self._stop(key, claim):
                    yield data
        if self._is_over:
            for data in self._close(outcome):
                yield data
            return
        while self.buffered and not self.buffered[0].frame.done:
            yield self._send_first()
        if stream.send_report:
            yield stream.encode_report(self._with_reason(outcome))
        while self.buffered:
            yield self._send_first()
        async for data in stream.remaining():
            yield data

    def _hold(self, part: StreamPart) -> None:
        self.buffered.append(part)
        if self.waiting is None or self.waiting.done():
            checkers = list(self.stream.verifier.checkers.values())
            self.waiting = asyncio.ensure_future(asyncio.gather(*(c.drain() for c in checkers)))  # type: ignore[assignment]
            self.waiting_since = asyncio.get_running_loop().time()

    @property
    def _is_over(self) -> bool:
        """True once every answer the request asked for was stopped."""
        return len(self.stopped) >= self.stream.verifier.choices

    def _may_send(self, part: StreamPart, pass_all: bool) -> bool:
        if part.frame.done or self.stream.is_end(part):
            return False
        checkers = self.stream.verifier.checkers
        return pass_all or all(
            key in self.stopped or (key in checkers and self.sent.get(key, 0) + len(text) <= checkers[key].judged)
            for key, text in part.deltas
        )

    def _send_first(self) -> bytes:
        """Encode the first buffered part without anything about stopped texts."""
        part = self.buffered.popleft()
        for key, text in part.deltas:
            self.sent[key] = self.sent.get(key, 0) + len(text)
            self.last_sent[key] = part.event or {}
        if not self.stopped or part.event is None:
            return self.stream.encode(part)
        event = self.stream.dialect.without_choices(part.event, self.stopped)
        return self.stream.encode(replace(part, event=event, changed=event != part.event)) if event else b""

    def _stop(self, key: TextKey, claim: ClaimVerification) -> Iterator[bytes]:
        """Send what precedes the contradiction and the reason, then end the text."""
        stream, reason = self.stream, stop_reason(claim)
        text, sent = stream.text(key), self.sent.get(key, 0)
        # An event of the part of the text that the client has begun to receive: its last or its first one.
        waiting = (part.event for part in self.buffered if any(own == key for own, _ in part.deltas))
        opened = self.last_sent.get(key) or next(filter(None, waiting), {})
        template = {**stream.template(key), **opened}
        start, ending = cut_before(text, claim, stream.verifier.contradiction_threshold)
        last_words = text[sent : len(start)] + ending
        self.stopped[key] = reason
        yield stream.encode_new(stream.dialect.delta_event(template, key, last_words))
        for event in stream.dialect.stop_events(template, key, text[:sent] + last_words, reason):
            yield stream.encode_new(event)

    def _close(self, outcome: VerificationOutcome | None) -> Iterator[bytes]:
        """End a stream of which every text was stopped."""
        if outcome is not None and self.stream.send_report:
            yield self.stream.encode_report(self._with_reason(outcome))
        if self.stream.dialect.ends_with_done:
            yield DONE + b"\n\n"

    def _with_reason(self, outcome: VerificationOutcome) -> VerificationOutcome:
        return replace(outcome, blocked=next(iter(self.stopped.values()), ""))


STREAM_MODES: Mapping[Mode, Callable[[UpstreamStream], AsyncGenerator[bytes, None]]] = {
    "observe": observe,
    "annotate": annotate,
    "block": block,
    "fix": fix,
}
