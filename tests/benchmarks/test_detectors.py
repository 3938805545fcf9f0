"""The labelled set is what its generator makes, and the figures count what they say."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path

from benchmarks.detectors import ALL, NOW, PRECISION, RECALL, LabelledSentence, Outcome, fill, items, judge, tabulate
from benchmarks.detectors_set import made

from groundwire.config import Config
from groundwire.detectors.registry import detect
from groundwire.stores.knowledge_base import Knowledge
from groundwire.types import Case, Flag, HallucinationType


def test_the_set_in_the_repository_is_the_generators() -> None:
    assert items() == made()


def test_it_is_large_enough_and_of_both_polarities() -> None:
    labels = Counter(item.label for item in items())
    assert sum(labels.values()) >= 300
    assert labels[""] >= 150
    assert all(labels[kind.value] >= 10 for kind in HallucinationType)
    assert 0.4 < sum(item.held for item in items()) / sum(labels.values()) < 0.6


def test_a_flag_of_another_kind_is_a_miss_and_a_false_alarm() -> None:
    wrong = LabelledSentence("a", HallucinationType.TEMPORAL_ERROR.value)
    rows = {row.kind: row for row in tabulate([Outcome(wrong, ("LogicalInconsistency",))]) if row.half == "both"}
    assert (rows[ALL].hits, rows[ALL].false_alarms, rows[ALL].misses) == (0, 1, 1)
    assert rows["LogicalInconsistency"].false_alarms == 1
    assert rows["TemporalError"].misses == 1
    assert rows["FabricatedFact"].precision is None


def test_the_bar_is_reached_on_the_half_nobody_looks_at() -> None:
    held = [item for item in items() if item.held]
    (row,) = (r for r in tabulate(asyncio.run(judge(held, Config()))) if (r.kind, r.half) == (ALL, "both"))
    assert (row.precision or 0) >= PRECISION
    assert (row.recall or 0) >= RECALL


def test_a_corrected_sentence_raises_no_flag(tmp_path: Path) -> None:
    wrong = [item for item in items() if item.label == HallucinationType.WRONG_ATTRIBUTE.value][::3]
    with Knowledge.open(str(tmp_path / "kb.db")) as kb:
        fill(kb)
        fixed = [text for item in wrong if (text := _fixed(item.text, kb)) != item.text]
        assert len(fixed) > len(wrong) / 2
        assert [text for text in fixed if _flags(text, kb)] == []


def _flags(text: str, kb: Knowledge) -> tuple[Flag, ...]:
    return asyncio.run(detect(Case(text, (), kb=kb, now=NOW))).flags


def _fixed(text: str, kb: Knowledge) -> str:
    for flag in sorted(_flags(text, kb), key=lambda flag: -flag.start):
        if flag.fix and flag.correction:
            text = text[: flag.fix[0]] + flag.correction + text[flag.fix[1] :]
    return text
