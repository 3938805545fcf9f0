"""The promptfoo assertion, called as promptfoo calls it."""

from __future__ import annotations

from typing import Any

import pytest

from groundwire.errors import BackendError
from groundwire.integrations.promptfoo import get_assert

SOURCE = "The tower is 330 metres tall."
GOOD, MIXED = "The tower is 330 metres tall.", "The tower is 330 metres tall. It weighs nothing."


def context(**config: Any) -> dict[str, Any]:
    return {
        "prompt": "How tall is the tower?",
        "vars": {"question": "How tall is the tower?", "context": SOURCE},
        "config": {"backend": "fake", **config},
    }


def test_an_output_is_graded_with_a_component_per_claim() -> None:
    assert get_assert(GOOD, context())["pass"] is True
    found = get_assert(MIXED, context())
    assert (found["pass"], found["score"], found["namedScores"]) == (False, 0.5, {"groundedness": 0.5})
    assert [part["pass"] for part in found["componentResults"]] == [True, False]
    assert found["componentResults"][1]["reason"].startswith("NOT_IN_CONTEXT: It weighs nothing.")
    assert get_assert(MIXED, context(threshold=0.5))["pass"] is True


def test_sources_may_be_a_list_under_another_name() -> None:
    given = {"vars": {"documents": ["Cats sleep.", SOURCE]}, "config": {"backend": "fake"}}
    assert get_assert(GOOD, given)["pass"] is True


def test_a_list_in_a_list_is_how_promptfoo_passes_several_sources() -> None:
    given = {"vars": {"documents": [["Cats sleep.", SOURCE]]}, "config": {"backend": "fake"}}
    assert get_assert(GOOD, given)["pass"] is True


def test_a_variable_called_answer_is_not_the_output() -> None:
    given = {"vars": {"answer": GOOD, "context": SOURCE}, "config": {"backend": "fake"}}
    assert get_assert({"response": "It weighs nothing."}, given)["pass"] is False
    assert get_assert({"response": GOOD}, given | {"vars": {"output": MIXED, "context": SOURCE}})["pass"] is True


@pytest.mark.parametrize(("output", "given"), [("", context()), (GOOD, {"vars": {}, "config": {"backend": "fake"}})])
def test_what_could_not_be_checked_is_tagged_as_an_error_of_the_grader(output: str, given: dict[str, Any]) -> None:
    found = get_assert(output, given)
    assert (found["pass"], found["metadata"]) == (False, {"graderError": True})
    assert found["reason"].startswith("could not be checked: ")
    assert "namedScores" not in found  # so that it does not lower the mean


@pytest.mark.parametrize("nested", [False, True])
def test_what_could_not_be_checked_does_not_pass_an_inverted_assertion(nested: bool) -> None:
    inverted = [{"type": "not-python"}]
    test = {"assert": [{"type": "assert-set", "assert": inverted}] if nested else inverted}
    with pytest.raises(BackendError, match="could not be checked"):
        get_assert("", context() | {"test": test})
