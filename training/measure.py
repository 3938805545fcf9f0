"""Measure the candidate verifier with the package's own instruments.

python -m training.measure FOLDER --cards CARDS.jsonl --twins TWINS.jsonl
"""

from __future__ import annotations

import argparse
import asyncio
from pathlib import Path

from training.candidate.verifier import LocalVerifier

from groundwire.bench.cards import measure, read_cards
from groundwire.config import Config
from groundwire.engine import Groundwire
from groundwire.verifiers import backends
from groundwire.verifiers.wrappers import ThreadedVerifier


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--cards", type=Path, required=True)
    parser.add_argument("--twins", type=Path)
    parser.add_argument("--every", type=int, default=1, help="use every n-th card")
    parser.add_argument("--padding", type=int, default=10)
    options = parser.parse_args()
    candidate = LocalVerifier(options.folder)

    def opened(_: Config) -> backends.BackendSpec:
        return backends.BackendSpec(
            ThreadedVerifier(candidate),
            "candidate",
            candidate.identity,
            backends.UNLIMITED_TOKENS,
            candidate.threshold_bits(),
            risk_threshold=candidate.risk_threshold(),
        )

    backends.OPENERS["local"] = opened
    cards = read_cards(options.cards)[:: options.every]
    twins = read_cards(options.twins) if options.twins else []

    async def run() -> None:
        async with Groundwire(Config(), backend="local") as engine:
            print(await measure(engine, cards, twins, options.padding))

    asyncio.run(run())


if __name__ == "__main__":
    main()
