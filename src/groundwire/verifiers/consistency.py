"""Does a claim come back the same from its context? The verifier for models without logprobs.

`ConsistencyVerifier` (the backend `haiku`) judges one context: the model scores the claim's support
(`direct.py`), and, asked apart from that, restates the claim as the context has it; a claim that comes back
the same is borne out, one that comes back changed is contradicted, UNKNOWN means that the context is silent.
Asked with the evidence and without, the two estimates differ by what the evidence contributes.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from groundwire.llm.base import Generator
from groundwire.types import Estimate, Query
from groundwire.verifiers.direct import Score, bounded, scores, spread
from groundwire.verifiers.prompts import PROMPT_VERSION, restate
from groundwire.verifiers.similarity import AT_ODDS, Similarity, is_silent, semantic_similarity, shared_words
from groundwire.verifiers.wrappers import Fanout

_SAME, _LOST, _ON_TOPIC = 0.8, 0.3, 0.3
_MAX_TOKENS = 128


def restated_score(claim: str, restated: str, similarity: Similarity = semantic_similarity) -> Score | None:
    """What a restatement says about the claim; None where it is not about the claim at all.

    The model was asked to keep the wording, so that words alike stand for a claim borne out: from 0.8 on
    fully, from 0.3 down not at all.
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
    """Both opinions count equally; the interval spans them, and what each is uncertain about itself.

    Where only one of them could be read, it stands alone and with twice the margin.
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
    """Direct score and restatement, two requests a query (times `samples`)."""

    def __init__(
        self,
        generator: Generator,
        *,
        label: str = "haiku",
        samples: int = 1,
        concurrency: int = 8,
        similarity: Similarity = semantic_similarity,
    ) -> None:
        self.generator = generator
        self._samples = samples
        self._similarity = similarity
        self._method = f"{label}/direct+consistency({samples})"
        self.identity = f"{self._method}|{generator.name}|prompt={PROMPT_VERSION}"
        self._fanout = Fanout(self._judge, concurrency)

    async def estimate(self, queries: Sequence[Query]) -> list[Estimate]:
        return await self._fanout(queries)

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
