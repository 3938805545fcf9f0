"""Contrast cards: claims that do and do not follow from a document, and twins over edited documents.

A card is one JSON object per line: `id, source, question, claims [{text, label}], answer {text, errors}`.
Twins are small edits of a card's document, each of which changes the label of one claim. Neither word overlap
nor the claim alone determines the label, so only a verifier that reads the document scores well. See
`training/cards`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from groundwire import _loop
from groundwire.bench.measures import auroc
from groundwire.config import Config
from groundwire.engine import Groundwire
from groundwire.errors import InputError
from groundwire.types import ClaimVerification, Source, Status
from groundwire.verdicts.summary import claim_risk

MOVED = 0.1
"""Change of a claim's risk, due to unrelated documents, above which it counts as moved; by convention."""


_COUNTED = {
    "claims": "claims", "pairs": "pairs", "clean_answers": "answers", "wrong_answers": "answers", "padded": "claims",
}  # fmt: skip
_FIGURE_NAMES = {
    "auroc": ("AUROC, unsupported against supported", "claims"),
    "overlap_auroc": ("  word overlap alone", ""),
    "supported_flagged": ("supported claims flagged", ""),
    "contradictions_flagged": ("contradicted claims flagged", ""),
    "neutral_flagged": ("neutral claims flagged", ""),
    "contradictions_called": ("contradictions called CONTRADICTED", ""),
    "neutral_called_contradicted": ("neutral claims called CONTRADICTED", ""),
    "supported_called_contradicted": ("supported claims called CONTRADICTED", ""),
    "pairs_ordered": ("twins: unsupported one has the higher risk", "pairs"),
    "pairs_both_right": ("twins: both flags right", ""),
    "clean_left_alone": ("clean answers left alone", "clean_answers"),
    "wrong_flagged": ("wrong answers flagged", "wrong_answers"),
    "overlap_wrong_flagged": ("  by word overlap, with as many false alarms", ""),
    "padding_moved": (f"padding: risk moves by more than {MOVED}", "padded"),
    "padding_flips": ("padding: flag changes", ""),
}
"""The shares in the order they are printed, and the count that each is a share of."""


@dataclass(frozen=True, slots=True)
class CardClaim:
    """One claim over one version of a document. `pair` names the claim that a twin shares."""

    pair: str
    source: str
    text: str
    label: str
    twin: bool

    @property
    def supported(self) -> bool:
        return self.label == "entailment"


def read_cards(path: Path) -> list[dict[str, Any]]:
    """Read cards, one JSON object per line. Raises `InputError` with the number of an invalid line."""
    found = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if not line.strip():
            continue
        try:
            found.append(json.loads(line))
        except ValueError as error:
            raise InputError(f"{path}, line {number}: not JSON ({error})") from error
    if not found:
        raise InputError(f"{path} contains no cards")
    return found


def card_claims(cards: Sequence[dict[str, Any]], twins: Sequence[dict[str, Any]]) -> list[CardClaim]:
    """Every claim over its own document, and over its twin's if there is one."""
    edits = {twin["id"]: {edit["claim"]: edit for edit in twin["edits"]} for twin in twins}
    found = []
    for card in cards:
        for number, claim in enumerate(card["claims"]):
            pair = f"{card['id']}/{number}"
            found.append(CardClaim(pair, card["source"], claim["text"], claim["label"], twin=False))
            edit = edits.get(card["id"], {}).get(number)
            if edit:
                edited = card["source"]
                for change in (edit, *edit.get("more", [])):
                    edited = edited.replace(change["find"], change["replace"], 1)
                found.append(CardClaim(pair, edited, claim["text"], edit["label"], twin=True))
    return found


def word_overlap(source: str, claim: str) -> float:
    """Share of the claim's words that the source lacks: the baseline risk."""
    known = set(re.findall(r"\w+", source.lower()))
    words = re.findall(r"\w+", claim.lower())
    return sum(word not in known for word in words) / max(1, len(words))


