"""What a language model costs as the judge, and what it is worth: `python -m benchmarks.judges CARDS.jsonl`.

Measures ways to ask the same model about the same claims (contrast cards, see `groundwire bench cards`):

    alone      every claim and every probability in a request of its own, with the whole context
    shared     the backend as it is: selected evidence, shared requests, p0 where it counts
    cascade    the embedded verifier first, the model for what is in doubt
    local      the embedded verifier by itself, which costs no request

and prints requests and prompt tokens per claim, both error rates, and how many verdicts agree with `alone`.
The server is the one of the configuration (`OPENAI_BASE_URL`), or with `--local-llm` the model of the [llm]
extra, a small one: it shows what requests cost, not how well a judge judges.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from groundwire.bench.cards import read_cards
from groundwire.config import BackendName, Config
from groundwire.engine import Groundwire
from groundwire.llm.base import Completion, track_usage
from groundwire.types import Claim, ClaimVerification, Status

CITED = "S0"
ALONE: dict[str, Any] = {"claims_per_request": 1, "evidence_tokens": 6000}
WAYS = ("alone", "shared", "cascade", "local")


@dataclass(frozen=True, slots=True)
class JudgeFigures:
    """One way of asking: costs per claim, error rates (None without such claims), agreement of verdicts."""

    way: str
    claims: int
    requests_per_claim: float
    tokens_per_claim: float
    supported_flagged: float | None
    unsupported_passed: float | None
    unchecked: int
    agree: float | None = None


@dataclass(slots=True)
class UsageCount:
    requests: int = 0
    tokens: int = 0

    def __call__(self, _: str, done: Completion) -> None:
        self.requests += 1
        self.tokens += done.prompt_tokens


def settings(way: str, local_llm: bool) -> tuple[Config, BackendName]:
    """The configuration of one way of asking; nothing is read from or written to a cache."""
    given: dict[str, Any] = {"store.cache_path": "", "hallucination.timeout": 300}
    judge: BackendName = "openai"
    if local_llm:
        judge, given["generator.provider"] = "self", "llm"
    if way == "alone":
        given |= {"bits": True, **{f"openai.{key}": value for key, value in ALONE.items()}}
    given["cascade.llm"] = judge
    backend: BackendName = judge if way in ("alone", "shared") else way
    return Config.load(overrides=given), backend


def claims_of(card: dict[str, Any], limit: int, cited: bool) -> list[Claim]:
    source = (CITED,) if cited else ()
    return [
        Claim(f"c{i}", claim["text"], 0, len(claim["text"]), source) for i, claim in enumerate(card["claims"][:limit])
    ]


async def judged(
    engine: Groundwire, cards: Sequence[dict[str, Any]], per_card: int, cited: bool
) -> list[ClaimVerification]:
    """The verdicts on the claims of each card, which are judged together, as those of one answer."""
    found: list[ClaimVerification] = []
    for card in cards:
        claims = claims_of(card, per_card, cited)
        found += await engine.verify(claims, {CITED: card["source"]}, question=card.get("question", ""))
    return found


def figures(
    way: str, verdicts: Sequence[ClaimVerification], supported: Sequence[bool], used: UsageCount
) -> JudgeFigures:
    checked = [
        (v.is_flagged, good) for v, good in zip(verdicts, supported, strict=True) if v.status is not Status.UNCHECKED
    ]
    return JudgeFigures(
        way,
        len(verdicts),
        used.requests / len(verdicts),
        used.tokens / len(verdicts),
        _share([flagged for flagged, good in checked if good]),
        _share([not flagged for flagged, good in checked if not good]),
        len(verdicts) - len(checked),
    )


def _share(values: Sequence[bool]) -> float | None:
    return sum(values) / len(values) if values else None


async def measure(
    ways: Sequence[str], cards: Sequence[dict[str, Any]], per_card: int, *, cited: bool, local_llm: bool
) -> list[JudgeFigures]:
    supported = [claim["label"] == "entailment" for card in cards for claim in card["claims"][:per_card]]
    rows: list[JudgeFigures] = []
    first: list[ClaimVerification] = []
    for way in ways:
        config, backend = settings(way, local_llm)
        used = UsageCount()
        async with Groundwire(config, backend=backend) as engine:
            with track_usage(used):
                verdicts = await judged(engine, cards, per_card, cited)
        row = figures(way, verdicts, supported, used)
        first = first or verdicts
        pairs = zip(verdicts, first, strict=True)
        same = [a.is_flagged == b.is_flagged for a, b in pairs if Status.UNCHECKED not in (a.status, b.status)]
        rows.append(JudgeFigures(**{**asdict(row), "agree": _share(same)}))
        print(line(rows[-1]), flush=True)
    return rows


def line(row: JudgeFigures) -> str:
    def percent(value: float | None) -> str:
        return "–" if value is None else f"{100 * value:.0f} %"

    return (
        f"{row.way:8} {row.requests_per_claim:5.2f} requests and {row.tokens_per_claim:5.0f} prompt tokens a "
        f"claim, flagged {percent(row.supported_flagged)} of the supported, passed "
        f"{percent(row.unsupported_passed)} of the others, {row.unchecked} of {row.claims} unchecked, "
        f"agrees {percent(row.agree)}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cards", type=Path)
    parser.add_argument("--claims", type=int, default=60, help="claims to judge, about")
    parser.add_argument("--per-card", type=int, default=6, help="claims of one answer")
    parser.add_argument("--cited", action="store_true", help="claims cite their source")
    parser.add_argument("--local-llm", action="store_true", help="ask the model of the [llm] extra")
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=WAYS)
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    args = parser.parse_args()
    cards = read_cards(args.cards)[: max(1, args.claims // args.per_card)]
    rows = asyncio.run(measure(args.ways, cards, args.per_card, cited=args.cited, local_llm=args.local_llm))
    if args.json:
        args.json.write_text(json.dumps([asdict(row) for row in rows], indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
