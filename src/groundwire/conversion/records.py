"""JSON and JSONL that name their own sources: `{"S0": "text", …}`, or rows of id and text."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from groundwire.errors import InputError

_ID = re.compile(
    r"(?:s|src|source|doc|document|passage|chunk|span|ref|evidence|context|e|d|p)?[ _\-]?\d{1,6}|context",
    re.IGNORECASE,
)
_ID_KEYS = ("id", "sid")
JSON_SUFFIXES = (".json", ".jsonl", ".ndjson")


@dataclass(frozen=True, slots=True)
class Named:
    """A source before it has its number: `id` is None where the content does not name it."""

    text: str
    origin: str
    id: str | None = None


def named_in(text: str, suffix: str, origin: str, *, strict: bool, name: str = "the source") -> list[Named]:
    """The sources that a text holds: several where JSON names them, else the text as it is.

    `strict`: a .json or .jsonl file that does not parse is an error; other text is taken as it comes.
    """
    if suffix in (".jsonl", ".ndjson"):
        return _rows(text, origin, name)
    if suffix == ".json" or (not suffix and text.lstrip().startswith(("{", "["))):
        try:
            data = json.loads(text.removeprefix("\ufeff"), object_pairs_hook=_object)
        except (ValueError, RecursionError) as error:
            if suffix == ".json" and strict:
                raise _broken(name, error) from None
            return [Named(text, origin)]
        return _records(data, origin) or [Named(text, origin)]
    return [Named(text, origin)]


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    if len({key for key, _ in pairs}) < len(pairs) and all(_ID.fullmatch(key) for key, _ in pairs):
        raise InputError(
            "a JSON object names the same source twice", hint="give each source an id of its own"
        )
    return dict(pairs)


def _broken(name: str, error: Exception, line: int | None = None) -> InputError:
    if isinstance(error, json.JSONDecodeError):
        where = f"line {line or error.lineno}, column {error.colno}: {error.msg}"
    else:
        where = "nested too deeply" if isinstance(error, RecursionError) else str(error)[:80]
    return InputError(
        f"{name} is not valid JSON ({where})", hint="repair it, or name it .txt to take it as text"
    )


def _records(data: object, origin: str) -> list[Named]:
    """Sources that parsed JSON names; empty where it is a record like any other."""
    if isinstance(data, dict) and set(data) == {"sources"}:
        return _records(data["sources"], origin)
    if isinstance(data, dict) and data and all(_ID.fullmatch(key) for key in data):
        items = [
            Named(value, origin, key)
            for key, value in data.items()
            if isinstance(value, str) and value.strip()
        ]
        return items if len(items) == len(data) else []
    if isinstance(data, list) and data:
        rows = [_row(item, origin) for item in data]
        return [row for row in rows if row is not None] if all(rows) else []
    return []


def _row(item: object, origin: str) -> Named | None:
    """`{"id": …, "text": …}`; other keys (a score, a title) do not matter. Without an id it is numbered."""
    if not isinstance(item, dict) or not isinstance(item.get("text"), str) or not item["text"].strip():
        return None
    for key in _ID_KEYS:
        if isinstance(item.get(key), str | int) and str(item[key]).strip():
            return Named(item["text"], origin, str(item[key]))
    return Named(item["text"], origin)


def _rows(text: str, origin: str, name: str) -> list[Named]:
    found: list[Named | None] = []
    for number, line in enumerate(text.removeprefix("\ufeff").split("\n"), 1):
        if line.strip():
            try:
                found.append(_row(json.loads(line), origin))
            except (ValueError, RecursionError) as error:
                raise _broken(name, error, number) from None
    named = [row for row in found if row is not None]
    return named if named and len(named) == len(found) else [Named(text, origin)]
