"""LocalVerifier: clauses of the claim, windows of the context, a cross-encoder that reads them, one calibrated verdict.

Every query is judged alone: the same query gets the same numbers whatever else is in the batch.
"""

from __future__ import annotations

import asyncio
import math
import os
import re
import threading
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from operator import itemgetter
from pathlib import Path

from groundwire.text.clauses import clauses
from groundwire.text.document import Document, Window
from groundwire.text.structure import evidence_removed
from groundwire.text.tokens import TextCache, language_hint
from groundwire.types import Estimate, Query, Span
from groundwire.verifiers.local.calibration import Calibration, Probabilities, Readings
from groundwire.verifiers.local.network import FOLDER, Network
from groundwire.verifiers.local.quantities import NumberCheck, check_numbers, value_instead

DOCUMENT_CACHE, DOCUMENT_CACHE_CHARS = 64, 2_000_000
"""Documents kept between calls, and their characters in all: the claims of one answer share a context, a server's
users have many. A usual context has 24,000 characters."""

SPEAKS_COVERAGE = 0.34
"""A context that holds less of a claim's words (by weight) does not speak of it: "nothing in the sources"."""

REMAINDER_COVERAGE = 0.5
"""Where evidence was taken out, what is left is read only if it holds this share of the claim's words."""

NUMBER_WORDS = 800
"""Words of the context, those closest to the claim, among which its numbers are looked for."""

SPAN_LOGIT = 0.0
"""Tokens whose logit is over this are marked as unsupported: more likely wrong than not."""

_NO_EVIDENCE_NO = 0.02
_LINKS = frozenset(("and", "the", "that", "this", "which"))
_WORD = re.compile(r"\d+(?:[.,:/]\d+)*\w*|\w+(?:['’]\w+)*")
_QUOTE_CHARS = 160


@dataclass(frozen=True, slots=True)
class ClauseWindow:
    """A clause of a claim, where it begins in it, and the narrow window it is read with."""

    text: str
    start: int
    window: Window


class LocalVerifier:
    """P(yes), P(no) and P(unsure) for a claim in a context. Claims not in English take the lexical path."""

    def __init__(self, folder: Path = FOLDER) -> None:
        self.calibration = Calibration.load(folder)
        self.identity = self.calibration.name
        self._folder = folder
        self._network: Network | None = None
        self._lock = threading.Lock()
        self.document = TextCache(Document, DOCUMENT_CACHE, DOCUMENT_CACHE_CHARS)

    def threshold_bits(self, profile: str = "default") -> float:
        """The gap above which a claim is flagged; `strict` leaves no gap."""
        return 0.0 if profile == "strict" else self.calibration.threshold_bits

    def risk_threshold(self) -> float:
        """The risk above which a whole response is flagged."""
        return self.calibration.risk_threshold

    def prior_yes(self) -> float:
        """P(yes) where no evidence speaks of a claim: the network knows only what it reads."""
        return self.calibration.prior_yes

    async def estimate(self, queries: Sequence[Query]) -> list[Estimate]:
        foreign = [i for i, query in enumerate(queries) if language_hint(query.claim) != "en"]
        english = [i for i in range(len(queries)) if i not in set(foreign)]
        found: dict[int, Estimate] = {}
        if foreign:
            # Imported here: most claims are in English.
            from groundwire.verifiers.lexical import LexicalVerifier

            answers = await LexicalVerifier().estimate([queries[i] for i in foreign])
            found.update(zip(foreign, answers, strict=True))
        if english:
            answers = await asyncio.to_thread(self._judge, [queries[i] for i in english])
            found.update(zip(english, answers, strict=True))
        return [found[i] for i in range(len(queries))]

    def network(self) -> Network:
        """The network, loaded on first use."""
        with self._lock:
            if self._network is None:
                self._network = _open_network(self._folder, os.getpid())
            return self._network

    def _judge(self, queries: Sequence[Query]) -> list[Estimate]:
        network = self.network()
        found = [self.clauses(query, network) for query in queries]
        narrow = iter(network.read([(clause.window.text, clause.text) for one in found for clause in one]))
        readings = [Readings(tuple(next(narrow) for _ in one)) for one in found]
        unclear = [i for i, one in enumerate(readings) if one.clauses and not one.is_clear]
        wide = {i: window for i in unclear if (window := self.wider(queries[i], found[i], network))}
        whole = network.read([(window.text, queries[i].claim) for i, window in wide.items()])
        for i, reading in zip(wide, whole, strict=True):
            readings[i] = replace(readings[i], whole=reading)
        return [self._estimate(*one) for one in zip(queries, found, readings, strict=True)]

    def clauses(self, query: Query, network: Network) -> list[ClauseWindow]:
        """The clauses to read. Where evidence was taken out, none unless the rest speaks of the claim."""
        document = self.document(query.context)
        found = []
        for start, end in clauses(query.claim):
            windows = document.windows(query.claim[start:end], network.rarity)
            if windows:
                found.append(ClauseWindow(query.claim[start:end], start, windows[0]))
        if evidence_removed(query.context) and all(clause.window.coverage < REMAINDER_COVERAGE for clause in found):
            return []
        return found

    def wider(self, query: Query, found: Sequence[ClauseWindow], network: Network) -> Window | None:
        """The wide window of a whole claim, unless it has been read already."""
        wide = self.document(query.context).windows(query.claim, network.rarity)[-1]
        return None if len(found) == 1 and found[0].window.numbers == wide.numbers else wide

    def _estimate(self, query: Query, found: Sequence[ClauseWindow], readings: Readings) -> Estimate:
        curve = self.calibration
        if not found:
            return Estimate.point(curve.prior_yes, _NO_EVIDENCE_NO, curve.name, speaks=False)
        numbers = self.numbers(query)
        shares = curve.probabilities(readings, numbers)
        if evidence_removed(query.context):
            # What merely fails to deny the claim is no reason to believe it without its evidence.
            rest = max(curve.prior_yes, 2 * shares.yes - 1)
            return Estimate.point(rest, shares.no * shares.unsure, curve.name)
        spans = unsupported_spans(query.claim, found, readings) if shares.yes < 0.5 else ()
        return Estimate.point(
            shares.yes,
            shares.no,
            curve.name,
            reason=self._reason(query, shares, found[decisive_clause(shares, readings)].window, spans, numbers),
            spans=spans,
            speaks=max(clause.window.coverage for clause in found) >= SPEAKS_COVERAGE,
        )

    def numbers(self, query: Query) -> NumberCheck:
        """How the claim's numbers relate to those of the text that shares words with it."""
        rarity = self.network().rarity
        return check_numbers(query.claim, self.document(query.context).closest_text(query.claim, rarity, NUMBER_WORDS))

    def _reason(
        self, query: Query, found: Probabilities, window: Window, spans: Sequence[Span], numbers: NumberCheck
    ) -> str:
        """The words that decide: the sentence that denies the claim, or the part that no source supports."""
        if found.yes >= 0.5:
            return numbers.reason if numbers.derived else ""
        if found.no > found.unsure:
            said = self.document(query.context).closest_pieces(query.claim, window, self.network().rarity)
            value = next(filter(None, (value_instead(query.claim, piece) for piece in said)), "")
            return f"evidence says {value}" if value else f"the source says “{_shorten(said[0])}”"
        parts = ", ".join(f"“{query.claim[span.start : span.end]}”" for span in spans[:3])
        return f"not in the sources: {parts}" if parts else ""


