"""Which instructions are checked: the steps of a procedure, not what is asked of the reader."""

from __future__ import annotations

import pytest

from groundwire.claims.extractor import extract, steps_as_claims
from groundwire.types import ClaimKind

RECIPE = "Preheat the oven to 180 °C. Add the diced tomatoes. Remove the roast and let it rest."


def asserted(text: str, *, asked: bool) -> list[str]:
    found = steps_as_claims(extract(text), asked=asked)
    return [claim.text for claim in found if claim.kind is ClaimKind.ASSERTION]


@pytest.mark.spec("SPEC-08.09")
def test_an_instruction_beside_statements_is_not_evidence() -> None:
    text = "The report was filed in May. Click the button below."
    assert asserted(text, asked=False) == ["The report was filed in May."]


def test_what_answers_a_question_is_checked_though_it_is_an_instruction() -> None:
    assert asserted("Click the General tab.", asked=True) == ["Click the General tab."]


def test_three_instructions_are_a_procedure_without_a_question_too() -> None:
    assert len(asserted(RECIPE, asked=False)) == 3


@pytest.mark.parametrize("text", ["Please contact our support team.", "Consult a doctor before you start."])
def test_what_sends_the_reader_elsewhere_is_never_a_step(text: str) -> None:
    assert asserted(text, asked=True) == []


def test_nothing_else_changes() -> None:
    found = extract("Will you come? The tower is 300 m tall. Click the button.")
    settled = steps_as_claims(found, asked=True)
    assert [(c.id, c.start, c.end, c.text) for c in settled] == [
        (c.id, c.start, c.end, c.text) for c in found
    ]
    assert settled[0].kind is ClaimKind.QUESTION
