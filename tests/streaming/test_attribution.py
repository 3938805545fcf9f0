"""Where claims come from: each type of source has its own way of being looked up."""

from __future__ import annotations

import pytest

from groundwire.config import Config
from groundwire.engine import Groundwire
from groundwire.streaming.attribution import METHODS, SourceAttributionTracker
from groundwire.types import Source
from groundwire.types.stream import Attribution, SourceType

TOWER = Source("guide", "The Eiffel Tower is 330 metres tall. It was finished in 1889.")


def tracker() -> SourceAttributionTracker:
    return SourceAttributionTracker(
        [TOWER],
        observations={"call_1": '{"temperature": 21, "city": "Paris"}'},
        history=[{"role": "user", "content": "My budget is 400 euros."}, {"role": "assistant", "content": "Fine."}],
    )


def test_what_nobody_named_a_source_for_is_unattributed() -> None:
    found = tracker().verify_claim("The tower is pink.")
    assert (found.verified, found.reason) == (False, "unattributed_claim")


@pytest.mark.parametrize(
    ("claim", "source"),
    [
        ("It is 330 metres tall.", Attribution("", SourceType.FILE_CONTENT, "guide", 0, 36)),
        ("It was finished in 1889.", Attribution("", SourceType.FILE_CONTENT, "guide", quote="finished in  1889")),
        ("The temperature in Paris is 21.", Attribution("", SourceType.DIRECT_OBSERVATION, "call_1")),
        ("Your budget is 400 euros.", Attribution("", SourceType.USER_STATEMENT)),
        ("Your budget is 400 euros.", Attribution("", SourceType.USER_STATEMENT, "1")),
    ],
)  # fmt: skip
def test_what_stands_in_its_source_is_verified(claim: str, source: Attribution) -> None:
    held = tracker()
    held.track_claim(claim, source)
    found = held.verify_claim(claim)
    assert (found.verified, found.reason, found.claim) == (True, "", claim)


@pytest.mark.parametrize(
    ("claim", "source", "why"),
    [
        ("It is 300 metres tall.", Attribution("", SourceType.FILE_CONTENT, "guide", 0, 36), "does not say"),
        ("It is tall.", Attribution("", SourceType.FILE_CONTENT, "other"), "no source 'other'"),
        ("It is tall.", Attribution("", SourceType.FILE_CONTENT, "guide", 50, 900), "ends at"),
        ("It is tall.", Attribution("", SourceType.FILE_CONTENT, "guide", quote="very tall"), "quote"),
        ("It is 25 degrees.", Attribution("", SourceType.DIRECT_OBSERVATION, "call_1"), "does not say"),
        ("It is 25 degrees.", Attribution("", SourceType.DIRECT_OBSERVATION, "call_9"), "no tool"),
        ("Your budget is 900 euros.", Attribution("", SourceType.USER_STATEMENT), "did not say"),
        ("Fine.", Attribution("", SourceType.USER_STATEMENT), "did not say"),
        ("It follows.", Attribution("", SourceType.INFERENCE), "no premises"),
        ("Somehow.", Attribution("", SourceType.NONE), "no source"),
    ],
)  # fmt: skip
def test_what_does_not_stand_there_is_unverifiable(claim: str, source: Attribution, why: str) -> None:
    held = tracker()
    held.track_claim(claim, source)
    found = held.verify_claim(claim)
    assert (found.verified, found.reason) == (False, "unverifiable_source")
    assert why in found.note


def test_an_inference_holds_with_all_its_premises() -> None:
    held = tracker()
    held.track_claim("It is 330 metres tall.", Attribution("", SourceType.FILE_CONTENT, "guide", 0, 36))
    held.track_claim("It is tall.", Attribution("", SourceType.INFERENCE, premises=("It is 330 metres tall.",)))
    assert held.verify_claim("It is tall.").verified
    held.track_claim("So what.", Attribution("", SourceType.INFERENCE, premises=("It is tall.", "It is red.")))
    assert "It is red." in held.verify_claim("So what.").note


def test_long_and_tangled_inferences_are_followed_once() -> None:
    held = SourceAttributionTracker([Source("S0", "It is so.")])
    held.track_claim("It is so 0.", Attribution("", SourceType.FILE_CONTENT, "S0", quote="It is so"))
    held.track_claim("As well 0.", Attribution("", SourceType.FILE_CONTENT, "S0", quote="It is so"))
    for n in range(1, 2000):
        premises = (f"It is so {n - 1}.", f"As well {n - 1}.")
        held.track_claim(f"It is so {n}.", Attribution("", SourceType.INFERENCE, premises=premises))
        held.track_claim(f"As well {n}.", Attribution("", SourceType.INFERENCE, premises=premises))
    assert held.verify_claim("It is so 1999.").verified
    held.track_claim("As well 0.", Attribution(""))
    assert not held.verify_claim("It is so 1999.").verified
    assert sum(found.verified for found in held.attributions()) == 1


def test_inferences_in_a_circle_rest_on_nothing() -> None:
    held = tracker()
    held.track_claim("A.", Attribution("", SourceType.INFERENCE, premises=("B.",)))
    held.track_claim("B.", Attribution("", SourceType.INFERENCE, premises=("A.",)))
    assert not held.verify_claim("A.").verified


def test_every_type_has_a_method() -> None:
    assert set(METHODS) == set(SourceType)


async def test_verdicts_bring_their_sources_along() -> None:
    text = "The Eiffel Tower is 330 metres tall. The moon is made of cheese."
    async with Groundwire(Config(), backend="fake") as engine:
        report = await engine.check(text, [TOWER])
    held = SourceAttributionTracker([TOWER])
    held.track(report)
    good, bad = held.attributions()
    assert (good.source, good.type, good.verified) == ("guide", SourceType.FILE_CONTENT, True)
    assert TOWER.text[good.start : good.end].startswith("The Eiffel Tower")
    assert (bad.verified, bad.reason, bad.type) == (False, "unverifiable_source", SourceType.NONE)
