"""The table of confidences, the quality factor and the threshold, exactly."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.config import RealTimeConfig
from groundwire.errors import InputError
from groundwire.streaming.attribution import BASE, score, score_confidence
from groundwire.types.stream import Attribution, SourceType


@pytest.mark.parametrize(
    ("kind", "base"),
    [("direct_observation", 0.9), ("file_content", 0.8), ("inference", 0.6), ("user_statement", 0.7), ("none", 0.3)],
)
def test_the_table(kind: str, base: float) -> None:
    assert score(SourceType(kind)) == base


def test_what_lies_below_the_threshold_is_a_potential_hallucination_and_the_threshold_itself_is_not() -> None:
    config = RealTimeConfig(hallucination_threshold=0.8)
    at = score_confidence(Attribution("c", SourceType.FILE_CONTENT), config)
    below = score_confidence(Attribution("c", SourceType.FILE_CONTENT, quality=0.99), config)
    assert (at.confidence, at.potential_hallucination) == (0.8, False)
    assert below.potential_hallucination


def test_a_source_that_could_not_be_verified_counts_as_none() -> None:
    found = Attribution("c", SourceType.FILE_CONTENT, reason="unverifiable_source")
    assert score_confidence(found).confidence == 0.3


@given(st.sampled_from(list(SourceType)), st.floats(0, 1), st.floats(0, 1))
def test_better_sources_never_lower_the_score(kind: SourceType, a: float, b: float) -> None:
    low, high = sorted((a, b))
    assert 0.0 <= score(kind, low) <= score(kind, high) <= BASE[kind]


@pytest.mark.parametrize("quality", [-0.1, 1.1, float("nan")])
def test_a_quality_that_is_no_share_is_refused(quality: float) -> None:
    with pytest.raises(InputError, match="between 0 and 1"):
        score(SourceType.NONE, quality)
