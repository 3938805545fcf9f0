"""What the proxy's tests ask, and what an answer to it says."""

from __future__ import annotations

from typing import Any

DOCUMENT = "Paris is the capital of France. It has 2.1 million inhabitants. The Seine flows through it."
MESSAGES: list[Any] = [
    {"role": "system", "content": f'Answer from the documents.\n<document id="S0">{DOCUMENT}</document>'},
    {"role": "user", "content": "Tell me about Paris."},
]
GOOD = "Paris is the capital of France. It has 2.1 million inhabitants."
BAD = "Paris is the capital of France. It has 9.7 million inhabitants. The Seine flows through it."
FIXED = "Paris is the capital of France. It has 2.1 million inhabitants. The Seine flows through it."


def mode(name: str, **more: str) -> dict[str, str]:
    return {"x-groundwire": name} | {key.replace("_", "-"): value for key, value in more.items()}
