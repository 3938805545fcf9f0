"""The refined score: its maths, and that it only ever stands beside the detector's own confidence."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.config import EvidenceWeights
from groundwire.detectors.wording import (
    HistoryEvidence,
    KBEvidence,
    Signal,
    SignalKind,
    consistency_factor,
    linguistic_factor,
    score,
    with_scores,
)  # fmt: skip
from groundwire.types import Flag, HallucinationType, Segment

KINDS = list(HallucinationType)


def flag(kind: HallucinationType = HallucinationType.CONTRADICTS_PRIOR, content: str = "on Friday") -> Flag:
    return Flag(kind, 0, len(content), content, 0.7)


def test_nothing_else_known_it_is_the_severity() -> None:
    assert [score(flag(kind)) for kind in KINDS] == [kind.base_severity for kind in KINDS]


def test_worked_example() -> None:
    kb = KBEvidence(contradicts=True, confidence=0.8)  # 1.24
    history = HistoryEvidence(contradicts=False)  # 0.7
    signals = [Signal(SignalKind.HEDGING, 0.5), Signal(SignalKind.CERTAINTY_MARKER)]  # 0.85 x 1.15
    others = [flag(content="elsewhere")]  # same kind: 1.1
    expected = 0.80 * (0.35 * 1.24 + 0.65) * (0.25 * 0.7 + 0.75) * (0.20 * 0.85 * 1.15 + 0.80) * (0.20 * 1.1 + 0.80)
    assert score(flag(), kb, history, signals, others) == pytest.approx(expected)


def test_knowledge_that_bears_it_out_halves_its_share() -> None:
    assert score(flag(), KBEvidence()) == pytest.approx(0.80 * (0.35 * 0.5 + 0.65))
    assert score(flag(), KBEvidence(unverifiable=True)) == score(flag())


@pytest.mark.parametrize(
    ("kind", "factor"),
    [
        (SignalKind.HEDGING, 0.7), (SignalKind.OVERCONFIDENCE, 1.2), (SignalKind.VAGUENESS, 1.0),
        (SignalKind.SELF_CORRECTION, 0.8), (SignalKind.CERTAINTY_MARKER, 1.15),
    ],
)  # fmt: skip
def test_what_wording_is_worth(kind: SignalKind, factor: float) -> None:
    assert linguistic_factor([Signal(kind)]) == pytest.approx(factor)


def test_related_flags_count_up_to_three() -> None:
    factors = [consistency_factor(flag(), [flag()] * count) for count in range(6)]
    assert factors == pytest.approx([1.0, 1.1, 1.2, 1.3, 1.3, 1.3])
    other = flag(HallucinationType.TEMPORAL_ERROR, "quite another thing")
    assert consistency_factor(flag(), [other]) == 1.0


SHARES = st.floats(0, 1)
WEIGHTS = st.builds(
    EvidenceWeights, kb_evidence=SHARES, history_evidence=SHARES, linguistic_signals=SHARES, consistency=SHARES
)
SIGNALS = st.lists(st.builds(Signal, st.sampled_from(list(SignalKind)), SHARES), max_size=6)
FLAGS = st.builds(flag, st.sampled_from(KINDS), st.text(max_size=8))


@given(FLAGS, st.none() | st.builds(KBEvidence, st.booleans(), st.booleans(), SHARES),
       st.none() | st.builds(HistoryEvidence, st.booleans(), SHARES), SIGNALS, st.lists(FLAGS, max_size=5))  # fmt: skip
def test_always_a_share(
    one: Flag, kb: KBEvidence | None, history: HistoryEvidence | None, signals: list[Signal], others: list[Flag]
) -> None:
    assert 0.0 <= score(one, kb, history, signals, others) <= 1.0


@given(FLAGS, WEIGHTS, SHARES)
def test_contradiction_never_lowers_it_and_support_never_raises_it(
    one: Flag, weights: EvidenceWeights, sure: float
) -> None:
    alone = score(one, weights=weights)
    slack = 1e-12
    assert score(one, KBEvidence(contradicts=True, confidence=sure), weights=weights) >= alone - slack
    assert score(one, KBEvidence(), weights=weights) <= alone + slack
    assert score(one, None, HistoryEvidence(True, sure), weights=weights) >= alone - slack
    assert score(one, None, HistoryEvidence(False, sure), weights=weights) <= alone + slack


@given(FLAGS, SIGNALS, st.lists(FLAGS, max_size=5))
def test_without_weights_evidence_does_not_count(one: Flag, signals: list[Signal], others: list[Flag]) -> None:
    none = EvidenceWeights(kb_evidence=0, history_evidence=0, linguistic_signals=0, consistency=0)
    kb, history = KBEvidence(contradicts=True), HistoryEvidence(contradicts=True)
    assert score(one, kb, history, signals, others, none) == pytest.approx(one.severity)


def test_it_stands_beside_the_confidence_with_the_wording_that_moved_it() -> None:
    text = "It is definitely on Friday."
    (made,) = with_scores([flag()], [Segment(0, text, 0, len(text))])
    assert made.confidence == 0.7
    assert made.score == pytest.approx(min(1.0, 0.8 * (0.25 * (1 + 0.25 * 0.7) + 0.75) * (0.2 * 1.15 + 0.8)))
    assert ("linguistic", "CertaintyMarker: definitely") in made.related
