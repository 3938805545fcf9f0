"""Claims that call on evidence: flagged where there is none, left alone where there is, or where nothing is called on."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest
from tests.detecting import context_of

from groundwire import Config, Groundwire
from groundwire.detectors.wording import detect_unsupported_claims
from groundwire.types import Estimate, Flag, HallucinationType, Query, Verifier


def flags(
    text: str, *sources: str, turns: tuple[tuple[str, str], ...] = (), verifier: Verifier | None = None
) -> list[Flag]:
    view = context_of(text, sources=sources, turns=turns, verifier=verifier)
    return asyncio.run(detect_unsupported_claims(view))


class Says:
    def __init__(self, p_yes: float, p_no: float = 0.0, error: str | None = None) -> None:
        self.p_yes, self.p_no, self.error = p_yes, p_no, error

    async def estimate(self, queries: Sequence[Query]) -> list[Estimate]:
        made = Estimate.failed(self.error) if self.error else Estimate.point(self.p_yes, self.p_no, "test")
        return [made for _ in queries]


PRODUCTIVE = "Studies show that this approach increases productivity by 40%."


def test_unnamed_studies_with_a_figure() -> None:
    (flag,) = flags(PRODUCTIVE)
    assert flag.type is HallucinationType.UNSUPPORTED_CLAIM
    assert flag.confidence == pytest.approx(0.70)
    assert (flag.start, flag.end, flag.content) == (0, len(PRODUCTIVE), PRODUCTIVE)


@pytest.mark.parametrize(
    "text",
    [
        "Research proves that coffee extends life.",
        "Experts agree that this is the right way.",
        "Recent surveys have shown that most customers prefer it.",
        "According to scientists, the method is safe.",
        "Many studies have consistently found that naps help.",
        "The cream is clinically proven to work.",
        "Statistics show a clear trend.",
    ],
)
def test_an_appeal_to_nobody(text: str) -> None:
    (flag,) = flags(text)
    assert 0.5 <= flag.confidence < 0.8


@pytest.mark.parametrize(
    "text",
    [
        "The town hall is painted green.",
        "Revenue rose by 12% in May.",
        "The city has 3.4 million residents.",
        "Smoking causes cancer.",
        "It is the largest lake of the region.",
        "The study found no effect.",
        "Our data shows a rise in sign-ups.",
        "Do studies show that it works?",
        "She studies history and found a job.",
        "Experts from the team will visit on Monday.",
        "The research department reports to Anna.",
        "Survey the field before you build.",
    ],
)
def test_ordinary_statements_are_left_alone(text: str) -> None:
    assert flags(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "A 2019 study published in Nature found that naps help.",
        "Researchers at the University of Oslo found that naps help (Berg et al., 2021).",
        "Studies show that naps help [1].",
    ],
)
def test_a_named_source_takes_it_below_the_threshold(text: str) -> None:
    assert all(flag.confidence < 0.5 for flag in flags(text))


def test_hedging_and_overconfidence_move_it() -> None:
    (plain,) = flags("Studies show that naps help.")
    (hedged,) = flags("Studies suggest that naps might help.")
    (sure,) = flags("Studies prove beyond any doubt that naps help.")
    assert hedged.confidence < plain.confidence < sure.confidence


@pytest.mark.parametrize("where", ["source", "turn"])
def test_what_was_given_in_these_words_is_carried(where: str) -> None:
    given = "Several studies show that the approach increases productivity by 40 %."
    if where == "source":
        assert flags(PRODUCTIVE, given) == []
    else:
        assert flags(PRODUCTIVE, turns=(("user", given),)) == []


def test_another_figure_is_not_carried() -> None:
    given = "Several studies show that the approach increases productivity by 15 %."
    (flag,) = flags(PRODUCTIVE, given)
    assert flag.confidence == pytest.approx(0.85)


def test_the_verifier_decides_where_words_differ() -> None:
    given = "In trials, output per hour rose two fifths with the method."
    assert flags(PRODUCTIVE, given, verifier=Says(0.8)) == []
    (denied,) = flags(PRODUCTIVE, given, verifier=Says(0.1, 0.8))
    (open_,) = flags(PRODUCTIVE, given, verifier=Says(0.1, 0.1))
    assert denied.confidence > open_.confidence


def test_figures_count_only_against_sources_that_do_not_carry_them() -> None:
    text = "Turnover grew by 35% among small firms."
    source = "The harbour was rebuilt after the storm."
    assert flags(text, source) == []
    assert flags(text, source, verifier=Says(0.4)) == []
    assert flags(text, source, verifier=Says(0.0, error="timeout")) == []
    (flag,) = flags(text, source, verifier=Says(0.02))
    assert flag.confidence == pytest.approx(0.60)


def test_a_chat_without_sources_asks_for_no_proof_of_plain_figures() -> None:
    chat = (("user", "How did the small firms do?"),)
    assert flags("Turnover grew by 35% among small firms.", turns=chat, verifier=Says(0.0)) == []
    (flag,) = flags("Studies show that turnover grew.", turns=chat, verifier=Says(0.0))
    assert flag.confidence == pytest.approx(0.60)


async def test_studies_that_a_cited_source_reports_are_no_flag() -> None:
    said = "Studies show that usage rose by 40 %"
    async with Groundwire(Config(), backend="fake") as engine:
        assert (await engine.detect(f"{said} [S0].", {"S0": f"{said}."})).flags == ()
        assert (await engine.detect(f"{said} [S0].", {"S0": "Usage fell in May."})).flags
