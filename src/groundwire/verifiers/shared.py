"""Several claims in one request: claims of an answer share a prompt and a reply where the server allows."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Sequence

from groundwire.errors import GroundwireError, QueryRefused
from groundwire.types import Estimate, Query
from groundwire.verifiers.wrappers import Fanout, failure

Together = Callable[[Sequence[Query]], Awaitable[list[Estimate | None]]]
"""Judges the queries of one request; None for a query that the reply has no usable answer to."""

CHARS_PER_TOKEN = 3
"""Rather too few: data and punctuation take more tokens than prose."""
_LINE = re.compile(r"^[\s*#-]*(?:claim\s+)?(\d{1,6})\s*(?:[.)\]*]*:|[.)\]]+(?!\d))(.*)$", re.IGNORECASE | re.MULTILINE)


def numbered_lines(text: str) -> list[tuple[int, str]]:
    """The lines of a reply that begin with a number, in order.

    >>> numbered_lines("Sure:\\n1: YES\\n**2.** NO")
    [(1, ' YES'), (2, '** NO')]
    >>> numbered_lines("0.9 SUPPORTED")
    []
    """
    return [(int(number), rest) for number, rest in _LINE.findall(text)]


def pack(queries: Sequence[Query], size: int, room: int) -> list[list[int]]:
    """Group queries of one question into requests of at most `size` claims and `room` characters of context.

    >>> queries = [Query("1", "aaaa"), Query("2", "bbbb"), Query("3", "aaaa"), Query("4", "cccc")]
    >>> pack(queries, 8, 10)
    [[0, 2, 1], [3]]
    """
    order = list(dict.fromkeys((query.question, query.context) for query in queries))
    ranked = sorted(range(len(queries)), key=lambda i: order.index((queries[i].question, queries[i].context)))
    packs: list[list[int]] = []
    for i in ranked:
        members = packs[-1] if packs else []
        contexts = {queries[j].context for j in members} | {queries[i].context}
        fits = len(members) < size and sum(map(len, contexts)) <= room
        if members and fits and queries[members[0]].question == queries[i].question:
            members.append(i)
        else:
            packs.append([i])
    return packs


class SharedRequests:
    """Judge up to `size` queries per request, and alone those without a usable answer.

    Args:
        room: characters of context that fit into one request.

    A model that leaves most claims of a request without an answer is not asked for several again.
    """

    def __init__(self, together: Together, alone: Fanout, size: int, room: int) -> None:
        self._together = together
        self._alone = alone
        self._size = size
        self._room = room

    async def __call__(self, queries: Sequence[Query]) -> list[Estimate]:
        packs = [one for one in pack(queries, self._size, self._room) if len(one) > 1]
        errors: list[GroundwireError] = []
        answers: dict[int, Estimate | None] = {}

        async def judge(members: Sequence[int]) -> None:
            try:
                found = await self._together([queries[i] for i in members])
            except QueryRefused:  # such as a prompt that is too long: shorter ones may do
                return
            except GroundwireError as error:
                errors.append(error)
                found = [Estimate.failed(failure(error)) for _ in members]
            if 2 * found.count(None) > len(found):
                self._size = 1
            answers.update(zip(members, found, strict=True))

        await asyncio.gather(*map(judge, packs))
        if errors and len(errors) == len(packs) and len(answers) == len(queries):
            raise errors[0]
        left = [i for i in range(len(queries)) if answers.get(i) is None]
        alone = await self._alone([queries[i] for i in left]) if left else []
        answers.update(zip(left, alone, strict=True))
        return [answer for i in range(len(queries)) if (answer := answers[i])]
