"""The embedded verifier: evidence selection, a small cross-encoder, symbolic checks, one probability.

Every query is judged alone, so the same query gets the same numbers in whatever company it comes.
"""

from __future__ import annotations

import asyncio
import json
import math
import re
import threading
from bisect import bisect_left, bisect_right
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple

import numpy as np

from groundwire.text.structure import MARKERS
from groundwire.text.tokens import language_hint
from groundwire.types import Estimate, Query, Span
from groundwire.verifiers.features import NAMES, NEAR_WORDS, Rarity, Reader
from groundwire.verifiers.lexical import LexicalVerifier
from groundwire.verifiers.network import COLUMNS, FOLDER, Network, Reading, checked
from groundwire.verifiers.records import check
from groundwire.verifiers.surface import Rewritten, is_verbatim, rewritten
from groundwire.verifiers.trees import Trees

_READERS = 64
_TOKEN = re.compile(r"\d+(?:[.,:/]\d+)*\w*|\w+(?:['’]\w+)*")
_SPEAKS = 0.34
_SPAN_LOGIT = -0.7
_RULE_SHARE = 0.8
_DENIED = 2.5
"""In logits: among pairs that the lexical reading calls contradicted, 73 to 97 of 100 are unsupported."""
_CLEAR = 0.85
_RULE = 1.5
_EXPLAIN = 0.25
_ABOUT = 0.4
_VERBATIM = 0.05
_MOSTLY = 0.5
_DRAWN, _FOREIGN = 0.4, 0.2  # of its words, by rarity
_BRIEF = 5
_AT_HOME = 1.0
_SILENT = 0.65
"""Of 100 claims none of whose words prose holds, 75 to 100 are unsupported; of an answer's, some 40."""
_LEFT = 0.5  # of a claim's words; what holds fewer speaks of something else, and is no reason to believe it


@dataclass(frozen=True, slots=True)
class Calibration:
    """How raw scores become probabilities, and where the operating point lies.

    A long context is a source that an answer draws on; a short one makes a pair with the claim. Errors look
    different there, so each has trees and a curve of its own, and between the two sizes they are mixed.
    """

    long_slope: float
    long_offset: float
    short_slope: float
    short_offset: float
    short_share: float
    short_words: float
    long_words: float
    threshold_bits: float
    risk_threshold: float
    bare_yes: float
    name: str

    @classmethod
    def load(cls, folder: Path = FOLDER) -> Calibration:
        data = json.loads(checked("calibration.json", folder).read_text(encoding="utf-8"))
        return cls(**data)

    def pair_share(self, words: int) -> float:
        """How much a context of so many words is judged as one half of a pair."""
        return pair_share(words, self.short_words, self.long_words)

    def unsupported(self, long: float, short: float, words: int, *, known: float = 0.0, apart: float = 0.0) -> float:
        """P(unsupported) from the two forests' raw scores and the size of the context.

        `known` is what other readings add to a pair, in logits; `apart` how far the claim is judged as one
        half of a pair whatever the size, since it was hardly drawn from this source.
        """
        as_source = self.long_slope * (long + self.short_share * short) + self.long_offset
        as_pair = self.short_slope * short + self.short_offset + known
        share = max(self.pair_share(words), apart)
        return 1.0 / (1.0 + math.exp(-(share * as_pair + (1.0 - share) * as_source)))

    def without(self, p_yes: float) -> float:
        """P(yes) where evidence was taken out: only what is left and clearly carries the claim counts."""
        clear = min(1.0, max(0.0, (p_yes - _CLEAR) / (1.0 - _CLEAR) * 2))
        return self.bare_yes + clear * (p_yes - self.bare_yes)


class Model:
    """Everything that is read from disk, once."""

    def __init__(self, folder: Path = FOLDER) -> None:
        self.network = Network(folder)
        self.calibration = Calibration.load(folder)
        with np.load(checked("hybrid.npz", folder)) as arrays:
            self.long = Trees.from_arrays(arrays, "long_")
            self.short = Trees.from_arrays(arrays, "short_")
        self.rarity = Rarity(self.network.vocabulary())


