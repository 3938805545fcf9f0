"""From an answer on the wire to a result or an error, and when to ask again: the same for both clients."""

from __future__ import annotations

import json
from collections.abc import Generator
from dataclasses import dataclass
from typing import TypeVar

from groundwire.client.calls import Call
from groundwire.errors import (
    BackendDown,
    BackendError,
    BackendTimeout,
    FactNotGrounded,
    GroundwireError,
    InputError,
    Overloaded,
)
from groundwire.reports.parse import Json

T = TypeVar("T")
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