@lru_cache(maxsize=2)
def _open_network(folder: Path, _process: int) -> Network:
    """One network for all engines of a process: it is read-only, and takes 150 MB. A fork has none of its threads."""
    return Network(folder)


def decisive_clause(found: Probabilities, readings: Readings) -> int:
    """The clause that the verdict rests on: the most surely denied one, else the least supported one."""
    numbers = range(len(readings.clauses))
    if found.no > found.unsure:
        return max(numbers, key=lambda i: readings.clauses[i].contradiction)
    return min(numbers, key=lambda i: readings.clauses[i].entailment)


def unsupported_spans(claim: str, found: Sequence[ClauseWindow], readings: Readings) -> tuple[Span, ...]:
    """Character ranges that the token head marks: neighbours joined, whole words, no lone "and" or punctuation.

    A token's logit is the mean over what was read. On 3,000 claims with marked errors, read with a narrow and a
    wide window, that has a span F1 of .27 (RAGTruth), .12 (silver) and .41 (card answers); the narrow window
    alone .24, .11 and .38.
    """
    logits: dict[tuple[int, int], list[float]] = {}
    for clause, reading in zip(found, readings.clauses, strict=True):
        for start, end, logit in reading.tokens:
            logits.setdefault((clause.start + start, clause.start + end), []).append(logit)
    for start, end, logit in readings.whole.tokens if readings.whole else ():
        logits.setdefault((start, end), []).append(logit)
    tokens = sorted((start, end, sum(values) / len(values)) for (start, end), values in logits.items())
    marked = [(start, end, 1.0 / (1.0 + math.exp(-logit))) for start, end, logit in tokens if logit > SPAN_LOGIT]
    joined: list[tuple[int, int, float]] = []
    for start, end, score in marked:
        if joined and not any(char.isalnum() for char in claim[joined[-1][1] : start]):
            first, _, best = joined[-1]
            joined[-1] = (first, end, max(best, score))
        else:
            joined.append((start, end, score))
    words = [match.span() for match in _WORD.finditer(claim)] if joined else []
    return tuple(
        Span(*_whole_words(claim, words, start, end), round(score, 4))
        for start, end, score in joined
        if _is_content(claim[start:end])
    )


def _is_content(text: str) -> bool:
    """False for lone punctuation and lone words that assert nothing ("and")."""
    if text.strip().casefold() in _LINKS:
        return False
    return any(char.isdigit() for char in text) or sum(char.isalpha() for char in text) >= 3


def _whole_words(claim: str, words: Sequence[tuple[int, int]], start: int, end: int) -> tuple[int, int]:
    """The range widened to whole words and numbers, without punctuation behind it."""
    touched = words[bisect_right(words, start, key=itemgetter(1)) : bisect_left(words, end, key=itemgetter(0))]
    if touched:
        start, end = min(start, touched[0][0]), max(end, touched[-1][1])
    return start, start + len(claim[start:end].rstrip(".,;:!? "))


def _shorten(text: str) -> str:
    return text if len(text) <= _QUOTE_CHARS else text[: _QUOTE_CHARS - 1].rsplit(" ", 1)[0] + "…"
