"""Direct score plus restatement: the verifier for models without logprobs.

`ConsistencyVerifier` (the backend `haiku`) sends two requests: the model scores how well the context supports
the claim, and corrects the claim so that it agrees with the context. A claim that comes back unchanged is
supported, a changed one is contradicted, UNKNOWN means that the context does not mention it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import fmean, stdev

from groundwire.budget import Z95
from groundwire.llm.base import Generator, Message
from groundwire.text.lexicon import expressions
from groundwire.types import Estimate, Query
from groundwire.verifiers.meaning import AT_ODDS, is_silent, semantic_similarity, shared_words
from groundwire.verifiers.prompts import restate, restate_all, score, score_all
from groundwire.verifiers.shared import LLMVerifier, denies, numbered_lines

FLOOR = 0.01
"""Estimates stay within [0.01, 0.99]: a score of 1.0 is an opinion, not a proof."""
STEP = 0.1
"""Half-width of the interval of a single score: models score in tenths."""
MIN_SHARE = 0.5
"""Minimum share of replies with a score; below it, the model did not answer the question."""
_SCORE_TOKENS = 96  # a number, a label and a reason of at most 15 words
_TEMPERATURE = 1.0  # samples the model's own distribution
# Similarities of a claim and its restatement, 0 to 1; chosen by hand.
_SAME = 0.8  # from here on the claim is fully supported
_LOST = 0.3  # up to here it is not supported at all; in between support is linear
_ON_TOPIC = 0.3  # with fewer shared words the reply is not a restatement of the claim
_MAX_TOKENS = 128  # of a restatement: one sentence
_MAX_REPLY_CHARS = 4000  # far more than the tokens asked for; a server that sends more does not answer
_LEADING, _LABELLED, _ANY, _CONTRADICTED, _ABSENT, _UNSUPPORTED, _LABEL = expressions(
    "replies", "leading labelled any contradicted absent unsupported label"
)
_NEGATED, _RANGE, _BOUND, _SCALE, _QUESTIONED = expressions("replies", "negated range bound scale questioned")


@dataclass(frozen=True, slots=True)
class Score:
    """Support from 0 to 1, with the label and reason of the reply.

    `absent`: the context does not mention the claim.
    """

    support: float
    contradicted: bool
    absent: bool
    reason: str


def parse_score(text: str, claim: str = "") -> Score | None:
    """Parse the score in a model's reply; None if there is none, or if it is out of range.

    A number after a negation, one end of a range or scale, a number that is questioned, and one that
    contradicts its own label or reason are ignored. Words of the `claim` are no denial of it.

    >>> [parse_score(t).support for t in ("0.85 because it says so", "Score: 85%", "8/10", "**1**", ".5")]
    [0.85, 0.85, 0.8, 1.0, 0.5]
    >>> [parse_score(t) for t in ("", "yes", "42", "-0.5", "Founded in 1998.")]
    [None, None, None, None, None]
    >>> [parse_score(t) for t in ("not 0.9", "0.1 or 0.9", "1.0 CONTRADICTED", "It isn't 100% supported")]
    [None, None, None, None]
    >>> [parse_score(t) for t in ("0.9 but it is false", "Score (1-10): 2", "less than 0.9", "1. The claim is old")]
    [None, None, None, None]
    """
    if len(text) > _MAX_REPLY_CHARS:
        return None
    match = _LEADING.match(text) or _LABELLED.search(text) or _only_number(text)
    support = _value(match) if match else None
    if match is None or support is None:
        return None
    if _is_no_score(text, match):
        return None
    contradicted, absent = bool(_CONTRADICTED.search(text)), bool(_ABSENT.search(text))
    if support > 0.5 and (contradicted or absent or _UNSUPPORTED.search(text) or denies(text, claim)):
        return None
    reason = _LABEL.sub("", text[match.end() :]).strip(" \t\r\n*_-–—:.,()")
    return Score(support, contradicted, absent, " ".join(reason.split()))


def _is_no_score(text: str, match: re.Match[str]) -> bool:
    """Return whether the words around a number say that it is not the score."""
    start, before = match.start("value"), text[: match.start("value")][-60:]
    if _NEGATED.search(before) or _BOUND.search(before) or _SCALE.match(text, start):
        return True
    return bool(_RANGE.match(text, match.end()) or _QUESTIONED.match(text, match.end()))


def _only_number(text: str) -> re.Match[str] | None:
    """A number inside a sentence is the score only if it is the only one that looks like a score."""
    found = [match for match in _ANY.finditer(text) if match["percent"] or match["of"] or "." in match["value"]]
    return found[0] if len(found) == 1 else None


def _value(match: re.Match[str]) -> float | None:
    value = float(match["value"].replace(",", "."))
    whole = 100.0 if match["percent"] else float(match["of"] or 1)
    return value / whole if whole > 0 and value <= whole else None


def scores(replies: Sequence[str], claim: str = "") -> list[Score]:
    """The scores in replies to the same question; empty if fewer than half of them contain one."""
    found = [one for text in replies if (one := parse_score(text, claim))]
    return found if len(found) >= MIN_SHARE * len(replies) else []


def bounded(p: float) -> float:
    return min(max(p, FLOOR), 1.0 - FLOOR)


def spread(values: Sequence[float]) -> float:
    """Half the width of the 95 % interval of the mean; `STEP` for a single score."""
    return Z95 * stdev(values) / sqrt(len(values)) if len(values) > 1 else STEP


def restated_score(claim: str, restated: str) -> Score | None:
    """Score a claim by its similarity to the restatement; None if the reply is not about the claim.

    The prompt asks the model to keep the wording, so similar words mean a supported claim.
    """
    text = " ".join(restated.split())
    if is_silent(text):
        return Score(0.0, contradicted=False, absent=True, reason="")
    if shared_words(claim, text) < _ON_TOPIC:
        return None
    alike = semantic_similarity(claim, text)
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


class ConsistencyVerifier(LLMVerifier):
    """Direct score and restatement: two requests per query or per `claims_per_request`, times `samples`.

    Args:
        label: the backend's name in `method` and in cache keys.
        limits: see `LLMVerifier`.
    """

    def __init__(self, generator: Generator, *, label: str = "haiku", samples: int = 1, **limits: int) -> None:
        self._method = f"{label}/direct+consistency({samples})"
        self._samples = samples
        super().__init__(generator, f"{self._method}|{generator.name}", **limits)

    async def _replies(self, prompt: list[Message], max_tokens: int) -> list[str]:
        temperature = _TEMPERATURE if self._samples > 1 else 0.0
        replies = await self.generator.complete(prompt, max_tokens=max_tokens, temperature=temperature, n=self._samples)
        return [reply.text for reply in replies]

    async def judge_together(self, queries: Sequence[Query]) -> list[Estimate | None]:
        """The same two requests for all claims, one line of each reply per claim."""
        room = _MAX_TOKENS * len(queries)
        scored, restated = [
            [dict(numbered_lines(text)) for text in await self._replies(prompt(queries), room)]
            for prompt in (score_all, restate_all)
        ]
        found: list[Estimate | None] = []
        for number, query in enumerate(queries, 1):
            direct = [one for lines in scored if (one := parse_score(lines.get(number, ""), query.claim))]
            said = [lines[number] for lines in restated if number in lines]
            again = [one for text in said if (one := restated_score(query.claim, text))]
            found.append(merge(direct, again, self._method) if direct or again else None)
        return found

    async def judge(self, query: Query) -> Estimate:
        direct = scores(await self._replies(score(query), _SCORE_TOKENS), query.claim)
        said = await self._replies(restate(query), _MAX_TOKENS)
        again = [one for text in said if (one := restated_score(query.claim, text))]
        if not direct and not again:
            return Estimate.failed("error: the model gave neither a score nor a restatement", self._method)
        return merge(direct, again, self._method)
