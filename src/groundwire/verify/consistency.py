"""Do answers with and without the evidence differ? Evidence dependence for models without logprobs.

Two ways lead there. `evidence_dependence` asks a question with the evidence and without it and compares the
answers. `ConsistencyVerifier` (the backend `haiku`) judges one context: the model scores the claim's support
(`direct.py`), and, asked apart from that, restates the claim as the context has it; a claim that comes back
the same is borne out, one that comes back changed is contradicted, UNKNOWN means that the context is silent.
Asked with the evidence and without, the two estimates differ by what the evidence contributes.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import TypeVar

from groundwire.llm.generator import Generator
from groundwire.text import dates
from groundwire.text.lexicon import NEGATIONS
from groundwire.text.names import names, same_name
from groundwire.text.numbers import Number, compare, numbers
from groundwire.text.words import Word, words
from groundwire.types import Estimate, Query
from groundwire.verify.direct import Score, bounded, scores, spread
from groundwire.verify.fanout import Fanout
from groundwire.verify.prompts import PROMPT_VERSION, answer, restate

T = TypeVar("T")
Similarity = Callable[[str, str], float]
"""How alike in meaning two texts are, 0 to 1: `semantic_similarity`, or a model in its place."""

_AT_ODDS = 0.2
"""The most that two texts can be alike whose numbers, dates, names or negations disagree."""
_SAME, _LOST, _ON_TOPIC = 0.8, 0.3, 0.3
_MAX_TOKENS = 128
_SILENT = re.compile(
    r"^\W*(?:unknown\b|not (?:mentioned|stated)\b"
    r"|(?:the )?context (?:does not|doesn['’]t|says nothing|is silent))",
    re.IGNORECASE,
)


def semantic_similarity(a: str, b: str) -> float:
    """How alike two texts are in meaning, as far as words show it: symmetric, 1 for equal texts.

    Words count by their stems, function words little, spelling variants in part. Different numbers, dates or
    names, or a negation on one side only, decide the matter: such texts say different things. Misses: who did
    what to whom (the same words in another order), synonyms, quantifiers.

    >>> semantic_similarity("Paris has 2 million people.", "2 million people live in Paris.") > 0.6
    True
    >>> semantic_similarity("The drug is approved.", "The drug is not approved.") <= 0.2
    True
    """
    left, right = words(a), words(b)
    if [w.norm for w in left] == [w.norm for w in right]:
        return 1.0
    if not left or not right:
        return 0.0
    alike = 0.75 * _overlap(_weights(left), _weights(right)) + 0.25 * _overlap(_grams(left), _grams(right))
    return min(alike, _AT_ODDS) if _at_odds(a, b, left, right) else alike


def _weights(found: Sequence[Word]) -> dict[str, float]:
    return {word.norm: 0.2 if word.is_stop else 1.0 for word in found}


def _grams(found: Sequence[Word]) -> dict[str, float]:
    text = " ".join(word.text.casefold() for word in found)
    return dict.fromkeys((text[i : i + 3] for i in range(max(1, len(text) - 2))), 1.0)


def _overlap(left: dict[str, float], right: dict[str, float]) -> float:
    """Shared weight of the whole weight: F1 over weighted sets."""
    shared = sum(min(weight, right[key]) for key, weight in left.items() if key in right)
    whole = (sum(left.values()) + sum(right.values())) / 2
    return shared / whole if whole else 0.0


def _at_odds(a: str, b: str, left: Sequence[Word], right: Sequence[Word]) -> bool:
    return (
        _negated(left) != _negated(right)
        or _swapped(numbers(a), numbers(b), _same_number)
        or _swapped(dates.dates(a), dates.dates(b), _same_date)
        or _swapped(_names(a), _names(b), same_name)
    )


def _negated(found: Sequence[Word]) -> bool:
    """An odd number of negations: two of them cancel out."""
    return sum(word.text.casefold().replace("’", "'") in NEGATIONS for word in found) % 2 == 1


def _swapped(left: Sequence[T], right: Sequence[T], same: Callable[[T, T], bool]) -> bool:
    """Each side has one the other lacks: something was put in another's place, not merely left out."""
    return any(not any(same(a, b) for b in right) for a in left) and any(
        not any(same(a, b) for a in left) for b in right
    )


def _same_number(a: Number, b: Number) -> bool:
    return "same" in (compare(a, b), compare(b, a))


def _same_date(a: dates.PartialDate, b: dates.PartialDate) -> bool:
    return not {"same", "compatible"}.isdisjoint((dates.compare(a, b), dates.compare(b, a)))


def _names(text: str) -> list[str]:
    return [name.text for name in names(text)]


@dataclass(frozen=True, slots=True)
class Dependence:
    """Two answers to one question. `dependence` is 0 where the evidence changed nothing."""

    with_evidence: str
    without_evidence: str
    similarity: float

    @property
    def dependence(self) -> float:
        return 1.0 - self.similarity


async def evidence_dependence(
    generator: Generator,
    question: str,
    evidence: str,
    *,
    without: str = "",
    similarity: Similarity = semantic_similarity,
) -> Dependence:
    """Ask with the evidence and without it (or with `without`, the scrubbed rest) and compare."""
    first, second = await asyncio.gather(
        generator.complete(answer(question, evidence), max_tokens=_MAX_TOKENS),
        generator.complete(answer(question, without), max_tokens=_MAX_TOKENS),
    )
    one, two = first[0].text.strip(), second[0].text.strip()
    return Dependence(one, two, 1.0 if _SILENT.match(one) and _SILENT.match(two) else similarity(one, two))


def restated_score(claim: str, restated: str, similarity: Similarity = semantic_similarity) -> Score | None:
    """What a restatement says about the claim; None where it is not about the claim at all.

    The model was asked to keep the wording, so that words alike stand for a claim borne out: from 0.8 on
    fully, from 0.3 down not at all.
    """
    text = " ".join(restated.split())
    if _SILENT.match(text):
        return Score(0.0, contradicted=False, absent=True, reason="")
    if _overlap(_weights(words(claim)), _weights(words(text))) < _ON_TOPIC:
        return None
    alike = similarity(claim, text)
    support = min(1.0, max(0.0, (alike - _LOST) / (_SAME - _LOST)))
    reason = "" if alike >= _SAME else f"the context says: {text[:200]}"
    return Score(support, contradicted=alike <= _AT_ODDS, absent=False, reason=reason)


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
