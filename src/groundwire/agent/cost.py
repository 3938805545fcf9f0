"""The cost of an answer and of its verification: calls, tokens, seconds, and dollars by a price table."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Literal

from groundwire.agent.trajectory import Json
from groundwire.config import Price
from groundwire.llm.base import Completion, track_usage

Part = Literal["base", "verification"]
Share = Literal["seconds", "tokens", "dollars"]
LOCAL_PREFIX = "llm/"
"""Name prefix of generators that run on this machine and cost no money."""

_MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Usage:
    """`dollars` is None if any call went to a model without a price."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0
    dollars: float | None = 0.0

    @property
    def tokens(self) -> int:
        return self.prompt_tokens + self.completion_tokens

    def __add__(self, other: Usage) -> Usage:
        priced = self.dollars is not None and other.dollars is not None
        return Usage(
            self.calls + other.calls,
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            self.seconds + other.seconds,
            (self.dollars or 0.0) + (other.dollars or 0.0) if priced else None,
        )


@dataclass(frozen=True, slots=True)
class Cost:
    """Cost of answering (`base`) and of verification; `unpriced` lists models without a price."""

    base: Usage = Usage()
    verification: Usage = Usage()
    unpriced: tuple[str, ...] = ()

    def share(self, of: Share) -> float | None:
        """Return verification as a share of the base; None without a base or a price."""
        base, checked = getattr(self.base, of), getattr(self.verification, of)
        return checked / base if base and checked is not None else None

    def __add__(self, other: Cost) -> Cost:
        unpriced = tuple(dict.fromkeys((*self.unpriced, *other.unpriced)))
        return Cost(self.base + other.base, self.verification + other.verification, unpriced)

    def __str__(self) -> str:
        """Format as one line.

        >>> print(Cost(Usage(2, 900, 100, 4.0, 0.002), Usage(seconds=0.2)))
        answer 2 calls, 1,000 tokens, 4.0 s, $0.0020 · verification 0 calls, 0.2 s (5.0 % of the time)
        """
        line = f"answer {_words(self.base)} · verification {_words(self.verification)}{self._shares()}"
        return line + (f" · no price known for {', '.join(self.unpriced)}" if self.unpriced else "")

    def _shares(self) -> str:
        asked: dict[Share, str] = {"tokens": "tokens", "dollars": "money"}
        timed: dict[Share, str] = {"seconds": "time"}
        named = asked if self.verification.tokens else timed
        shares = {word: self.share(of) for of, word in named.items()}
        shown = [f"{100 * share:.1f} % of the {word}" for word, share in shares.items() if share is not None]
        return f" ({', '.join(shown)})" if shown else ""


def _words(usage: Usage) -> str:
    calls = f"{usage.calls} call" + ("" if usage.calls == 1 else "s")
    if not usage.tokens:
        return f"{calls}, {usage.seconds:.1f} s"
    money = "" if usage.dollars is None else f", ${usage.dollars:.4f}"
    return f"{calls}, {usage.tokens:,} tokens, {usage.seconds:.1f} s{money}"


def cost_object(cost: Cost) -> dict[str, Json]:
    """Return the JSON object for the trajectory."""
    shares: tuple[Share, ...] = ("seconds", "tokens", "dollars")
    return {
        "base": _object(cost.base),
        "verification": _object(cost.verification),
        "share": {of: _rounded(cost.share(of)) for of in shares},
        "unpriced": list(cost.unpriced),
    }


def _object(usage: Usage) -> dict[str, Json]:
    return {**asdict(usage), "seconds": round(usage.seconds, 4), "dollars": _rounded(usage.dollars)}


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 6)


class Meter:
    """Measures the time and all completions inside `with meter.on("base")`."""

    def __init__(self, prices: Mapping[str, Price]) -> None:
        self._prices = prices
        self.cost = Cost()

    @contextmanager
    def on(self, part: Part) -> Iterator[None]:
        began, inside = time.perf_counter(), self.cost
        try:
            with track_usage(lambda name, done: self._count(part, name, done)):
                yield
        finally:
            nested = self._seconds(self.cost) - self._seconds(inside)
            self._add(part, Usage(seconds=max(0.0, time.perf_counter() - began - nested)))

    def add(self, cost: Cost) -> None:
        """Add the cost of a nested orchestrator call."""
        self.cost += cost

    @staticmethod
    def _seconds(cost: Cost) -> float:
        return cost.base.seconds + cost.verification.seconds

    def _count(self, part: Part, name: str, done: Completion) -> None:
        price, dollars = self._price(name, done.model), None
        if price is None:
            self.cost += Cost(unpriced=(done.model or name,))
        else:
            dollars = (done.prompt_tokens * price.input + done.completion_tokens * price.output) / _MILLION
        self._add(part, Usage(1, done.prompt_tokens, done.completion_tokens, dollars=dollars))

    def _price(self, name: str, model: str) -> Price | None:
        """Look up the price by the server's model name, then by ours: `gpt-4o-mini`, `openai/gpt-4o-mini`."""
        if name.startswith(LOCAL_PREFIX):
            return Price()
        plain = name.partition("@")[0]
        named = (model, name, plain, plain.rpartition("/")[2])
        return next((self._prices[key] for key in named if key in self._prices), None)

    def _add(self, part: Part, usage: Usage) -> None:
        self.cost += Cost(base=usage) if part == "base" else Cost(verification=usage)
