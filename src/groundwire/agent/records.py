"""Results as data that may cross into the sandbox: figures, texts, lists, and records of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import date, datetime
from enum import Enum
from typing import Any

Wrap = Callable[[object], object]


def crossing(value: object, wrap: Wrap) -> object:
    """Plain data as it is, and results as records: `wrap` makes one whose attributes can be read there."""
    if isinstance(value, Enum):
        return crossing(value.value, wrap)
    if value is None or isinstance(value, bool | int | float | str | bytes):
        return value
    if isinstance(value, datetime | date):
        return value.isoformat()
    if is_dataclass(value) and not isinstance(value, type):
        return wrap(value)
    if isinstance(value, Mapping):
        return {str(key): crossing(held, wrap) for key, held in value.items()}
    if isinstance(value, Sequence | set | frozenset):
        return [crossing(held, wrap) for held in value]
    return str(value)


def record_of(base: Any) -> Wrap:
    """How a result crosses: its fields and properties are copied, none of its methods can be called.

    `base` is the sandbox's own wrapper, which is imported late.
    """

    class Record(base):  # type: ignore[misc]
        def convert_value(self, /, name: str, value: object) -> object:  # noqa: ARG002
            return crossing(value, wrap)

    def wrap(value: object) -> object:
        return Record(value, eager_attrs=public_names(type(value)))

    return wrap


def public_names(kind: type) -> list[str]:
    """What a result says: its fields, then what follows from them."""
    assert is_dataclass(kind)
    stored = [item.name for item in fields(kind) if not item.name.startswith("_")]
    derived = [
        name
        for base in reversed(kind.__mro__)
        for name, item in vars(base).items()
        if isinstance(item, property)
    ]
    return list(dict.fromkeys((*stored, *(name for name in derived if not name.startswith("_")))))
