"""P(YES) from the probabilities of an answer's first token, or from repeated samples where there are none."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import accumulate
from math import exp

from groundwire.budget import wilson
from groundwire.errors import BackendDown, BackendError
from groundwire.llm.base import Completion, Generator, TokenLogprob
from groundwire.text.lexicon import expressions
from groundwire.types import Estimate, Query
from groundwire.verifiers.prompts import answers_schema, yes_no, yes_no_all
from groundwire.verifiers.shared import LLMVerifier, denies, has_reservation

TOP = 20
"""Candidate tokens requested for the first position; 20 is the most that OpenAI's API returns."""
MAX_TOKENS = 8  # room for whitespace, markup before the word, and a word of several tokens
_TOKENS_A_CLAIM = 12  # of a shared reply: a number and an answer, quoted
_TEMPERATURE = 1.0  # samples the model's own distribution
MIN_SHARE = 0.5
"""Minimum share of the probability (or of the samples) on an answer; below it, the model did not answer."""
_ROUNDING = 0.01  # tolerated excess over 1: servers compute probabilities in half precision
_AROUND = " \t\r\n\u00a0▁ĠĊ*_#>`~'\"“”‘’.,:;!?-–—()[]{}<|\\/"
_LEAD, _CAPITALS, _ANSWERS, _NUMBERED, _NEGATION, _WITHDRAWN, _QUOTED = expressions(
    "replies", "lead capitals answers numbered negation withdrawn quoted"
)
_MAX_REPLY_CHARS = 4000  # far more than the tokens asked for; a server that sends more does not answer


class LogprobAnswer(StrEnum):
    YES = "yes"
    NO = "no"
    UNSURE = "unsure"


def parse_answer(text: str, claim: str = "") -> LogprobAnswer | None:
    """Parse the single answer in a model's reply, at its beginning or in capitals; None if there is none.

    A reply with two different answers, or with a negation before its answer, has no answer; nor has a YES
    that the reply denies, restricts or quotes. Words of the `claim` are no denial.

    >>> parse_answer("**Yes**, it says so"), parse_answer("Answer: UNSURE."), parse_answer("Nobody knows")
    (<LogprobAnswer.YES: 'yes'>, <LogprobAnswer.UNSURE: 'unsure'>, None)
    >>> [parse_answer(text) for text in ("Not YES", "YES NO", "I cannot say YES", "YES is wrong", "YES, that's false")]
    [None, None, None, None, None]
    """
    if len(text) > _MAX_REPLY_CHARS:
        return None
    found = _LEAD.match(text) or _CAPITALS.search(text)
    answers = [answer.lower() for answer in _ANSWERS.findall(text)]
    if not found or len(set(answers)) != 1 or _NEGATION.search(text, 0, found.end()):
        return None
    answer = LogprobAnswer(answers[0])
    return None if answer is LogprobAnswer.YES and _is_withdrawn(text, found.end(), claim) else answer


def _is_withdrawn(text: str, end: int, claim: str) -> bool:
    """Return whether the rest of the reply takes back a YES that ends at `end`."""
    if _WITHDRAWN.match(text, end) or _QUOTED.search(text, 0, end):
        return True
    return denies(text, claim) or has_reservation(text, claim)


def meaning(token: str) -> LogprobAnswer | None:
    """Return the answer that a first token is or begins; case, whitespace and markup are ignored.

    The tokenizer may split an answer: a prefix of two letters is enough, a single letter only if it is a
    capital. Anything else ("Not", "You", "Sure") is not an answer.

    >>> [str(meaning(t)) for t in ("Yes", " YES", "**yes", "Ye", "N", "unsu")]
    ['yes', 'yes', 'yes', 'yes', 'no', 'unsure']
    >>> [meaning(t) for t in ("Not", "You", "n", "", "none")]
    [None, None, None, None, None]
    """
    word = token.strip(_AROUND)
    if not word or (len(word) == 1 and not word.isupper()):
        return None
    lowered = word.casefold()
    return next((answer for answer in LogprobAnswer if answer.startswith(lowered)), None)


