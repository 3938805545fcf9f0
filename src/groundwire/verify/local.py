"""The embedded verifier: evidence selection, a small cross-encoder, symbolic checks, one probability.

Every query is judged alone, so the same query gets the same numbers in whatever company it comes.
"""

from __future__ import annotations

import asyncio
import json
import math
import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from groundwire.text.words import language_hint
from groundwire.types import Estimate, Query, Span, Verifier
from groundwire.verify.features import NAMES, NEAR_WORDS, Rarity, Reader
from groundwire.verify.network import COLUMNS, FOLDER, Network, Reading, checked
from groundwire.verify.records import check
from groundwire.verify.trees import Trees

_READERS = 64
_SPEAKS = 0.34
_SPAN_LOGIT = 0.0
_RULE_SHARE = 0.8


@dataclass(frozen=True, slots=True)
class Calibration:
    """How raw scores become probabilities, and where the operating point lies."""

    slope: float
    offset: float
    threshold_bits: float
    bare_yes: float
    name: str

    @classmethod
    def load(cls, folder: Path = FOLDER) -> Calibration:
        data = json.loads(checked("calibration.json", folder).read_text(encoding="utf-8"))
        return cls(**data)


class Model:
    """Everything that is read from disk, once."""

    def __init__(self, folder: Path = FOLDER) -> None:
        self.network = Network(folder)
        self.calibration = Calibration.load(folder)
        with np.load(checked("hybrid.npz", folder)) as arrays:
            self.trees = Trees.from_arrays(arrays)
        self.rarity = Rarity(self.network.vocabulary())


class LocalVerifier:
    """P(yes), P(no), P(unsure) for a claim in a context; other languages than English go the lexical way."""

    context_tokens = 1_000_000

    def __init__(self, folder: Path = FOLDER, other_languages: Verifier | None = None) -> None:
        about = Calibration.load(folder)
        self.identity = about.name
        self.threshold_bits = about.threshold_bits
        self._folder = folder
        self._others = other_languages
        self._model: Model | None = None
        self._lock = threading.Lock()
        self._readers: OrderedDict[str, Reader] = OrderedDict()

    async def estimate(self, queries: Sequence[Query]) -> list[Estimate]:
        foreign = [i for i, query in enumerate(queries) if language_hint(query.claim) != "en"]
        mine = [i for i in range(len(queries)) if i not in set(foreign)]
        found: dict[int, Estimate] = {}
        if foreign:
            answers = await self._lexical().estimate([queries[i] for i in foreign])
            found.update(zip(foreign, answers, strict=True))
        if mine:
            answers = await asyncio.to_thread(self._judge, [queries[i] for i in mine])
            found.update(zip(mine, answers, strict=True))
        return [found[i] for i in range(len(queries))]

    def _lexical(self) -> Verifier:
        if self._others is None:
            from groundwire.verify.lexical import LexicalVerifier

            self._others = LexicalVerifier()
        return self._others

    def _loaded(self) -> Model:
        with self._lock:
            if self._model is None:
                self._model = Model(self._folder)
            return self._model

    def _reader(self, context: str, model: Model) -> Reader:
        with self._lock:
            reader = self._readers.get(context)
            if reader is not None:
                self._readers.move_to_end(context)
                return reader
        reader = Reader(context, model.rarity)
        with self._lock:
            self._readers[context] = reader
            while len(self._readers) > _READERS:
                self._readers.popitem(last=False)
        return reader

    def _judge(self, queries: Sequence[Query]) -> list[Estimate]:
        model = self._loaded()
        readers = [self._reader(query.context, model) for query in queries]
        pairs = [
            (r.selector.evidence(q.claim, NEAR_WORDS), q.claim) for q, r in zip(queries, readers, strict=True)
        ]
        readings = model.network.read(pairs)
        rows = [
            [*reader.features(query.claim), *reading.columns]
            for query, reader, reading in zip(queries, readers, readings, strict=True)
        ]
        raw = model.trees.raw(np.array(rows, np.float64))
        return [
            self._estimate(query, reader, reading, row, float(score), model.calibration)
            for query, reader, reading, row, score in zip(queries, readers, readings, rows, raw, strict=True)
        ]

    def _estimate(
        self,
        query: Query,
        reader: Reader,
        reading: Reading,
        row: list[float],
        raw: float,
        calibration: Calibration,
    ) -> Estimate:
        method = calibration.name
        if not reader.passages:
            return Estimate.point(
                calibration.bare_yes, 0.02, method, reason="there is no evidence", speaks=False
            )
        values = dict(zip((*NAMES, *COLUMNS), row, strict=True))
        p_bad = 1.0 / (1.0 + math.exp(-(calibration.slope * raw + calibration.offset)))
        p_no = p_bad * denial(values)
        spans = unsupported(query.claim, reading, check(query.claim, reader.record).ranges)
        return Estimate.point(
            1.0 - p_bad, p_no, method,
            reason=reason(query.claim, spans, p_no > p_bad / 2) if p_bad > 0.5 else "",
            spans=spans, speaks=values["best_cover"] >= _SPEAKS,
        )  # fmt: skip


def denial(values: dict[str, float]) -> float:
    """Of the chance that a claim is not carried, the part that the evidence speaks against it."""
    against, silent = math.exp(values["contradict"]), math.exp(values["neutral"])
    share = against / max(against + silent, 1e-9)
    if values["flags_wrong"] or values["hours_wrong"] or values["stars_wrong"]:
        return max(share, _RULE_SHARE)
    return share


def unsupported(claim: str, reading: Reading, rules: Sequence[tuple[int, int]]) -> tuple[Span, ...]:
    """Character ranges the token head or a rule marks, neighbours joined, one-token noise removed."""
    marked = [
        (start, end, 1.0 / (1.0 + math.exp(-float(logit))))
        for (start, end), logit in zip(reading.offsets, reading.logits, strict=True)
        if logit > _SPAN_LOGIT
    ]
    marked += [(start, end, 0.9) for start, end in rules]
    joined: list[tuple[int, int, float]] = []
    for start, end, score in sorted(marked):
        if joined and not any(c.isalnum() for c in claim[joined[-1][1] : start]):
            first, last, best = joined[-1]
            joined[-1] = (first, max(last, end), max(best, score))
        else:
            joined.append((start, end, score))
    return tuple(
        Span(*_whole_words(claim, a, b), round(s, 4)) for a, b, s in joined if _says_something(claim[a:b])
    )


def _says_something(text: str) -> bool:
    return any(c.isdigit() for c in text) or sum(c.isalpha() for c in text) >= 3


def _whole_words(claim: str, start: int, end: int) -> tuple[int, int]:
    while start > 0 and claim[start - 1].isalnum() and claim[start].isalnum():
        start -= 1
    while end < len(claim) and claim[end - 1].isalnum() and claim[end].isalnum():
        end += 1
    return start, end


def reason(claim: str, spans: Sequence[Span], denied: bool) -> str:
    parts = ", ".join(f"“{claim[s.start : s.end]}”" for s in spans[:3])
    if denied:
        return f"the evidence speaks against {parts}" if parts else "the evidence speaks against it"
    return f"the evidence does not carry {parts}" if parts else "the evidence does not carry it"