def claim_figures(claims: Sequence[CardClaim], verdicts: Sequence[ClaimVerification]) -> dict[str, Any]:
    """AUROC, flags and statuses over the claims of cards (twins are counted by `pair_figures`)."""
    own = [(claim, verdict) for claim, verdict in zip(claims, verdicts, strict=True) if not claim.twin]
    wrong = np.array([not claim.supported for claim, _ in own])
    risk = np.array([claim_risk(verdict) for _, verdict in own])
    overlap = np.array([word_overlap(claim.source, claim.text) for claim, _ in own])

    def flagged(label: str) -> float | None:
        return _share([v.is_flagged for c, v in own if c.label == label])

    def called(label: str) -> float | None:
        return _share([v.status is Status.CONTRADICTED for c, v in own if c.label == label])

    return {
        "claims": len(own),
        "auroc": auroc(wrong, risk),
        "overlap_auroc": auroc(wrong, overlap),
        "supported_flagged": flagged("entailment"),
        "contradictions_flagged": flagged("contradiction"),
        "neutral_flagged": flagged("neutral"),
        "contradictions_called": called("contradiction"),
        "neutral_called_contradicted": called("neutral"),
        "supported_called_contradicted": called("entailment"),
    }


def pair_figures(claims: Sequence[CardClaim], verdicts: Sequence[ClaimVerification]) -> dict[str, Any]:
    """Pairs of a claim over two documents: unsupported one has the higher risk; both flags right."""
    by_pair: dict[str, list[tuple[CardClaim, ClaimVerification]]] = {}
    for claim, verdict in zip(claims, verdicts, strict=True):
        by_pair.setdefault(claim.pair, []).append((claim, verdict))
    ordered, right = [], []
    for pair in by_pair.values():
        if len(pair) == 2 and pair[0][0].supported != pair[1][0].supported:
            good, bad = sorted(pair, key=lambda item: not item[0].supported)
            ordered.append(claim_risk(bad[1]) > claim_risk(good[1]))
            right.append(bad[1].is_flagged and not good[1].is_flagged)
    return {"pairs": len(ordered), "pairs_ordered": _share(ordered), "pairs_both_right": _share(right)}


