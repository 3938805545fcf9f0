from __future__ import annotations

from math import log2

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from groundwire.errors import BackendError, InputError
from groundwire.types import Estimate
from groundwire.verifiers.dependence import entropy_of, semantic_entropy
from groundwire.verifiers.fake import FakeVerifier

QUESTION = "What is the capital of France?"


@pytest.mark.spec("SPEC-16.08")
async def test_answers_that_mean_the_same_have_no_entropy() -> None:
    found = await semantic_entropy(["Paris", "It is Paris.", "Paris!"], FakeVerifier(), QUESTION)
    assert (found.bits, found.low, found.clusters, float(found)) == (0.0, 0.0, ((0, 1, 2),), 0.0)
    assert found.high > 0.0


async def test_answers_that_scatter_have_it_and_the_largest_meaning_comes_first() -> None:
    found = await semantic_entropy(["Lyon", "Paris", "It is Paris.", "Nice"], FakeVerifier(), QUESTION)
    assert found.clusters == ((1, 2), (0,), (3,))
    assert found.low <= 1.5 <= found.bits <= found.high


async def test_what_cannot_be_compared_is_no_entropy_of_zero() -> None:
    fake = FakeVerifier(lambda _: Estimate.failed("timeout"))
    with pytest.raises(BackendError, match="could not be compared"):
        await semantic_entropy(["weak demand", "few buyers"], fake)


@pytest.mark.parametrize("samples", [[], ["a"] * 201, [None]])
async def test_nothing_and_too_much_are_refused(samples: list[str]) -> None:
    with pytest.raises(InputError):
        await semantic_entropy(samples, FakeVerifier())


async def test_calls_grow_with_the_meanings_not_with_the_pairs() -> None:
    fake = FakeVerifier(lambda query: (0.9, 0.0) if query.claim[0] == query.context[0] else (0.1, 0.0))
    samples = [f"{'ab'[i % 2]} reason number {'abcdefghij'[i // 10]}{'klmnopqrst'[i % 10]}" for i in range(60)]
    found = await semantic_entropy(samples, fake)
    assert len(found.clusters) == 2
    assert len(fake.calls) <= 2


@given(st.lists(st.integers(1, 20), min_size=1, max_size=6), st.integers(2, 6))
@settings(max_examples=50)
def test_more_samples_of_the_same_shares_narrow_the_interval(counts: list[int], times: int) -> None:
    few, many = entropy_of(counts), entropy_of([count * times for count in counts])
    assert 0.0 <= few.low <= few.bits <= few.high
    assert many.high - many.low <= few.high - few.low
    assert many.low <= sum(-p * log2(p) for p in (c / sum(counts) for c in counts)) + 1e-9
