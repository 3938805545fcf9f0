"""Token usage: generators report each completion to the listener of the current context.

Verifiers create their own generators, so the listener is a context variable rather than an argument; tasks
that are started inside the context inherit it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

from groundwire.llm.base import Completion

Listener = Callable[[str, Completion], None]

_listener: ContextVar[Listener | None] = ContextVar("groundwire_usage", default=None)


@contextmanager
def track_usage(listener: Listener) -> Iterator[None]:
    """Call `listener(generator name, completion)` once per request made inside the block."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def report_usage(name: str, completions: Sequence[Completion]) -> None:
    """Report the completions of one request; the first of them carries the token counts."""
    listener = _listener.get()
    if listener is not None and completions:
        listener(name, completions[0])
