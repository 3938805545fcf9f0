"""Who pays for a completion: generators report what they used to whoever listens around them.

Verifiers hold generators of their own, so the listener comes through the context of the call and not through
their interfaces: tasks started inside it are heard too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

from groundwire.llm.base import Completion

Listener = Callable[[str, Completion], None]

_listener: ContextVar[Listener | None] = ContextVar("groundwire_usage", default=None)


@contextmanager
def heard_by(listener: Listener) -> Iterator[None]:
    """What is completed inside is reported as `listener(generator's name, completion)`, a request a time."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def report(name: str, completions: Sequence[Completion]) -> None:
    """One request's completions; what it used stands on the first of them."""
    listener = _listener.get()
    if listener is not None and completions:
        listener(name, completions[0])
