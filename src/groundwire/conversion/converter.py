"""Read files in processes with limits, which can be stopped at any time.

Plain text needs no parser and is read in this process. A worker that succeeded is reused for the next file.
"""

from __future__ import annotations

import atexit
import json
import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from dataclasses import asdict

from groundwire.conversion.formats import JSON_SUFFIXES, PARSED, FileInput, Named, cpu_seconds, kind_of, read_document
from groundwire.errors import InputError

_SMALL_BYTES = 100_000  # bytes up to which JSON and CSV are read in this process, since that is quick
_TABLES = (".csv", ".tsv")
_MAX_IDLE = 4  # processes that wait for the next file
_START_SECONDS, _WAIT_FACTOR = 20, 5
"""A process gets some seconds to start, and five times its CPU time on a busy machine."""
_MAX_RESULT_FACTOR = 8  # bytes of a result per byte of the limit for files: JSON writes some characters as six bytes
_COMMAND = (sys.executable, "-P", "-m", "groundwire.conversion.worker")
_INHERITED = ("PATH", "LD_LIBRARY_PATH", "LANG", "LC_ALL")
"""Environment variables that a worker gets; it must not see API keys."""


def needs_process(data: bytes, suffix: str) -> bool:
    """True for formats with a parser, and for large JSON and CSV."""
    kind = kind_of(data, suffix)
    if kind in PARSED or len(data) <= _SMALL_BYTES:
        return kind in PARSED
    is_json = suffix.lower() in JSON_SUFFIXES or (not suffix and data[:64].lstrip()[:1] in (b"{", b"["))
    return is_json or kind in _TABLES


class Conversion:
    """The reading of one file. `stop` may be called from another thread, before or during `run`."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._worker: _Worker | None = None
        self._stopped = False

    def run(self, data: bytes, file: FileInput) -> list[Named]:
        """The sources in a file. Raises InputError if it cannot be read within the limits."""
        if not needs_process(data, file.suffix):
            return read_document(data, file)
        with self._lock:
            self._worker = worker = _workers.take()
            if self._stopped:
                worker.kill()
        seconds = cpu_seconds(len(data), kind_of(data, file.suffix))
        watchdog = threading.Timer(_START_SECONDS + _WAIT_FACTOR * seconds, self.stop)
        watchdog.start()
        result = None
        try:
            result = worker.ask(data, file)
        finally:
            watchdog.cancel()
            with self._lock:
                self._worker = None
            if result is None or self._stopped:
                worker.close()
            else:
                _workers.give_back(worker)
        if result is None:
            hint = "split it, or save it as plain text"
            if self._stopped or worker.exit_code == 128 + signal.SIGXCPU:
                raise InputError(f"{file.name} takes too long to read", hint=hint)
            ended = f"the process that read it ended with {worker.exit_code}"
            raise InputError(f"{file.name} cannot be read: {ended}", hint=hint)
        found = json.loads(result.decode("utf-8", "surrogatepass"))
        if "error" in found:
            message, hint = found["error"]
            raise InputError(message, hint=hint)
        return [Named(text, file.origin, identity) for text, identity in found["sources"]]

    def stop(self) -> None:
        """Kill the process; `run` raises InputError then."""
        with self._lock:
            self._stopped = True
            if self._worker is not None:
                self._worker.kill()


class _Worker:
    """A process that reads one file after another; `worker.py` describes what it is sent and returns."""

    def __init__(self) -> None:
        known = {name: os.environ[name] for name in _INHERITED if name in os.environ}
        path = os.pathsep.join(os.path.abspath(place) for place in sys.path if place)  # noqa: PTH100
        try:
            self._process = subprocess.Popen(
                _COMMAND,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={**known, "PYTHONPATH": path},
                start_new_session=True,  # its own process group, killed together with what it forked
                cwd="/",
            )
        except OSError as error:
            raise InputError(f"no process to read files can be started: {error.strerror}") from None

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    @property
    def exit_code(self) -> int:
        return self._process.wait()

    def ask(self, data: bytes, file: FileInput) -> bytes | None:
        """The result for a file; None if the process died."""
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        try:
            stdin.write(json.dumps({**asdict(file), "size": len(data)}).encode() + b"\n" + data)
            stdin.flush()
            size = int(stdout.readline() or -1)
            if not 0 <= size <= _MAX_RESULT_FACTOR * (file.max_bytes + _SMALL_BYTES):
                return None
            result = stdout.read(size)
        except (OSError, ValueError):
            return None
        return result if len(result) == size else None

    def kill(self) -> None:
        if self.is_alive:
            with suppress(OSError):
                os.killpg(self._process.pid, signal.SIGKILL)

    def close(self) -> None:
        self.kill()
        for pipe in (self._process.stdin, self._process.stdout):
            with suppress(OSError):  # what the process did not read
                if pipe is not None:
                    pipe.close()
        self._process.wait()


class _Workers:
    """Processes that wait for the next file."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._idle: list[_Worker] = []

    def take(self) -> _Worker:
        with self._lock:
            while self._idle:
                worker = self._idle.pop()
                if worker.is_alive:
                    return worker
                worker.close()
        return _Worker()

    def give_back(self, worker: _Worker) -> None:
        with self._lock:
            if len(self._idle) < _MAX_IDLE:
                self._idle.append(worker)
                return
        worker.close()

    def forget(self) -> None:
        """In a process forked from this one: the pipes belong to the parent."""
        self._lock, self._idle = threading.Lock(), []

    def close(self) -> None:
        with self._lock:
            while self._idle:
                self._idle.pop().close()


_workers = _Workers()
atexit.register(_workers.close)
os.register_at_fork(after_in_child=_workers.forget)
