"""What reading one file may cost: time and memory by its size, and bounds on what it unpacks to."""

from __future__ import annotations

from collections.abc import Iterable

from groundwire.errors import InputError

MAX_TAGS = 2_000_000
"""Tags in a page or a Word file, opening and closing ones."""
_MEGABYTE = 1_000_000
_SECONDS_PER_MEGABYTE = {".pdf": 40, ".docx": 10}
_OTHER_SECONDS = 3
"""Some three times what ordinary files take. PDF and Word files are compressed, so they take more."""


def cpu_seconds(size: int, kind: str) -> int:
    """CPU time for a file of `size` bytes: one second for a small one, then in proportion.

    >>> cpu_seconds(20_000, ".pdf"), cpu_seconds(2_000_000, ".pdf"), cpu_seconds(2_000_000, ".html")
    (1, 81, 7)
    """
    return 1 + _SECONDS_PER_MEGABYTE.get(kind, _OTHER_SECONDS) * size // _MEGABYTE


def memory_bytes(size: int) -> int:
    """Memory for a file of `size` bytes, beyond that of the parser itself."""
    return 256 * _MEGABYTE + 25 * size


def too_many_tags(name: str) -> InputError:
    return InputError(f"{name} has more than {MAX_TAGS:,} tags", hint="split it, or save it as plain text")


def joined(parts: Iterable[str], name: str, max_bytes: int) -> str:
    """The parts that say something, with a blank line between them, up to the limit for files."""
    found: list[str] = []
    size = 0
    for part in parts:
        size += len(part)
        if size > max_bytes:
            hint = "split it, or raise limits.max_source_bytes"
            raise InputError(f"{name} unpacks to more than {max_bytes:,} characters", hint=hint)
        found.append(part.replace("\x00", "").strip())
    return "\n\n".join(part for part in found if part)