async def answer_figures(engine: Groundwire, cards: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Clean answers left alone, and answers with errors flagged; beside them, word overlap's share of the latter."""
    clean: list[bool] = []
    wrong: list[bool] = []
    overlap: tuple[list[float], list[float]] = [], []
    for card in cards:
        for answer in (card.get("answer"), *card.get("answers", [])):
            if answer:
                report = await engine.check(answer["text"], card["source"], question=card.get("question", ""))
                (wrong if answer["errors"] else clean).append(bool(report.flagged))
                overlap[bool(answer["errors"])].append(word_overlap(card["source"], answer["text"]))
    left = _share([not flag for flag in clean])
    return {
        "clean_answers": len(clean),
        "clean_left_alone": left,
        "wrong_answers": len(wrong),
        "wrong_flagged": _share(wrong),
        "overlap_wrong_flagged": caught_at(*overlap, sum(clean)),
    }


def caught_at(clean: Sequence[float], wrong: Sequence[float], false_alarms: int) -> float | None:
    """The share of wrong answers over a threshold that is exceeded by this many clean ones.

    >>> caught_at([0.1, 0.2, 0.5], [0.15, 0.3, 0.6], 1)
    0.6666666666666666
    """
    if false_alarms >= len(clean):
        return _share([True for _ in wrong])
    threshold = sorted(clean, reverse=True)[false_alarms]
    return _share([risk > threshold for risk in wrong])


async def padding_figures(
    engine: Groundwire, claims: Sequence[CardClaim], verdicts: Sequence[ClaimVerification]
) -> dict[str, Any]:
    """The effect of two unrelated documents around a source on the verdicts."""
    own = [(claim, verdict) for claim, verdict in zip(claims, verdicts, strict=True) if not claim.twin]
    documents = list(dict.fromkeys(claim.source for claim, _ in own))
    moved, flips = [], []
    for claim, verdict in own:
        at = documents.index(claim.source)
        # Three and seven documents further: other subjects, the same in every run.
        before, after = documents[(at + 3) % len(documents)], documents[(at + 7) % len(documents)]
        if len({before, after, claim.source}) < 3:
            continue
        padded = [Source("S0", before), Source("S1", claim.source), Source("S2", after)]
        again = await engine.verify_claim(claim.text, padded)
        moved.append(abs(claim_risk(again) - claim_risk(verdict)) > MOVED)
        flips.append(again.is_flagged != verdict.is_flagged)
    return {"padded": len(moved), "padding_moved": _share(moved), "padding_flips": _share(flips)}


async def measure(
    engine: Groundwire, cards: Sequence[dict[str, Any]], twins: Sequence[dict[str, Any]], padding_cards: int
) -> dict[str, Any]:
    """Measure all figures: counts, and shares (None if there is nothing to count).

    Those of padding are measured on the first `padding_cards` cards only.
    """
    claims = card_claims(cards, twins)
    verdicts = [await engine.verify_claim(claim.text, claim.source) for claim in claims]
    few = {card["source"] for card in cards[:padding_cards]}
    sample = [(c, v) for c, v in zip(claims, verdicts, strict=True) if c.source in few]
    return {
        **claim_figures(claims, verdicts),
        **pair_figures(claims, verdicts),
        **await answer_figures(engine, cards),
        **await padding_figures(engine, [c for c, _ in sample], [v for _, v in sample]),
    }


@dataclass(frozen=True, slots=True)
class SureRange:
    """Where the verifier may decide alone: P(yes) up to `low` or from `high` on.

    `below` and `above` count the claims there, the shares say how many of them it judges right.
    """

    low: float
    high: float
    claims: int
    below: int
    below_right: float | None
    above: int
    above_right: float | None


def sure_range(p_yes: Sequence[float], supported: Sequence[bool], right: float = 0.9, least: int = 20) -> SureRange:
    """The widest ranges at both ends in which at least a share `right` of labelled claims is judged right.

    Args:
        least: claims that an end needs; with fewer, nothing is settled there.

    >>> found = sure_range([0.1, 0.2, 0.4, 0.6, 0.9], [False, False, True, False, True], least=1)
    >>> found.low, found.high, found.below, found.above
    (0.2, 0.9, 2, 1)
    """
    ordered = sorted(zip(p_yes, supported, strict=True))
    low, below, below_right = _surest([(p, not good) for p, good in ordered], right, least)
    high, above, above_right = _surest([(p, good) for p, good in reversed(ordered)], right, least)
    return SureRange(
        0.0 if low is None else low, 1.0 if high is None else high, len(ordered), below, below_right, above, above_right
    )


def _surest(claims: Sequence[tuple[float, bool]], right: float, least: int) -> tuple[float | None, int, float | None]:
    """The last P(yes) from one end up to which enough claims are right, with their number and share."""
    found: tuple[float | None, int, float | None] = (None, 0, None)
    correct = 0
    for count, (p_yes, good) in enumerate(claims, 1):
        correct += good
        tied = count < len(claims) and claims[count][0] == p_yes
        if count >= least and correct >= right * count and not tied:
            found = (p_yes, count, correct / count)
    return found


def cascade_range(config: Config, claims: Sequence[CardClaim], right: float) -> SureRange:
    """Judge labelled claims with the embedded verifier, and derive `cascade.low` and `cascade.high`."""

    async def judged() -> list[ClaimVerification]:
        async with Groundwire(config, backend="local") as engine:
            return [await engine.verify_claim(claim.text, claim.source) for claim in claims]

    checked = [(v.p1, c.supported) for c, v in zip(claims, _loop.run(judged()), strict=True) if v.p1 is not None]
    return sure_range([p for p, _ in checked], [good for _, good in checked], right)


def range_lines(found: SureRange) -> list[str]:
    rows = (("low", found.low, found.below, found.below_right), ("high", found.high, found.above, found.above_right))
    return [
        f"cascade.{name}: {value:.2f}  {count} of {found.claims} claims beyond it, "
        + ("too few" if share is None else f"{100 * share:.0f} % right")
        for name, value, count, share in rows
    ]


def run_cascade(
    console: Console, config: Config, cards: Path, twins: Path | None, right: float, out: Path | None
) -> int:
    """Derive the thresholds of the cascade from a file of cards and print them; returns the exit code."""
    found = cascade_range(config, card_claims(read_cards(cards), read_cards(twins) if twins else []), right)
    if out:
        out.write_text(json.dumps(asdict(found), indent=1) + "\n", encoding="utf-8")
    for line in range_lines(found):
        console.print(line)
    return 0


def run_cards(
    console: Console, config: Config, cards: Path, twins: Path | None, padding_cards: int, out: Path | None
) -> int:
    """Measure and print; returns the exit code."""
    found = read_cards(cards)
    edits = read_cards(twins) if twins else []

    async def judged() -> dict[str, Any]:
        async with Groundwire(config) as engine:
            return await measure(engine, found, edits, padding_cards)

    figures = _loop.run(judged())
    if out:
        out.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    table = Table("figure", "value", "of", title="contrast cards", title_justify="left")
    for key, (name, count) in _FIGURE_NAMES.items():
        value, of = figures[key], f"{figures[count]} {_COUNTED[count]}" if count else ""
        table.add_row(name, "–" if value is None else f"{value:.3f}", of)
    console.print(table)
    return 0


def _share(flags: Sequence[bool]) -> float | None:
    return sum(flags) / len(flags) if flags else None
