"""Requests to language models: one per claim, or several claims in one, to judge them or to assign them to sources."""

from __future__ import annotations

import asyncio
import re
from collections import OrderedDict
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace

from groundwire._loop import PerLoop
from groundwire.errors import BackendError, GroundwireError, QueryRefused
from groundwire.llm.base import Generator
from groundwire.text.lexicon import expressions
from groundwire.types import Estimate, Query, Source
from groundwire.verifiers.prompts import PROMPT_VERSION, assign, source_label
from groundwire.verifiers.wrappers import failure

_TOKENS_A_CLAIM = 24  # one reply line: a number and a few source ids
CHARS_PER_TOKEN = 3
"""Rather too few: data and punctuation take more tokens than prose."""
_LINE = re.compile(r"^[\s*#-]*(?:claim\s+)?(\d{1,6})\s*(?:[.)\]*]*:|[.)\]]+(?!\d))(.*)$", re.IGNORECASE | re.MULTILINE)

_DENIAL, _UNDENIED, _RESERVATION = expressions("replies", "denial undenied reservation")


def numbered_lines(text: str) -> list[tuple[int, str]]:
    """The lines of a reply that begin with a number, in order.

    >>> numbered_lines("Sure:\\n1: YES\\n**2.** NO")
    [(1, ' YES'), (2, '** NO')]
    >>> numbered_lines("0.9 SUPPORTED")
    []
    """
    return [(int(number), rest) for number, rest in _LINE.findall(text)]


def denies(text: str, claim: str = "") -> bool:
    """Return whether a reply says that something is false or unsupported, in words that the claim has not.

    >>> denies("that's false"), denies("no contradictions"), denies("it is false", "It is false."), denies("so it is")
    (True, False, False, False)
    """
    return any(not _UNDENIED.search(text[: found.start()][-40:]) for found in _own_words(_DENIAL, text, claim))


def has_reservation(text: str, claim: str = "") -> bool:
    """Return whether a reply restricts or doubts what it says, in words that the claim has not."""
    return any(_own_words(_RESERVATION, text, claim))


def _own_words(pattern: re.Pattern[str], text: str, claim: str) -> Iterator[re.Match[str]]:
    known = claim.casefold()
    return (found for found in pattern.finditer(text) if found[0].casefold() not in known)


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


_LEAD_SECONDS = 5.0
"""How long queries wait for the first one of their context; a slower server gets all at once."""
_MAX_CONTEXTS = 64
"""Contexts remembered as cached by the server: more than it answers at the same time."""


class Leads:
    """Lets one query per context go first; remembers the latest contexts."""

    def __init__(self) -> None:
        self._read: OrderedDict[str, asyncio.Event] = OrderedDict()

    @asynccontextmanager
    async def turn(self, context: str) -> AsyncIterator[None]:
        first = context not in self._read
        read = self._read.setdefault(context, asyncio.Event())
        self._read.move_to_end(context)
        if len(self._read) > _MAX_CONTEXTS:
            self._read.popitem(last=False)
        if not first:
            with suppress(TimeoutError):
                await asyncio.wait_for(read.wait(), _LEAD_SECONDS)
        try:
            yield
        finally:
            read.set()  # after a failure too, or the others would wait in vain


class LLMVerifier:
    """A verifier over a language model. Subclasses judge one query by itself, and several in one request.

    Args:
        identity: everything besides the queries that determines an answer; part of every cache key.
        concurrency: maximum number of simultaneous requests about one query, over all callers.
        claims_per_request: how many queries a request is about; those without a usable answer are judged alone.
        room: characters of context that fit into one request.

    A model that leaves most claims of a request without an answer is not asked for several again. Of the queries
    judged alone, one of each context goes first; the others wait for its answer and then hit the server's prefix
    cache. If a query fails, only its own estimate fails; if all of a call fail, the first error is raised.
    """

    def __init__(
        self,
        generator: Generator,
        identity: str,
        *,
        concurrency: int = 8,
        claims_per_request: int = 1,
        room: int = 18_000,
    ) -> None:
        self.generator = generator
        self.identity = f"{identity}|shared={claims_per_request}|prompt={PROMPT_VERSION}"
        self._size, self._room = claims_per_request, room
        self._gate = PerLoop(lambda: asyncio.Semaphore(concurrency))
        self._leads = PerLoop(Leads)

    async def judge(self, query: Query) -> Estimate:
        raise NotImplementedError

    async def judge_together(self, queries: Sequence[Query]) -> list[Estimate | None]:
        """None for a query that the reply has no usable answer to."""
        raise NotImplementedError

    async def aclose(self) -> None:
        await self.generator.aclose()

    async def estimate(self, queries: Sequence[Query]) -> list[Estimate]:
        packs = [one for one in pack(queries, self._size, self._room) if len(one) > 1]
        errors: list[GroundwireError] = []
        answers: dict[int, Estimate | None] = {}

        async def judge(members: Sequence[int]) -> None:
            try:
                found = await self.judge_together([queries[i] for i in members])
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
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._alone(queries[i])) for i in left]
        outcomes = [task.result() for task in tasks]
        failures = [outcome for outcome in outcomes if isinstance(outcome, GroundwireError)]
        if failures and len(failures) == len(outcomes):
            raise failures[0]
        alone = [Estimate.failed(failure(o)) if isinstance(o, GroundwireError) else o for o in outcomes]
        answers.update(zip(left, alone, strict=True))
        return [answer for i in range(len(queries)) if (answer := answers[i])]

    async def _alone(self, query: Query) -> Estimate | GroundwireError:
        async with self._leads.get().turn(query.context), self._gate.get():
            try:
                return await self.judge(query)
            except GroundwireError as error:
                return error


async def map_evidence(
    generator: Generator, claims: Sequence[str], sources: Sequence[Source], *, max_chars: int = 24_000
) -> list[list[str]]:
    """Return for each claim the ids of the sources to check it against, in the order of `sources`.

    Args:
        max_chars: limit for all sources together in the prompt; longer ones are cut at their end.

    Only existing ids are returned. A claim without a usable reply gets an empty list, as do all claims if the
    model fails: the caller then assigns sources by rules.
    """
    if not claims or not sources:
        return [[] for _ in claims]
    room = max(200, max_chars // len(sources))
    shown = [replace(source, text=source.text[:room]) for source in sources]
    try:
        [reply] = await generator.complete(assign(claims, shown), max_tokens=32 + _TOKENS_A_CLAIM * len(claims))
    except BackendError:
        return [[] for _ in claims]
    return parse_mapping(reply.text, len(claims), [source.id for source in sources])


def parse_mapping(text: str, claims: int, ids: Sequence[str]) -> list[list[str]]:
    """Parse the reply into one list of known ids per claim; anything else in it is ignored.

    >>> parse_mapping("1: S0, [S2]\\n2: -\\n3: S9", 3, ["S0", "S1", "S2"])
    [['S0', 'S2'], [], []]
    """
    known = {source_label(source_id).casefold(): source_id for source_id in ids}
    found: dict[int, set[str]] = {}
    for number, listed in numbered_lines(text):
        labels = (part.strip(" \t[]()\"'`*.").casefold() for part in re.split(r"[,;]", listed))
        found.setdefault(number, set()).update(known[label] for label in labels if label in known)
    return [[i for i in ids if i in found.get(number, ())] for number in range(1, claims + 1)]
