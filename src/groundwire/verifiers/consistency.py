"""Direct score plus restatement: the verifier for models without logprobs.

`ConsistencyVerifier` (the backend `haiku`) sends two requests: the model scores how well the context supports
the claim (`direct.py`), and corrects the claim so that it agrees with the context. A claim that comes back
unchanged is supported, a changed one is contradicted, UNKNOWN means that the context does not mention it.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from groundwire.llm.base import Generator
from groundwire.types import Estimate, Query
from groundwire.verifiers.direct import Score, bounded, parse_score, scores, spread
from groundwire.verifiers.prompts import PROMPT_VERSION, restate, restate_all, score_all
from groundwire.verifiers.shared import SharedRequests, numbered_lines
from groundwire.verifiers.similarity import AT_ODDS, Similarity, is_silent, semantic_similarity, shared_words
from groundwire.verifiers.wrappers import Fanout

# Similarities of a claim and its restatement, 0 to 1; chosen by hand.
_SAME = 0.8  # from here on the claim is fully supported
_LOST = 0.3  # up to here it is not supported at all; in between support is linear
_ON_TOPIC = 0.3  # with fewer shared words the reply is not a restatement of the claim
_MAX_TOKENS = 128  # of a restatement: one sentence


def restated_score(claim: str, restated: str, similarity: Similarity = semantic_similarity) -> Score | None:
    """Score a claim by its similarity to the restatement; None if the reply is not about the claim.

    The prompt asks the model to keep the wording, so similar words mean a supported claim.
    """
    text = " ".join(restated.split())
    if is_silent(text):
        return Score(0.0, contradicted=False, absent=True, reason="")
    if shared_words(claim, text) < _ON_TOPIC:
        return None
    alike = similarity(claim, text)
    support = min(1.0, max(0.0, (alike - _LOST) / (_SAME - _LOST)))
    reason = "" if alike >= _SAME else f"the context says: {text[:200]}"
    return Score(support, contradicted=alike <= AT_ODDS, absent=False, reason=reason)


def merge(direct: Sequence[Score], restated: Sequence[Score], method: str) -> Estimate:
    """Combine direct scores and restatements with equal weight; the interval covers both.

    If only one of the two could be parsed, it is used alone with twice the margin.
    """
    sides = [[one.support for one in side] for side in (direct, restated) if side]
    means = [fmean(side) for side in sides]
    if len(sides) == 2:
        margin = max((spread(side) for side in sides if len(side) > 1), default=0.0)
    else:
        margin = 2 * spread(sides[0])
    every = [*direct, *restated]
    p_yes = bounded(fmean(means))
    p_no = (1.0 - p_yes) * fmean(one.contradicted for one in every)
    low, high = bounded(min(means) - margin), bounded(max(means) + margin)
    reason = next((one.reason for one in (*restated, *direct) if one.reason), "")
    speaks = not all(one.absent for one in every)
    return Estimate(p_yes, p_no, 1.0 - p_yes - p_no, low, high, method, reason=reason, speaks=speaks)


class ConsistencyVerifier:
    """Direct score and restatement: two requests per query or per `claims_per_request`, times `samples`.

    Args:
        label: the backend's name in `method` and in cache keys.
        concurrency: maximum number of simultaneous requests.
        similarity: compares the claim with its restatement, 0 to 1.
    """

    def __init__(
        self,
        generator: Generator,
        *,
        label: str = "haiku",
        samples: int = 1,
        concurrency: int = 8,
        similarity: Similarity = semantic_similarity,
        claims_per_request: int = 1,
        room: int = 18_000,
    ) -> None:
        self.generator = generator
        self._samples = samples
        self._similarity = similarity
        self._method = f"{label}/direct+consistency({samples})"
        self.identity = f"{self._method}|{generator.name}|shared={claims_per_request}|prompt={PROMPT_VERSION}"
        alone = Fanout(self._judge, concurrency)
        self._ask = SharedRequests(self._judge_together, alone, claims_per_request, room)

    async def estimate(self, queries: Sequence[Query]) -> list[Estimate]:
        return await self._ask(queries)

    async def _judge_together(self, queries: Sequence[Query]) -> list[Estimate | None]:
        """The same two requests for all claims, one line of each reply per claim."""
        scored, restated = [
            [
                dict(numbered_lines(reply.text))
                for reply in await self.generator.complete(
                    prompt(queries),
                    max_tokens=_MAX_TOKENS * len(queries),
                    temperature=1.0 if self._samples > 1 else 0.0,
                    n=self._samples,
                )
            ]
            for prompt in (score_all, restate_all)
        ]
        found: list[Estimate | None] = []
        for number, query in enumerate(queries, 1):
            direct = [one for lines in scored if (one := parse_score(lines.get(number, "")))]
            said = [lines[number] for lines in restated if number in lines]
            again = [one for text in said if (one := restated_score(query.claim, text, self._similarity))]
            found.append(merge(direct, again, self._method) if direct or again else None)
        return found

    async def _judge(self, query: Query) -> Estimate:
        direct = await scores(self.generator, query, self._samples)
        restated = await self._restated(query)
        if not direct and not restated:
            return Estimate.failed("error: the model gave neither a score nor a restatement", self._method)
        return merge(direct, restated, self._method)

    async def _restated(self, query: Query) -> list[Score]:
        temperature = 1.0 if self._samples > 1 else 0.0
        replies = await self.generator.complete(
            restate(query), max_tokens=_MAX_TOKENS, temperature=temperature, n=self._samples
        )
        found = (restated_score(query.claim, reply.text, self._similarity) for reply in replies)
        return [one for one in found if one]

    async def aclose(self) -> None:
        await self.generator.aclose()
