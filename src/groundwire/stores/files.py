"""Database files: each project has its own, and only their owner can read them."""

from __future__ import annotations

import os
import warnings
from pathlib import Path

from groundwire.errors import InputError

PROJECT_FOLDER = ".groundwire"
EARLIER_FOLDER = "~/.local/share/groundwire"
"""Where releases before 0.2 kept one file for all projects."""


def is_writable(path: Path) -> bool:
    """SQLite also writes files next to the database, even when it only reads."""
    return os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)


def prepare_file(path: Path, what: str, setting: str, *, create: bool, hint: str = "") -> None:
    """Create a database file if there is none; without `create` it must exist, and not be empty.

    Args:
        what: what the file is, for messages: "store", "index".
        setting: the configuration key of its path.
        hint: how to get one, for the message that there is none.
    """
    earlier = _earlier_file(path, setting)
    if not create and not path.is_file():
        raise InputError(f"there is no {what} at {path}", hint=earlier or hint)
    if not create and not path.stat().st_size:  # SQLite would take it for a new database
        raise InputError(f"{path} is an empty file, not a groundwire {what}")
    if earlier:
        warnings.warn(f"{path} is a new {what}; {earlier}", stacklevel=2)
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # Created here and not by SQLite, so that only the owner can read it.
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
        ignore = path.parent / ".gitignore"
        if _is_project_file(path) and not ignore.exists():
            ignore.write_text("*\n", encoding="utf-8")  # facts and documents do not belong in a repository
    except OSError as error:
        raise InputError(f"cannot open the {what} {path}: {error.strerror}") from None


def _is_project_file(path: Path) -> bool:
    return path.absolute().parent == Path(PROJECT_FOLDER).absolute()


def _earlier_file(path: Path, setting: str) -> str:
    """Where an earlier release kept this file, if it did and the project has none of its own yet."""
    earlier = Path(EARLIER_FOLDER, path.name)
    if path.exists() or not _is_project_file(path) or not earlier.expanduser().is_file():
        return ""
    return f"earlier releases kept one for all projects: to go on with that, set {setting} to {earlier}"
