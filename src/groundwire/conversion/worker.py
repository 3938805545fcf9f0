"""The process that reads files for another one: `python -m groundwire.conversion.worker`.

It imports the parsers once and forks for each file, so that a file gets a fresh process with limits on time
and memory without waiting for Python to start. A request is one line of JSON and the bytes of the file; a
result is the length of its JSON in one line and the JSON. If the forked process dies, this one ends too, with
128 and the number of the signal as its exit code, as shells do.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
from contextlib import suppress
from importlib import import_module
from pathlib import Path

from groundwire.conversion.formats import PARSED, FileInput, cpu_seconds, kind_of, memory_bytes, read_document
from groundwire.errors import InputError

_OPEN_FILES = 32  # descriptors of a process that reads a file: some for modules that are imported late


def main() -> None:
    """Read requests from standard input until it is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that asks decides when to stop
    requests, results = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # a library that prints must not break the results
    while line := requests.readline():
        given = json.loads(line)
        data = requests.read(given.pop("size"))
        file = FileInput(**given)
        kind = kind_of(data, file.suffix)
        if kind in PARSED:  # imported before the fork, the parser is there for the next file too
            import_module(PARSED[kind][1])
        child = os.fork()
        if not child:
            set_limits(len(data), kind)
            payload = result_of(data, file)
            results.write(b"%d\n%b" % (len(payload), payload))
            results.flush()
            os._exit(0)
        _, status = os.waitpid(child, 0)
        if status:
            os._exit(128 + os.WTERMSIG(status) if os.WIFSIGNALED(status) else 1)


def set_limits(size: int, kind: str) -> None:
    """Limit this process to what reading a file of `size` bytes may take."""
    # What is in use before the file is read, most of it shared with other processes, does not count.
    statm = Path("/proc/self/statm")
    used = int(statm.read_text().split()[0]) * resource.getpagesize() if statm.exists() else 0
    seconds, memory = cpu_seconds(size, kind), used + memory_bytes(size)
    limits = {
        resource.RLIMIT_CPU: (seconds, seconds + 1),  # SIGXCPU, which tells why, and SIGKILL a second later
        resource.RLIMIT_AS: (memory, memory),
        resource.RLIMIT_FSIZE: (0, 0),
        resource.RLIMIT_NOFILE: (_OPEN_FILES, _OPEN_FILES),
        resource.RLIMIT_CORE: (0, 0),
    }
    for what, limit in limits.items():
        with suppress(ValueError, OSError):  # macOS has no limit of the address space
            resource.setrlimit(what, limit)


def result_of(data: bytes, file: FileInput) -> bytes:
    """JSON with the texts and ids of the sources, or with the message and hint of an error."""
    try:
        return _json({"sources": [(source.text, source.id) for source in read_document(data, file)]})
    except InputError as error:
        message, hint = error.message, error.hint
    except MemoryError:
        message, hint = f"{file.name} takes too much memory to read", "split it, or save it as plain text"
    except Exception as error:  # a broken file can make a parser raise anything
        kind, _ = PARSED.get(kind_of(data, file.suffix), ("text", ""))
        said = " ".join(str(error).split())[:80] or type(error).__name__
        message, hint = f"{file.name} is not a readable {kind} file ({said})", "repair it or save it as text"
    return _json({"error": (message, hint)})


def _json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")


if __name__ == "__main__":
    main()
