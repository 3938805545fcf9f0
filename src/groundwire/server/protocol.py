"""HTTP/1.1 as uvicorn speaks it, with a time by which the head of a request must be there.

uvicorn waits for a head as long as a client likes; a few hundred clients that send a byte a minute would be
enough to keep everybody else out.
"""

from __future__ import annotations

import asyncio
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from groundwire.server.problems import Problem

HEAD_SECONDS = 10.0


class TimelyProtocol(H11Protocol):
    """Closes a connection whose next head does not come in time; a broken one is a problem document."""

    head_seconds = HEAD_SECONDS

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._head: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._await_head()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.conn.their_state is h11.IDLE:
            self._await_head()
        else:
            self._head_came()

    def connection_lost(self, exc: Exception | None) -> None:
        self._head_came()
        super().connection_lost(exc)

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002
        self._tell(Problem("malformed", "this is no HTTP request, or its head is too long"))

    def _await_head(self) -> None:
        if self._head is None:
            self._head = self.loop.call_later(self.head_seconds, self._too_slow)

    def _head_came(self) -> None:
        if self._head is not None:
            self._head.cancel()
            self._head = None

    def _too_slow(self) -> None:
        self._head = None
        begun = bool(self.conn.trailing_data[0])
        if self.transport.is_closing() or self.conn.their_state is not h11.IDLE:
            return
        if begun:
            self._tell(Problem("too-slow", f"the head did not come within {self.head_seconds:g} s"))
        elif self.timeout_keep_alive_task is None:  # between two requests, keep-alive has its own time
            self.transport.close()

    def _tell(self, problem: Problem) -> None:
        """The request never reached the application, so what it would have said is said here."""
        answer = problem.response("", "")
        headers = [*answer.raw_headers, (b"connection", b"close")]
        for event in (
            h11.Response(status_code=problem.status, headers=headers),
            h11.Data(data=bytes(answer.body)),
            h11.EndOfMessage(),
        ):
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()
