"""Derive `cascade.low` and `cascade.high` on the cards that the calibration is fitted on.

python -m training.cascade [--most 450]     # with the weights in the package; set the result in config/sections.py
"""

from __future__ import annotations

import argparse
import random

from training.grounded import CARDS, HELD_OUT_WRITERS, OWN_CARDS, for_calibration

from groundwire.bench.cards import CardClaim, card_claims, cascade_range, range_lines, read_cards
from groundwire.config import Config


def calibration_claims() -> list[CardClaim]:
    """The claims, with their twins, of the tenth of the cards that training never sees; always in the same order."""
    cards, twins = read_cards(CARDS / "cards.train.jsonl"), read_cards(CARDS / "twins.train.jsonl")
    for path in sorted(OWN_CARDS.glob("*.cards.jsonl")):
        if path.name.split(".")[0] not in HELD_OUT_WRITERS:
            cards += read_cards(path)
            twins += read_cards(path.with_name(path.name.replace(".cards.", ".twins.")))
    claims = card_claims([card for card in cards if for_calibration(card["id"])], twins)
    random.Random(7).shuffle(claims)
    return claims


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--most", type=int, default=450, help="claims to judge")
    parser.add_argument("--right", type=float, default=0.9, help="share that must be right")
    options = parser.parse_args()
    print("\n".join(range_lines(cascade_range(Config(), calibration_claims()[: options.most], options.right))))


if __name__ == "__main__":
    main()
