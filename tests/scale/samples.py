"""Rows that the tests of the frameworks check, and the labels that they must get."""

from __future__ import annotations

from typing import Any

TOWER = "The tower is 330 metres tall."
ROWS: list[dict[str, Any]] = [
    {"id": "good", "response": TOWER, "sources": [TOWER], "question": "How tall is it?"},
    {"id": "listed", "response": TOWER, "sources": ["Rome is in Italy.", TOWER], "question": None},
    {"id": "empty", "response": "", "sources": [TOWER], "question": None},
]
LABELS = {"good": "grounded", "listed": "grounded", "empty": "unchecked"}


def many(times: int) -> list[dict[str, Any]]:
    return [{**row, "id": f"{row['id']}-{n}"} for n in range(times) for row in ROWS]


def labels(times: int) -> dict[str, str]:
    return {f"{name}-{n}": label for n in range(times) for name, label in LABELS.items()}
