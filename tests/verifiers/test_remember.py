"""A growing text's queries are asked once; what failed is asked again."""

from __future__ import annotations

from groundwire.errors import BackendDown
from groundwire.types import Query
from groundwire.verifiers.fake import FakeVerifier
from groundwire.verifiers.wrappers import MemoizedVerifier, SafeVerifier

SKY, SEA = (Query("The sky is blue.", "The sky is blue."), Query("The sea is red.", "The sky is blue.", "What is?"))


async def test_what_was_asked_is_not_asked_again() -> None:
    fake = FakeVerifier()
    memo = MemoizedVerifier(fake)
    first = await memo.estimate([SKY, SKY])
    again = await memo.estimate([SEA, SKY])
    assert (first[0], first[1]) == (again[1], again[1])
    assert [len(call) for call in fake.calls] == [1, 1]
    assert (memo.hits, memo.misses) == (2, 2)
    assert again == await FakeVerifier().estimate([SEA, SKY])


async def test_a_question_or_another_context_makes_another_query() -> None:
    fake = FakeVerifier()
    memo = MemoizedVerifier(fake)
    await memo.estimate([SEA, Query(SEA.claim, SEA.context), Query(SEA.claim, "", SEA.question)])
    assert fake.queries == 3


async def test_failures_are_asked_once_more() -> None:
    memo = MemoizedVerifier(SafeVerifier(FakeVerifier(failing=[BackendDown("gone")]), "fake"))
    assert (await memo.estimate([SKY]))[0].error
    assert (await memo.estimate([SKY]))[0].error is None
    assert await memo.estimate([]) == []
