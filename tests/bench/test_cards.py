"""Contrast cards: what is counted, on cards small enough to count by hand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from groundwire.bench.cards import (
    CardClaim,
    card_claims,
    claim_figures,
    measure,
    pair_figures,
    read_cards,
    word_overlap,
)
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
    assert figures["padded"] > 0


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