class LocalVerifier:
    """P(yes), P(no), P(unsure) for a claim in a context; other languages than English go the lexical way."""

    def __init__(self, folder: Path = FOLDER) -> None:
        about = Calibration.load(folder)
        self.identity = about.name
        self._threshold_bits = about.threshold_bits
        self._risk_threshold = about.risk_threshold
        self._folder = folder
        self._lexical = LexicalVerifier()
        self._model: Model | None = None
        self._lock = threading.Lock()
        self._readers: OrderedDict[str, Reader] = OrderedDict()

    def threshold_bits(self, profile: str = "default") -> float:
        """The gap above which calibration chose to flag; `strict` leaves no gap."""
        return 0.0 if profile == "strict" else self._threshold_bits

    def risk_threshold(self) -> float:
        """The risk of a whole response above which calibration chose to flag it."""
        return self._risk_threshold

    async def estimate(self, queries: Sequence[Query]) -> list[Estimate]:
        foreign = [i for i, query in enumerate(queries) if language_hint(query.claim) != "en"]
        mine = [i for i in range(len(queries)) if i not in set(foreign)]
        found: dict[int, Estimate] = {}
        if foreign:
            answers = await self._lexical.estimate([queries[i] for i in foreign])
            found.update(zip(foreign, answers, strict=True))
        if mine:
            answers = await asyncio.to_thread(self._judge, [queries[i] for i in mine])
            found.update(zip(mine, answers, strict=True))
        return [found[i] for i in range(len(queries))]

    def network(self) -> Network:
        """The network behind it, for those who measure it by itself."""
        return self.loaded().network

    def loaded(self) -> Model:
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
        """What is left when evidence is taken out mostly says nothing of the claim: no need to read that."""
        model = self.loaded()
        tasks = [_Task(query, self._reader(query.context, model)) for query in queries]
        worth = [task for task in tasks if not task.says_nothing]
        read = iter(self._read(worth, model))
        nothing = Estimate.point(model.calibration.bare_yes, 0.02, model.calibration.name, speaks=False)
        return [nothing if task.says_nothing else next(read) for task in tasks]

    def _read(self, tasks: Sequence[_Task], model: Model) -> list[Estimate]:
        same = [rewritten(task.query.claim, task.near) for task in tasks]
        read = model.network.begin([(task.near, new.text) for task, new in zip(tasks, same, strict=True)])
        # counting goes on while the network reads: it runs outside the interpreter's lock
        counted = [task.features for task in tasks]
        readings = [_placed(reading, new) for reading, new in zip(read(), same, strict=True)]
        rows = [[*row, *reading.columns] for row, reading in zip(counted, readings, strict=True)]
        table = np.array(rows, np.float64).reshape(len(rows), len(NAMES) + len(COLUMNS))
        scores = np.stack([model.long.raw(table), model.short.raw(table)], axis=1)
        return [
            self._estimate(_Case(task.query, task.reader, task.near, *case), model.calibration)
            for task, *case in zip(tasks, readings, rows, scores.tolist(), strict=True)
        ]

    def _estimate(self, case: _Case, curve: Calibration) -> Estimate:
        if not case.reader.passages:
            return Estimate.point(curve.bare_yes, 0.02, curve.name, reason="there is no evidence", speaks=False)
        second = self._second(case, curve)
        denied = second is not None
        values = dict(zip((*NAMES, *COLUMNS), case.row, strict=True))
        known = (_DENIED if denied else 0.0) + by_rule(values)
        far = 0.0 if is_structured(case.reader.structured) else apart(case.claim, values)
        known -= at_home(case.claim, curve.pair_share(case.reader.size), far)
        long, short = case.scores
        p_bad = curve.unsupported(long, short, case.reader.size, known=known, apart=far)
        if far and not near_cover(values):
            p_bad = max(p_bad, _SILENT)
        if is_verbatim(case.claim, [passage.text for passage in case.reader.passages]):
            p_bad = min(p_bad, _VERBATIM)
        p_yes = 1.0 - p_bad
        if is_bare(case.query):
            p_yes = curve.without(p_yes)
        share = denial(values)
        if denied:
            share = max(share, _RULE_SHARE * curve.pair_share(case.reader.size))
        p_no = min(p_bad * share, 1.0 - p_yes)
        spans = unsupported(case.claim, case.reading, check(case.claim, case.reader.record).ranges)
        why = ""
        if p_bad > _EXPLAIN:
            why = second.reason if second else reason(case.claim, spans, p_no > p_bad / 2)
        return Estimate.point(
            p_yes, p_no, curve.name, reason=why, spans=(second.spans if second else ()) or spans,
            speaks=near_cover(values) >= _SPEAKS,
        )  # fmt: skip

    def _second(self, case: _Case, curve: Calibration) -> Estimate | None:
        """The lexical reading, where it denies a pair.

        It is made for sentences: it is not asked about a long source, nor among rows and leaves.
        """
        if is_structured(case.reader.structured) or not curve.pair_share(case.reader.size):
            return None
        found = self._lexical.judge(Query(case.claim, case.near))
        return found if found.p_no > max(found.p_yes, found.p_unsure) else None


