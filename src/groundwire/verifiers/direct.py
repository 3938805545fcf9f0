"""A model's own support score from 0 to 1, for models without logprobs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import fmean, stdev

from groundwire.budget import Z95
from groundwire.llm.base import Generator
from groundwire.types import Estimate, Query
from groundwire.verifiers.prompts import PROMPT_VERSION, score
from groundwire.verifiers.wrappers import Fanout

FLOOR = 0.01
"""Estimates stay within [0.01, 0.99]: a score of 1.0 is an opinion, not a proof."""
STEP = 0.1
"""Half-width of the interval of a single score: models score in tenths."""
MIN_SHARE = 0.5
"""Minimum share of replies with a score; below it, the model did not answer the question."""
_MAX_TOKENS = 96  # a number, a label and a reason of at most 15 words
_MAX_REPLY_CHARS = 4000  # far more than the tokens asked for; a server that sends more does not answer
_TEMPERATURE = 1.0  # samples the model's own distribution

_NUMBER = (
    r"(?P<value>\d{1,3}(?:[.,]\d+)?|[.,]\d+)(?!\w|[.,]\d)"
    r"\s*(?:(?P<percent>%|percent\b)|(?:/|out of)\s*(?P<of>\d{1,3}(?:\.0+)?)\b)?"
)
_LEADING = re.compile(
    rf"^[\W_]*?(?:(?:support|score|rating|rate|confidence|answer|claim)\b[^\d\n.,-]{{0,40}})?(?<![-−\d.,]){_NUMBER}",
    re.IGNORECASE,
)
_LABELLED = re.compile(rf"(?:support|score|rating)\b[^\d\n.,-]{{0,40}}{_NUMBER}", re.IGNORECASE)
_ANY = re.compile(rf"(?<![-−\w.,]){_NUMBER}", re.IGNORECASE)
_CONTRADICTED = re.compile(r"(?<!NOT )\bCONTRADICTED\b")
_ABSENT = re.compile(r"\bNOT[ _]MENTIONED\b")
_UNSUPPORTED = re.compile(r"\b(?:UN|NOT[ _])SUPPORTED\b")
_LABEL = re.compile(r"^\W*(?:SUPPORTED|PARTIAL|NOT[ _]MENTIONED|CONTRADICTED)\b")
# "I would not say 0.9", but not "NOT MENTIONED 0.0".
_NEGATED = re.compile(
    r"(?:\b(?:not|never|cannot|hardly)\b(?!\s*(?-i:MENTIONED|SUPPORTED))|n['’]t\b)[^.:;!?\n]*$", re.IGNORECASE
)
_RANGE = re.compile(r"\s*(?:[-–—]|to\b|or\b)\s*(?:[01]?[.,]\d|\d{1,3}\s*%)")


@dataclass(frozen=True, slots=True)
class Score:
    """Support from 0 to 1, with the label and reason of the reply.

    `absent`: the context does not mention the claim.
    """

    support: float
    contradicted: bool
    absent: bool
    reason: str


def parse_score(text: str) -> Score | None:
    """Parse the score in a model's reply; None if there is none, or if it is out of range.

    A number after a negation, one end of a range, and a number that contradicts its own label are ignored.

    >>> [parse_score(t).support for t in ("0.85 because it says so", "Score: 85%", "8/10", "**1**", ".5")]
    [0.85, 0.85, 0.8, 1.0, 0.5]
    >>> [parse_score(t) for t in ("", "yes", "42", "-0.5", "Founded in 1998.")]
    [None, None, None, None, None]
    >>> [parse_score(t) for t in ("not 0.9", "0.1 or 0.9", "1.0 CONTRADICTED", "It isn't 100% supported")]
    [None, None, None, None]
    """
    if len(text) > _MAX_REPLY_CHARS:
        return None
    match = _LEADING.match(text) or _LABELLED.search(text) or _only_number(text)
    support = _value(match) if match else None
    if match is None or support is None:
        return None
    if _NEGATED.search(text[: match.start("value")][-60:]) or _RANGE.match(text, match.end()):
        return None
    contradicted, absent = bool(_CONTRADICTED.search(text)), bool(_ABSENT.search(text))
    if support > 0.5 and (contradicted or absent or _UNSUPPORTED.search(text)):
        return None
    reason = _LABEL.sub("", text[match.end() :]).strip(" \t\r\n*_-–—:.,()")
    return Score(support, contradicted, absent, " ".join(reason.split()))


def _only_number(text: str) -> re.Match[str] | None:
    """A number inside a sentence is the score only if it is the only one that looks like a score."""
    found = [match for match in _ANY.finditer(text) if match["percent"] or match["of"] or "." in match["value"]]
    return found[0] if len(found) == 1 else None


def _value(match: re.Match[str]) -> float | None:
    value = float(match["value"].replace(",", "."))
    whole = 100.0 if match["percent"] else float(match["of"] or 1)
    return value / whole if whole > 0 and value <= whole else None


async def scores(generator: Generator, query: Query, samples: int) -> list[Score]:
    """Ask for `samples` scores; empty if fewer than half of the replies contain one."""
    temperature = _TEMPERATURE if samples > 1 else 0.0
    replies = await generator.complete(score(query), max_tokens=_MAX_TOKENS, temperature=temperature, n=samples)
    found = [one for reply in replies if (one := parse_score(reply.text))]
    return found if len(found) >= MIN_SHARE * len(replies) else []


def bounded(p: float) -> float:
    return min(max(p, FLOOR), 1.0 - FLOOR)


def spread(values: Sequence[float]) -> float:
    """Half the width of the 95 % interval of the mean; `STEP` for a single score."""
    return Z95 * stdev(values) / sqrt(len(values)) if len(values) > 1 else STEP


def combine(found: Sequence[Score], method: str) -> Estimate:
    """Combine scores into one estimate; the replies' labels divide 1 - support into "no" and "unsure"."""
    values = [one.support for one in found]
    p_yes, half = bounded(fmean(values)), spread(values)
    p_no = (1.0 - p_yes) * fmean(one.contradicted for one in found)
    low, high = bounded(p_yes - half), bounded(p_yes + half)
    speaks = not all(one.absent for one in found)
    return Estimate(p_yes, p_no, 1.0 - p_yes - p_no, low, high, method, reason=found[0].reason, speaks=speaks)


class DirectVerifier:
    """Verifier by direct scores: `samples` requests per query; the rest as `ConsistencyVerifier`."""

    def __init__(self, generator: Generator, *, label: str = "direct", samples: int = 1, concurrency: int = 8) -> None:
        self.generator = generator
        self._samples = samples
        self._method = f"{label}/direct({samples})"
        self.identity = f"{self._method}|{generator.name}|prompt={PROMPT_VERSION}"
        self._fanout = Fanout(self._judge, concurrency)

    async def estimate(self, queries: Sequence[Query]) -> list[Estimate]:
        return await self._fanout(queries)

    async def _judge(self, query: Query) -> Estimate:
        found = await scores(self.generator, query, self._samples)
        if not found:
            return Estimate.failed("error: the model gave no score from 0.0 to 1.0", self._method)
        return combine(found, self._method)

    async def aclose(self) -> None:
        await self.generator.aclose()