@dataclass(frozen=True, slots=True)
class Masses:
    """Lower and upper bound of the probability of each answer."""

    yes: tuple[float, float]
    no: tuple[float, float]
    unsure: tuple[float, float]

    @property
    def likeliest(self) -> LogprobAnswer:
        return max(LogprobAnswer, key=lambda answer: getattr(self, answer))

    def estimate(self, method: str) -> Estimate:
        """Normalised over the three answers; what lies outside the top-k counts half its bound."""
        yes, no, unsure = (sum(pair) / 2 for pair in (self.yes, self.no, self.unsure))
        total = yes + no + unsure
        p_yes = yes / total
        low = _share(self.yes[0], self.no[1] + self.unsure[1])
        high = _share(self.yes[1], self.no[0] + self.unsure[0])
        return Estimate(p_yes, no / total, unsure / total, min(low, p_yes), max(high, p_yes), method)


def _share(part: float, others: float) -> float:
    return part / (part + others) if part > 0 else 0.0


def masses(candidates: Sequence[TokenLogprob]) -> Masses | None:
    """The probability of each answer among the top candidates; None if the answers get less than half of it.

    An answer without a variant among the candidates is still possible: it is at most as likely as the least
    likely candidate, and at most as likely as all that the candidates leave over.

    Raises `BackendDown` if the candidates cannot be probabilities.
    """
    if not all(candidate.logprob <= _ROUNDING for candidate in candidates):  # nor NaN
        raise BackendDown("the server returned logprobs above 0, or that are no numbers")
    probabilities = [exp(candidate.logprob) for candidate in candidates]
    if sum(probabilities) > 1.0 + _ROUNDING:
        raise BackendDown("the server returned logprobs whose probabilities sum to more than 1")
    seen = dict.fromkeys(LogprobAnswer, 0.0)
    for candidate, probability in zip(candidates, probabilities, strict=True):
        answer = meaning(candidate.token)
        if answer is not None:
            seen[answer] += probability
    if sum(seen.values()) < MIN_SHARE:
        return None
    unseen = min(*probabilities, max(0.0, 1.0 - sum(probabilities)))
    bounds = {answer: (mass, mass or unseen) for answer, mass in seen.items()}
    return Masses(bounds[LogprobAnswer.YES], bounds[LogprobAnswer.NO], bounds[LogprobAnswer.UNSURE])


class NoLogprobs(BackendError):
    """The server answered without logprobs."""


async def ask(generator: Generator, query: Query, top: int, method: str) -> Estimate:
    """Judge one query by logprobs.

    Args:
        top: number of candidate tokens to request.
        method: the `method` of the returned estimate.

    The estimate is a failed one if the model does not answer the question, or if its text is not the
    likeliest answer (the logprobs then belong to another token). Raises `NoLogprobs` if there are none.
    """
    [completion] = await generator.complete(yes_no(query), max_tokens=MAX_TOKENS, top_logprobs=top)
    if not completion.top_logprobs:
        if parse_answer(completion.text, query.claim) is None:  # no answer at all says nothing about logprobs
            return off_topic(completion, method)
        raise NoLogprobs(f"{generator.name} returns no logprobs", hint="use the sampling verifier")
    found = masses(completion.top_logprobs)
    if found is None or parse_answer(completion.text, query.claim) is not found.likeliest:
        return off_topic(completion, method)
    return found.estimate(method)


def off_topic(completion: Completion, method: str) -> Estimate:
    """A failed estimate that quotes the beginning of the reply."""
    quote = " ".join(completion.text.split())[:40]
    return Estimate.failed(f"error: the model did not clearly answer YES, NO or UNSURE: '{quote}'", method)


def shared_estimates(completion: Completion, claims: Sequence[str], method: str) -> list[Estimate | None]:
    """Read the answers to the claims from the logprobs of one reply; None where there is no clear one."""
    text = "".join(position.token for position in completion.positions)
    ends = list(accumulate(len(position.token) for position in completion.positions))
    found: dict[int, Estimate] = {}
    for number, answer, start in numbered_answers(text, claims):
        at = completion.positions[bisect_right(ends, start)]
        mass = masses(at.candidates)
        if mass is not None and mass.likeliest is answer:
            found[number] = mass.estimate(method)
    return [found.get(number) for number in range(1, len(claims) + 1)]


