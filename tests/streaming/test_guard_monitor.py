"""The monitor: the same warnings however the text is cut, each once, in bounded memory, and calm."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from groundwire.config import Config, RealTimeConfig
from groundwire.engine import Groundwire
from groundwire.streaming.guard import KEPT_WARNINGS, TAIL, GenerationMonitor
from groundwire.streaming.patterns import MAX_SENTENCE_CHARS, PATTERNS, SentenceSplitter
from groundwire.types import ClaimVerification, Risk, Source, Status
from groundwire.types.stream import StreamWarning

SOURCES = (Source("S0", "Atlas Mining was founded in 1998 by Mara Lind. It employs 1,240 people."),)
PIECES = (
    "Atlas Mining employs 1,240 people. ", "Atlas Mining employs 900 people. ", "It is deep [S9]. ", "See [S1, S2]. ",
    "About 37% left. ", "Dr. Berg et al. (2019) said so! ", "e.g. this ", "\n\n", "- item one\n", "```\n", "x.y() ",
    "https://a.example/b ", "Studies show it.", " [S0] ", "Was it? ", "3.5 ", "... ", "(Nilsen, 2018). ", "העובדים עזבו. ",
    "37 אחוז ", "。", "日本。", "No. 5 ", "J. Smith ", "\u2028", "\t", "“Yes.” ", "[report.md] ", "[a. b] ",
)  # fmt: skip


def run(text: str, cuts: Sequence[int]) -> tuple[tuple[StreamWarning, ...], dict[str, int]]:
    monitor = GenerationMonitor(PATTERNS, SOURCES)
    told: list[StreamWarning] = []
    at = 0
    for cut in [*cuts, len(text)]:
        told += monitor.update(text[at:cut])
        at = max(at, cut)
    told += monitor.close()
    assert tuple(told) == monitor.warnings
    return tuple(told), dict(monitor.counts)


@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=8), max_size=40), st.randoms(use_true_random=False))
@settings(max_examples=150, deadline=None)
def test_any_chunking_gives_the_same_warnings(pieces: list[str], random: Random) -> None:
    text = "".join(pieces)
    cuts = sorted(random.sample(range(len(text) + 1), min(len(text), random.randint(0, 30))))
    whole = run(text, ())
    assert run(text, cuts) == whole
    assert run(text, range(len(text))) == whole


@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=8), max_size=60))
@settings(max_examples=100, deadline=None)
def test_sentences_stand_where_they_say(pieces: list[str]) -> None:
    text = "".join(pieces) * 3
    splitter = SentenceSplitter()
    found = [*splitter.feed(text), *splitter.rest()]
    assert all(text[s.start :].startswith(s.text) for s in found)
    between = [
        text[a:b]
        for a, b in zip(
            [0, *(s.start + len(s.text) for s in found)], [*(s.start for s in found), len(text)], strict=True
        )
    ]
    assert not any(map(str.isalnum, "".join(between)))
    assert all(len(s.text) <= MAX_SENTENCE_CHARS + 300 for s in found)


def test_long_text_without_an_end_is_cut_alike_however_it_comes() -> None:
    text = "word " * 2000 + "1.2" * 900 + " end. Next" + "." * 3000 + " A" + " " * 2000 + "B."
    whole = SentenceSplitter()
    expected = [*whole.feed(text), *whole.rest()]
    single = SentenceSplitter()
    assert [s for letter in text for s in single.feed(letter)] + list(single.rest()) == expected
    assert len(expected) > 10


def test_the_same_find_is_told_once() -> None:
    monitor = GenerationMonitor(PATTERNS, SOURCES)
    for _ in range(50):
        monitor.update("It is deep [S9]. See https://a.example/b now. ")
    monitor.close()
    assert monitor.counts == {"invented_citation": 1, "invented_url": 1}


def test_offsets_are_into_the_whole_stream() -> None:
    text = "Nothing here. " * 400 + "It is deep [S9]. The end."
    monitor = GenerationMonitor(PATTERNS, SOURCES)
    for at in range(0, len(text), 3):
        monitor.update(text[at : at + 3])
    (warning,) = monitor.warnings
    assert text[warning.start : warning.end] == warning.segment == "[S9]"


def test_sources_may_be_read_ahead() -> None:
    ready, late = GenerationMonitor(PATTERNS, SOURCES), GenerationMonitor(PATTERNS, SOURCES)
    ready.prepare()
    text = "It is deep [S9]. About 37% left. The end."
    assert ready.update(text) == late.update(text) != ()


def test_what_is_kept_is_bounded() -> None:
    monitor = GenerationMonitor(PATTERNS, SOURCES)
    for number in range(3000):
        monitor.update(f"It is deep [S{number + 1}]. ")
    monitor.close()
    assert len(monitor.warnings) == KEPT_WARNINGS
    assert monitor.counts["invented_citation"] > KEPT_WARNINGS
    assert len(monitor.current_generation) == TAIL
    assert monitor.current_generation.endswith("It is deep [S3000]. ")


def test_mere_lack_of_support_never_interrupts() -> None:
    monitor = GenerationMonitor(PATTERNS, SOURCES, config=RealTimeConfig(interrupt_threshold=0.0))
    monitor.update("About 37% left under Jonas Ekdahl on 4 May 2007. Studies show 48,317 tonnes. It is. ")
    assert monitor.warnings
    assert not monitor.should_interrupt()


@pytest.mark.parametrize(
    ("text", "pattern"),
    [
        ("It is deep [S9]. And then.", "invented_citation"),
        ("See https://a.example/x now. And then.", "invented_url"),
        ("It is in doi:10.1234/abcd.5678 too. And then.", "invented_doi"),
    ],
)
def test_an_invented_reference_stops_the_stream_as_its_level_says(text: str, pattern: str) -> None:
    monitor = GenerationMonitor(PATTERNS, SOURCES)
    monitor.update(text)
    assert monitor.should_interrupt()
    assert monitor.alarm
    assert (monitor.alarm.pattern, monitor.alarm.risk) == (pattern, Risk.HIGH)


def test_references_invented_one_after_the_other_are_critical() -> None:
    monitor = GenerationMonitor(PATTERNS, SOURCES)
    monitor.update("Deep [S8]. Wide [S9]. ")
    assert monitor.alarm
    assert monitor.alarm.risk is Risk.HIGH
    monitor.update("See https://a.example/x now. And then. ")
    assert monitor.alarm.pattern == "fabricated_references"


class Scripted:
    """A judge whose verdicts come when the test wants them."""

    def __init__(self) -> None:
        self.text = ""
        self.said: tuple[ClaimVerification, ...] = ()

    def push(self, text: str) -> None:
        self.text += text

    def verdicts(self) -> tuple[ClaimVerification, ...]:
        return self.said


@pytest.fixture
async def verdict() -> ClaimVerification:
    async with Groundwire(Config(), backend="fake") as engine:
        return await engine.verify_claim("Atlas Mining employs 1,240 people.", SOURCES)


def test_evidence_against_it_interrupts_and_doubt_does_not(verdict: ClaimVerification) -> None:
    judge = Scripted()
    monitor = GenerationMonitor(PATTERNS, SOURCES, judge)
    monitor.update("Atlas Mining employs 900 people. It ")
    assert judge.text == "Atlas Mining employs 900 people. It "
    lacking = replace(verdict, status=Status.NOT_IN_CONTEXT, is_flagged=True, certain=True, p1=0.001)
    judge.said = (lacking, replace(verdict, status=Status.UNCHECKED, p1=None))
    assert not monitor.should_interrupt()
    doubted = replace(verdict, status=Status.CONTRADICTED, is_flagged=True, certain=True, p1=0.45)
    judge.said = (*judge.said, doubted)
    assert not monitor.should_interrupt()
    judge.said = (*judge.said, replace(doubted, p1=0.001))
    assert monitor.should_interrupt()
    assert monitor.contradiction() == judge.said[-1]
    assert monitor.verdicts == judge.said


@pytest.mark.parametrize("text", ["", " ", "\n" * 5000, "\x00\ud800", "a" * 100_000, ". " * 20_000, "[" * 20_000])
def test_hostile_text_is_only_text(text: str) -> None:
    monitor = GenerationMonitor(PATTERNS, SOURCES)
    monitor.update(text)
    monitor.close()
    assert not monitor.should_interrupt()
