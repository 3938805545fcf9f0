"""What is done with a streamed answer: observe, annotate, fix. (`blocking` holds it back claim by claim.)"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from dataclasses import replace

from groundwire.proxy.blocking import block
from groundwire.proxy.flow import Flow, Part, told, with_pauses
from groundwire.proxy.headers import Mode
from groundwire.proxy.protocol import Key
from groundwire.proxy.repairing import notes_on, repaired
from groundwire.proxy.sse import Frame, Tail, comment
from groundwire.proxy.upstream import Broken
from groundwire.proxy.verifier import Outcome

PAUSE = 10.0
"""Seconds of silence after which a held stream says that it is alive."""


async def observe(flow: Flow) -> AsyncGenerator[bytes, None]:
    """The very bytes of the upstream, as they come; before the last of them an event with the report."""
    if not flow.tell:
        async for chunk in flow.chunks:
            yield chunk
            flow.watch.listen(chunk)
        return
    tail = Tail()
    broken: Broken | None = None
    try:
        async for chunk in flow.chunks:
            going = tail.feed(chunk)
            if going:
                yield going
            flow.watch.listen(chunk)
            if tail.done:
                break
        else:
            yield tail.release()
    except Broken as error:
        broken = error
    if tail.between:
        outcome = await flow.watch.outcome()
        flow.last = flow.watch.last
        yield tail.gap + told(flow, replace(outcome, reason=str(broken)) if broken else outcome)
    yield tail.release()
    if broken is not None:
        raise broken
    async for chunk in flow.chunks:
        yield chunk


async def annotate(flow: Flow) -> AsyncGenerator[bytes, None]:
    """The text as it comes; behind it, before it is said to be over, notes on what is not carried."""
    held: list[Part] = []
    async for part in flow.parts():
        ends = part.frame.done or (part.event is not None and flow.spoken.is_ending(part.event))
        if held or ends:
            held.append(part)
        else:
            yield flow.on(part)
    outcome = await flow.watch.outcome()
    notes = {key: note for key, report in outcome.reports.items() if (note := notes_on(report))}
    texts = {key: flow.text(key) + note for key, note in notes.items()}
    for piece in _closing(flow, list(_noted(flow, held, notes)), outcome, texts):
        yield piece
    async for piece in flow.remaining():
        yield piece


def _noted(flow: Flow, held: list[Part], notes: Mapping[Key, str]) -> Iterator[Part]:
    """The notes go in front of the end; text that comes together with the end goes in front of the notes."""
    late = [(part, key, text) for part in held for key, text in part.said if key in notes]
    for part, key, text in late:
        yield replace(part, event=flow.spoken.delta(part.event or {}, key, text), ours=True)
    for key, note in notes.items():
        yield Part(_EMPTY, flow.spoken.delta(flow.like(key), key, note), ours=True)
    for part in held:
        yield from _rest(flow, part, notes)


def _rest(flow: Flow, part: Part, keys: Mapping[Key, str]) -> Iterator[Part]:
    """A part without what it adds to these texts; nothing where that was all."""
    if part.event is None or not any(key in keys for key, _ in part.said):
        yield part
        return
    event = flow.spoken.without_text(part.event, keys)
    if event is not None:
        yield replace(part, event=event, ours=True)


async def fix(flow: Flow) -> AsyncGenerator[bytes, None]:
    """Nothing of the text before it is checked; then the text, repaired where it has to be."""
    held: list[Part] = []
    free: bool | None = None  # whether all may pass, since there is nothing to judge by
    clock = asyncio.get_running_loop().time
    silent = clock()
    async for part in with_pauses(flow.parts(), PAUSE):
        if clock() - silent >= PAUSE:
            silent = clock()
            yield comment("groundwire is checking")
        if part is None:
            continue
        free = not await flow.watch.ready() if part.said and free is None else free
        if part.frame.done or held or (part.said and not free):
            held.append(part)
        else:
            yield flow.on(part)
    outcome = await flow.watch.outcome()
    texts = await repaired(flow.watch, outcome)
    for piece in _closing(flow, list(_replaced(flow, held, texts)), outcome, texts):
        yield piece
    async for piece in flow.remaining():
        yield piece


def _replaced(flow: Flow, held: list[Part], texts: Mapping[Key, str]) -> Iterator[Part]:
    """Each new text whole, where the old one began."""
    begun: set[Key] = set()
    for part in held:
        for key, _ in part.said:
            if key in texts and key not in begun:
                begun.add(key)
                yield Part(_EMPTY, flow.spoken.delta(part.event or {}, key, texts[key]), ours=True)
        yield from _rest(flow, part, texts)


def _closing(flow: Flow, held: list[Part], outcome: Outcome, texts: Mapping[Key, str]) -> Iterator[bytes]:
    """What was held back, with the new texts wherever they are repeated, and the report before the end."""
    end = next((n for n, part in enumerate(held) if part.frame.done), len(held))
    for part in held[:end]:
        yield flow.on(_closed(flow, part, texts))
    if flow.tell:
        yield told(flow, outcome)
    yield from (part.frame.raw for part in held[end:])


def _closed(flow: Flow, part: Part, texts: Mapping[Key, str]) -> Part:
    if part.event is None or not texts:
        return part
    event = flow.spoken.closed(part.event, texts)
    return part if event == part.event else replace(part, event=event, ours=True)


_EMPTY = Frame(b"")

MODES: Mapping[Mode, Callable[[Flow], AsyncGenerator[bytes, None]]] = {
    "observe": observe,
    "annotate": annotate,
    "block": block,
    "fix": fix,
}
