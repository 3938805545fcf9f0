"""The double itself: deterministic, scripted, able to fail and to hang."""

from __future__ import annotations

import asyncio

import pytest

from groundwire.config import Config
from groundwire.errors import BackendDown
from groundwire.types import Estimate, Query
from groundwire.verifiers import backends
from groundwire.verifiers.fake import RECORDED_CALLS, FakeVerifier


async def test_without_a_script_it_believes_what_the_context_says_word_for_word() -> None:
    yes, no = await FakeVerifier().estimate(
        [Query("The sky is blue.", "We know: the sky\nis blue, always."), Query("The sky is green.", "Blue.")]
    )
    assert yes.p_yes > 0.9
    assert no.p_yes < 0.1


async def test_a_table_answers_by_substring_and_the_first_match_wins() -> None:
    fake = FakeVerifier({"Paris": (0.9, 0.05), "capital": (0.2, 0.7)}, default=(0.5, 0.1))
    queries = [Query("Paris is a capital.", ""), Query("Rome is a capital.", ""), Query("No.", "")]
    assert [e.p_yes for e in await fake.estimate(queries)] == [0.9, 0.2, 0.5]


async def test_a_function_may_look_at_the_context_and_return_whole_estimates() -> None:
    fake = FakeVerifier(lambda q: (0.9, 0.0) if q.context else Estimate.failed("error: no context"))
    good, bad = await fake.estimate([Query("x", "c"), Query("x", "")])
    assert (good.p_yes, bad.error) == (0.9, "error: no context")


async def test_it_fails_as_scripted_and_counts_what_was_asked() -> None:
    fake = FakeVerifier(failing=[BackendDown("gone"), None])
    with pytest.raises(BackendDown, match="gone"):
        await fake.estimate([Query("a", "")])
    await fake.estimate([Query("a", ""), Query("b", "")])
    assert (len(fake.calls), fake.queries) == (2, 3)


async def test_it_hangs_until_told_otherwise() -> None:
    release = asyncio.Event()
    fake = FakeVerifier(hold=release)
    task = asyncio.create_task(fake.estimate([Query("a", "")]))
    await asyncio.sleep(0)
    assert not task.done()
    release.set()
    assert len(await task) == 1


async def test_the_backend_records_nothing() -> None:
    """A server with the backend `fake` must not grow with every request."""
    backend = backends.OPENERS["fake"](Config())
    assert isinstance(backend.verifier, FakeVerifier)
    await backend.verifier.estimate([Query("It is red.", "It is red.")])
    assert backend.verifier.calls == []


def test_it_records_a_bounded_number_of_calls() -> None:
    fake = FakeVerifier()
    fake.calls += [()] * RECORDED_CALLS
    [found] = asyncio.run(fake.estimate([Query("It is red.", "It is red.")]))
    assert found.p_yes > 0.9
    assert len(fake.calls) == RECORDED_CALLS
