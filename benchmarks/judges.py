"""What a language model costs as the judge, and what it is worth: `python -m benchmarks.judges CARDS.jsonl`.

Measures ways to ask the same model about the same claims (contrast cards, see `groundwire bench cards`):

    single     every claim in a request of its own, with the evidence selected for it, p0 where it counts
    alone      every claim and every probability in a request of its own, with the whole context
    shared     the backend as it is: selected evidence, shared requests, p0 where it counts
    cascade    the embedded verifier first, the model for what is in doubt
    local      the embedded verifier by itself, which costs no request

and prints requests and prompt tokens per claim, both error rates, accuracy, how many verdicts agree with those
of the first way named, and the claims that only one of the two gets right, with McNemar's exact test.
The server is the one of the configuration (`OPENAI_BASE_URL`), or with `--local-llm` the model of the [llm]
extra, a small one: it shows what requests cost, not how well a judge judges.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from groundwire.bench.cards import read_cards
from groundwire.config import BackendName, Config
from groundwire.engine import Groundwire
from groundwire.llm.base import Completion, track_usage
from groundwire.reports.batch import mcnemar
from groundwire.types import Claim, ClaimVerification, Status

CITED = "S0"
TIMEOUT = 3600  # seconds: a slow machine must not change the verdicts
ALONE: dict[str, Any] = {"claims_per_request": 1, "evidence_tokens": 6000}
SINGLE: dict[str, Any] = {"claims_per_request": 1}
WAYS = ("single", "shared", "cascade", "local", "alone")


@dataclass(frozen=True, slots=True)
class JudgeFigures:
    """One way of asking: costs per claim, error rates (None without such claims), and beside the first way.

    `gained` and `lost` count the claims that this way alone, or the first way alone, judges right.
    """

    way: str
    claims: int
    requests_per_claim: float
    tokens_per_claim: float
    supported_flagged: float | None
    unsupported_passed: float | None
    unchecked: int
    accuracy: float | None = None
    agree: float | None = None
    gained: int = 0
    lost: int = 0
    p_value: float = 1.0


@dataclass(slots=True)
class UsageCount:
    requests: int = 0
    tokens: int = 0

    def __call__(self, _: str, done: Completion) -> None:
        self.requests += 1
        self.tokens += done.prompt_tokens


def settings(way: str, local_llm: bool) -> tuple[Config, BackendName]:
    """The configuration of one way of asking; nothing is read from or written to a cache."""
    given: dict[str, Any] = {"store.cache_path": "", "hallucination.timeout": TIMEOUT}
    judge: BackendName = "openai"
    if local_llm:
        judge, given["generator.provider"] = "self", "llm"
    if way == "alone":
        given |= {"bits": True, **{f"openai.{key}": value for key, value in ALONE.items()}}
    if way == "single":
        given |= {f"openai.{key}": value for key, value in SINGLE.items()}
    given["cascade.llm"] = judge
    backend: BackendName = way if way in ("cascade", "local") else judge
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
        _share([flagged is not good for flagged, good in checked]),
    )


def beside(
    row: JudgeFigures,
    verdicts: Sequence[ClaimVerification],
    first: Sequence[ClaimVerification],
    supported: Sequence[bool],
) -> JudgeFigures:
    """The figures with those that compare a way with the first one, over the claims that both checked."""
    both = [
        (own.is_flagged, other.is_flagged, good)
        for own, other, good in zip(verdicts, first, supported, strict=True)
        if Status.UNCHECKED not in (own.status, other.status)
    ]
    differ = [own is not good for own, other, good in both if own is not other]
    gained, lost = sum(differ), len(differ) - sum(differ)
    same = _share([own is other for own, other, _ in both])
    return replace(row, agree=same, gained=gained, lost=lost, p_value=mcnemar(gained, lost))


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
        first = first or verdicts
        rows.append(beside(figures(way, verdicts, supported, used), verdicts, first, supported))
        print(line(rows[-1]), flush=True)
    return rows


def line(row: JudgeFigures) -> str:
    def percent(value: float | None) -> str:
        return "–" if value is None else f"{100 * value:.0f} %"

    return (
        f"{row.way:8} {row.requests_per_claim:5.2f} requests and {row.tokens_per_claim:5.0f} prompt tokens a "
        f"claim, flagged {percent(row.supported_flagged)} of the supported, passed "
        f"{percent(row.unsupported_passed)} of the others, {row.unchecked} of {row.claims} unchecked, "
        f"accuracy {percent(row.accuracy)}, agrees {percent(row.agree)}, "
        f"{row.gained} gained and {row.lost} lost (p = {row.p_value:.2g})"
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