def numbered_answers(text: str, claims: Sequence[str] = ()) -> list[tuple[int, LogprobAnswer, int]]:
    """The number, the answer and the answer's offset for each claim in a reply; none that is given twice.

    What stands up to the next number belongs to an answer, and may withdraw it as in `parse_answer`.

    >>> numbered_answers('{"1": "YES", "2": "unsure", "3": "NO", "3": "YES"}')
    [(1, <LogprobAnswer.YES: 'yes'>, 7), (2, <LogprobAnswer.UNSURE: 'unsure'>, 19)]
    >>> numbered_answers("1: YES, that's false")
    []
    """
    matches = list(_NUMBERED.finditer(text))
    if not matches or _NEGATION.search(text, 0, matches[0].start()):
        return []
    ends = [*(match.start() for match in matches[1:]), len(text)]
    times = Counter(int(match[1]) for match in matches)
    found: list[tuple[int, LogprobAnswer, int]] = []
    for match, end in zip(matches, ends, strict=True):
        number, start = int(match[1]), match.start(2)
        claim = claims[number - 1] if 0 < number <= len(claims) else ""
        answer = parse_answer(text[start:end], claim) if times[number] == 1 else None
        if answer is not None:
            found.append((number, answer, start))
    return found


def tally(answers: Sequence[LogprobAnswer | None], method: str) -> Estimate | None:
    """Shares of the answers with a Wilson interval; None if fewer than half of the samples are answers.

    A sample that is not an answer could have been any of them, so it widens the interval on both sides.
    """
    counts = Counter(answer for answer in answers if answer is not None)
    given, asked = counts.total(), len(answers)
    if not given or given < MIN_SHARE * asked:
        return None
    yes, no, unsure = (counts[answer] for answer in (LogprobAnswer.YES, LogprobAnswer.NO, LogprobAnswer.UNSURE))
    low, _ = wilson(yes, asked)
    _, high = wilson(yes + asked - given, asked)
    return Estimate(yes / given, no / given, unsure / given, low, high, method)


async def sample(generator: Generator, query: Query, samples: int, method: str) -> Estimate:
    """Judge one query by `samples` answers."""
    completions = await generator.complete(yes_no(query), max_tokens=MAX_TOKENS, temperature=_TEMPERATURE, n=samples)
    found = tally([parse_answer(completion.text, query.claim) for completion in completions], method)
    return found or off_topic(completions[0], method)


class LogprobOrSampling(LLMVerifier):
    """Logprobs if the server returns them, else samples; the estimate's `method` tells which.

    Args:
        label: the backend's name in `method` and in cache keys.
        top_logprobs: number of candidate tokens to request.
        samples: answers per query where there are no logprobs.
        limits: see `LLMVerifier`.

    After the first clear answer without logprobs they are not requested again.
    """

    def __init__(
        self, generator: Generator, *, label: str = "openai", top_logprobs: int = TOP, samples: int = 10, **limits: int
    ) -> None:
        self._by_logprob, self._by_sampling = f"{label}/logprob", f"{label}/sampling({samples})"
        self._top = top_logprobs
        self._samples = samples
        self._has_logprobs = True
        identity = f"{label}/logprob-or-sampling|{generator.name}|top={top_logprobs}|n={samples}"
        super().__init__(generator, identity, **limits)

    async def judge(self, query: Query) -> Estimate:
        if self._has_logprobs:
            try:
                return await ask(self.generator, query, self._top, self._by_logprob)
            except NoLogprobs:
                self._has_logprobs = False
        return await sample(self.generator, query, self._samples, self._by_sampling)

    async def judge_together(self, queries: Sequence[Query]) -> list[Estimate | None]:
        count, claims = len(queries), [query.claim for query in queries]
        prompt, schema = yes_no_all(queries), answers_schema(count)
        length = MAX_TOKENS + _TOKENS_A_CLAIM * count
        if self._has_logprobs:
            [reply] = await self.generator.complete(prompt, max_tokens=length, top_logprobs=self._top, schema=schema)
            if reply.positions:
                return shared_estimates(reply, claims, self._by_logprob)
            if not numbered_answers(reply.text, claims):  # no answer at all says nothing about logprobs
                return [None] * count
            self._has_logprobs = False
        replies = await self.generator.complete(
            prompt, max_tokens=length, temperature=_TEMPERATURE, n=self._samples, schema=schema
        )
        given = [{number: answer for number, answer, _ in numbered_answers(r.text, claims)} for r in replies]
        return [tally([answers.get(number) for answers in given], self._by_sampling) for number in range(1, count + 1)]