class _Task:
    """A query and what it is read against."""

    def __init__(self, query: Query, reader: Reader) -> None:
        self.query, self.reader = query, reader
        self.near = reader.selector.evidence(query.claim, NEAR_WORDS)

    @cached_property
    def features(self) -> list[float]:
        return self.reader.features(self.query.claim, self.near)

    @cached_property
    def says_nothing(self) -> bool:
        return is_bare(self.query) and self.reader.near_cover(self.query.claim, self.near) < _LEFT


class _Case(NamedTuple):
    """All that is known of one query before it is judged."""

    query: Query
    reader: Reader
    near: str
    reading: Reading
    row: list[float]
    scores: list[float]

    @property
    def claim(self) -> str:
        return self.query.claim


def is_bare(query: Query) -> bool:
    """Was evidence taken out of the context?"""
    return any(marker in query.context for marker in MARKERS)


def _placed(reading: Reading, new: Rewritten) -> Reading:
    """The reading with its tokens' ranges in the claim as it was given."""
    if not new.edits:
        return reading
    return replace(reading, offsets=tuple(new.back(start, end) for start, end in reading.offsets))


def near_cover(values: dict[str, float]) -> float:
    """The share of the claim's words, by rarity, that the selected evidence holds."""
    return values["best_cover"] + values["cover_gap"]


def pair_share(words: int, short: float, long: float) -> float:
    """1 for a context of up to `short` words, 0 from `long` words on, between them a straight line."""
    return min(1.0, max(0.0, (long - words) / (long - short)))


def is_structured(share: float) -> bool:
    """Does a source consist of rows and leaves rather than of sentences?"""
    return share >= _MOSTLY


def apart(claim: str, values: dict[str, float]) -> float:
    """How far a claim is one half of a pair: it is brief, or the evidence holds little of it.

    The forest for long sources has seen answers that were drawn from them, and takes anything for one.
    """
    if len(claim.split()) <= _BRIEF:
        return 1.0
    return min(1.0, max(0.0, (_DRAWN - near_cover(values)) / (_DRAWN - _FOREIGN)))


def at_home(claim: str, share: float, far: float) -> float:
    """What speaks for a strange claim over a long source, in logits: most of what an answer says is drawn
    from its source, also what does not look so. Of brief claims nobody knows that."""
    return 0.0 if len(claim.split()) <= _BRIEF or far <= share else _AT_HOME * (far - share) / far


def by_rule(values: dict[str, float]) -> float:
    """What the rules on records say about a pair, in logits; the forest for long sources has learnt it."""
    if values["flags_wrong"] or values["hours_wrong"] or values["stars_wrong"]:
        return _RULE
    borne_out = values["flags_ok"] + values["hours_ok"] + values["stars_ok"]
    return -_RULE if borne_out and not values["flags_open"] else 0.0


def denial(values: dict[str, float]) -> float:
    """Of the chance that a claim is not carried, the part that the evidence speaks against it."""
    against, silent = math.exp(values["contradict"]), math.exp(values["neutral"])
    # what shares little with the evidence is not spoken of, whatever the network makes of it
    share = against / max(against + silent, 1e-9) * min(1.0, near_cover(values) / _ABOUT)
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
    words = [match.span() for match in _TOKEN.finditer(claim)] if joined else []
    return tuple(
        Span(*_whole_words(claim, words, a, b), round(s, 4)) for a, b, s in joined if _says_something(claim[a:b])
    )


def _says_something(text: str) -> bool:
    return any(c.isdigit() for c in text) or sum(c.isalpha() for c in text) >= 3


def _whole_words(claim: str, words: Sequence[tuple[int, int]], start: int, end: int) -> tuple[int, int]:
    """A range that ends inside a word or a number takes all of it, and no point or comma behind it."""
    touched = words[bisect_right(words, start, key=itemgetter(1)) : bisect_left(words, end, key=itemgetter(0))]
    if touched:
        start, end = min(start, touched[0][0]), max(end, touched[-1][1])
    bare = claim[start:end].rstrip(".,;:!? ")
    return start, start + len(bare)


def reason(claim: str, spans: Sequence[Span], denied: bool) -> str:
    parts = ", ".join(f"“{claim[s.start : s.end]}”" for s in spans[:3])
    if denied:
        return f"the evidence speaks against {parts}" if parts else "the evidence speaks against it"
    return f"the evidence does not carry {parts}" if parts else "the evidence does not carry it"
