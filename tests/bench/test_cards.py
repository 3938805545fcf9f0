"""Contrast cards: what is counted, on cards small enough to count by hand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from groundwire.bench.cards import (
    CardClaim,
    card_claims,
    caught_at,
    claim_figures,
    measure,
    pair_figures,
    read_cards,
    sure_range,
    word_overlap,
)
from groundwire.cli import main
from groundwire.config import Config
from groundwire.engine import Groundwire
from groundwire.errors import InputError
from groundwire.types import Claim, ClaimVerification, Status
from groundwire.verdicts.judge import unchecked

SOURCE = "The ferry leaves at nine. Dogs travel free. A ticket costs 14 euros."
CARD = {
    "id": "t-1",
    "source": SOURCE,
    "question": "When does it leave?",
    "claims": [
        {"text": "The ferry leaves at nine.", "label": "entailment"},
        {"text": "The ferry leaves at ten.", "label": "contradiction"},
        {"text": "The ferry is blue.", "label": "neutral"},
    ],
    "answer": {"text": "The ferry leaves at nine.", "errors": []},
}
TWIN = {"id": "t-1", "edits": [{"claim": 1, "find": "at nine", "replace": "at ten", "label": "entailment"}]}


def verdict(p1: float, status: Status, flagged: bool) -> ClaimVerification:
    from dataclasses import replace

    blank = unchecked(Claim("c1", "x", 0, 1), "not asked")
    return replace(blank, p1=p1, p0=0.05, status=status, is_flagged=flagged)


def test_a_twin_is_the_same_claim_over_the_edited_document() -> None:
    claims = card_claims([CARD], [TWIN])
    assert [(c.label, c.twin) for c in claims] == [
        ("entailment", False),
        ("contradiction", False),
        ("entailment", True),
        ("neutral", False),
    ]
    assert claims[2].source == SOURCE.replace("at nine", "at ten")
    assert claims[1].pair == claims[2].pair


def test_claims_are_counted_by_label() -> None:
    claims = [c for c in card_claims([CARD], []) if not c.twin]
    verdicts = [
        verdict(0.9, Status.ENTAILED, flagged=False),
        verdict(0.1, Status.CONTRADICTED, flagged=True),
        verdict(0.95, Status.ENTAILED, flagged=False),
    ]
    figures = claim_figures(claims, verdicts)
    assert figures["auroc"] == 0.5
    assert figures["contradictions_called"] == 1.0
    assert figures["neutral_flagged"] == 0.0
    assert figures["supported_flagged"] == 0.0


@pytest.mark.parametrize(("good", "bad", "ordered", "right"), [(0.9, 0.1, 1.0, 1.0), (0.3, 0.6, 0.0, 0.0)])
def test_a_pair_is_right_when_only_the_unsupported_one_is_flagged(
    good: float, bad: float, ordered: float, right: float
) -> None:
    claims = [CardClaim("p", "a", "x", "entailment", twin=False), CardClaim("p", "b", "x", "neutral", twin=True)]
    verdicts = [
        verdict(good, Status.ENTAILED, flagged=good < 0.5),
        verdict(bad, Status.NOT_IN_CONTEXT, flagged=bad < 0.5),
    ]
    figures = pair_figures(claims, verdicts)
    assert (figures["pairs"], figures["pairs_ordered"], figures["pairs_both_right"]) == (1, ordered, right)


def test_word_overlap_is_the_share_of_new_words() -> None:
    assert word_overlap("A red car.", "a blue car") == pytest.approx(1 / 3)


async def test_all_figures_come_from_one_run() -> None:
    others = [
        {**CARD, "id": f"t-{n}", "source": f"Bridge {n} is {n} metres long. It opened in 19{n}."} for n in range(20, 30)
    ]
    async with Groundwire(Config(), backend="fake") as engine:
        figures = await measure(engine, [CARD, *others], [TWIN], padding_cards=11)
    assert figures["claims"] == 33
    assert figures["pairs"] == 1
    assert figures["clean_answers"] == 11
    assert figures["overlap_wrong_flagged"] is None  # there are no wrong answers
    assert figures["padded"] > 0


@pytest.mark.parametrize(("false_alarms", "caught"), [(0, 1 / 3), (1, 2 / 3), (2, 1.0), (3, 1.0)])
def test_word_overlap_is_measured_with_as_many_false_alarms(false_alarms: int, caught: float) -> None:
    assert caught_at([0.1, 0.2, 0.5], [0.15, 0.3, 0.6], false_alarms) == pytest.approx(caught)


def test_a_broken_line_is_named(tmp_path: Path) -> None:
    path = tmp_path / "cards.jsonl"
    path.write_text(json.dumps(CARD) + "\nnot json\n", encoding="utf-8")
    with pytest.raises(InputError, match="line 2"):
        read_cards(path)


def test_an_empty_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "cards.jsonl"
    path.write_text("\n", encoding="utf-8")
    with pytest.raises(InputError, match="no cards"):
        read_cards(path)


def test_beyond_the_derived_thresholds_nine_of_ten_claims_are_right() -> None:
    p_yes = [n / 100 for n in range(100)]
    supported = [n >= 50 if n % 5 else n < 50 for n in range(100)]  # a fifth is judged wrong, save at the ends
    supported = [n > 50 if n < 30 or n > 80 else good for n, good in enumerate(supported)]
    found = sure_range(p_yes, supported)
    assert found.below_right is not None
    assert found.above_right is not None
    assert min(found.below_right, found.above_right) >= 0.9
    below = [not good for p, good in zip(p_yes, supported, strict=True) if p <= found.low]
    assert (len(below), sum(below) / len(below)) == (found.below, found.below_right)
    assert 0.29 <= found.low < found.high <= 0.81


def test_where_too_few_claims_are_right_everything_is_left_to_the_language_model() -> None:
    found = sure_range([n / 100 for n in range(100)], [bool(n % 2) for n in range(100)])
    assert (found.low, found.high, found.below, found.above) == (0.0, 1.0, 0, 0)


def test_the_thresholds_of_the_cascade_are_printed_for_ones_own_claims(tmp_path: Path) -> None:
    path, out = tmp_path / "cards.jsonl", tmp_path / "range.json"
    path.write_text(json.dumps(CARD) + "\n", encoding="utf-8")
    found = CliRunner().invoke(main.app, ["bench", "cascade", str(path), "--json", str(out)])
    assert found.exit_code == 0, found.output
    assert "cascade.low: 0.00  0 of 3 claims beyond it, too few" in found.output
    assert json.loads(out.read_text())["claims"] == 3
