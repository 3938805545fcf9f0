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


def test_what_could_not_be_checked_is_an_error_of_the_grader() -> None:
    with pytest.raises(BackendError, match="could not be checked"):
        get_assert("", context())
    with pytest.raises(BackendError, match="could not be checked"):
        get_assert(GOOD, {"vars": {}, "config": {"backend": "fake"}})
