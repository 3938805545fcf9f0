"""Temporal errors: each kind, and beside it what only looks like one."""

from __future__ import annotations

import asyncio

import pytest
from tests.detecting import NOW, context_of

from groundwire.detectors.temporal import detect_temporal_errors
from groundwire.types import Flag, HallucinationType


def flags(text: str, *sources: str) -> list[Flag]:
    return asyncio.run(detect_temporal_errors(context_of(text, sources=sources)))


WRONG = [
    ("The project was completed before it started.", 0.80),
    ("The event happened last year in 2026.", 0.85),
    ("The event happened last year, in 2024.", 0.85),
    ("The company was founded in 2031.", 0.85),
    ("In 2029, the bridge was opened to traffic.", 0.85),
    ("The product launched on March 3, 2028.", 0.85),
    ("The report has been published in 2033.", 0.85),
    ("The meeting took place tomorrow.", 0.85),
    ("She graduated next year.", 0.85),
    ("The colony was founded in 2350.", 0.90),
    ("The tower was built in 2090.", 0.90),
    ("The law is in force since 2077.", 0.90),
    ("The tower was built in 2037.", 0.90),
    ("The tower was built in 2036.", 0.85),
    ("The bridge was finished before construction began.", 0.80),
    ("The parcel will arrive in 2900.", 0.90),
    ("He worked there from 2021 to 2019.", 0.80),
    ("The war took place between 1945 and 1939.", 0.80),
    ("The museum opened in 2020 and closed in 2018.", 0.80),
    ("The company was founded in 1990 and dissolved in 1985.", 0.80),
    ("She was born in 1960 and died in 1950.", 0.80),
    ("He died in 1950 and was born in 1960.", 0.80),
    ("The café opened in 2020. It closed in 2018.", 0.80),
    ("Ada Crane was born in 1960. Ada Crane died in 1950.", 0.80),
    ("He was born on 30 February 1990.", 0.90),
    ("The contract was signed on April 31, 2022.", 0.90),
    ("It happened in 2018, three years after the 2020 election.", 0.80),
    ("The match began after it ended.", 0.80),
]
RIGHT = [
    "The project was completed before the deadline.",
    "The project was completed before it started raining.",
    "The event happened last year in 2025.",
    "Last year, 2025, was warm.",
    "The launch was scheduled for 2030.",
    "The bridge was expected to open in 2030.",
    "The bridge will be completed in 2032.",
    "The committee announced that it would meet in 2030.",
    "The stadium was planned in 2024 and will open in 2029.",
    'The plan said "the bridge was finished in 2035".',
    "The context window was 2048 tokens.",
    "Version 2030 was installed in Room 2100.",
    "By 2050, half of all cars are electric.",
    "The model was trained on 2100 images.",
    "The company was founded in 1990.",
    "The design was finished before construction began.",
    "The comet will return in 2061.",
    "The model predicts that the ice will be gone in 2900.",
    'She was named a "star of tomorrow" by the paper.',
    "The treaty expires in 2048.",
    "The novel is set in 2350.",
    "He worked there from 2019 to 2021.",
    "The date was moved from 2021 to 2019.",
    "The difference between 2021 and 2019 was small.",
    "The museum closed in 2018 and reopened in 2020.",
    "The museum opened in 2018 and closed in 2020.",
    "The store opened in 2020, and its predecessor closed in 2018.",
    "She was born in 1950 and died in 2010.",
    "He was born on 29 February 1992.",
    "It happened in 2023, three years after the 2020 election.",
    "In 2018, two years before the 2020 election, he resigned.",
    "The meeting took place yesterday.",
    "The meeting was on Friday.",
    "It opened on December 24.",
    "Did the company open in 2031?",
    "If it opened in 2031, we were told, it would pay off.",
    "The Expo 2030 bid was won by Riyadh.",
    "The city was awarded the 2034 World Cup.",
    "The temple stood from 1200 to 1150 BC.",
    "Construction began in 2015 after the old plant closed in 2014.",
    "The vehicles sold in 2040 will be electric.",
    "The fight was over before it began.",
    "In 1903, the Wright brothers fly for the first time.",
]


@pytest.mark.parametrize(("text", "confidence"), WRONG)
def test_what_cannot_have_been_is_flagged(text: str, confidence: float) -> None:
    found = flags(text)
    assert [flag.confidence for flag in found[:1]] == [confidence]
    assert all(text[flag.start : flag.end] == flag.content for flag in found)
    assert {flag.type for flag in found} == {HallucinationType.TEMPORAL_ERROR}


@pytest.mark.parametrize("text", RIGHT)
def test_what_may_have_been_is_not(text: str) -> None:
    assert flags(text) == []


def test_the_current_date_is_the_evidence() -> None:
    (flag,) = flags("The company was founded in 2031.")
    assert flag.suggestion == "2031-01-01 is in the future but referenced in past tense"
    assert flag.evidence == f"Current date: {NOW:%Y-%m-%d}"


def test_what_a_source_says_in_the_same_words_is_not_the_responses_mistake() -> None:
    text = "The event happened last year in 2016."
    assert flags(text)
    assert flags(text, "Reuters, 2017: the event happened last year in 2016, police said.") == []
