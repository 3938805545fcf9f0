from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.growth import assert_linear

from groundwire.errors import InputError
from groundwire.traces.steps import as_steps, link, parse_text
from groundwire.types import Source, Step

GUIDE = Source("S0", "The tower is tall.")


def test_steps_come_as_dictionaries_texts_or_steps() -> None:
    found = as_steps([{"claim": "A b.", "cites": ["S0"], "confidence": 0.7}, "C d [S0].", Step("z", "E f.")], [GUIDE])
    assert found == (
        Step("step1", "A b.", ("S0",), 0.7), Step("step2", "C d [S0].", ("S0",)), Step("z", "E f."),
    )  # fmt: skip
    assert [step.text for step in as_steps("1. A b.\n2. C d.")] == ["A b.", "C d."]


@pytest.mark.parametrize(
    ("steps", "complaint"),
    [
        ([], "no steps"),
        ({"claim": "x"}, "must be a list"),
        (None, "must be a list"),
        ([None], "step 1 must be"),
        (["x", "  "], "step 2 is empty"),
        ([Step("a", " ")], "step 1 is empty"),
        (["x" * 20_001], "step 1 has 20,001 characters"),
        ([{"cites": []}], "step 1 has no claim"),
        ([{"claim": "x", "cites": [None]}], "must be a list of names"),
        ([{"claim": "x", "confidence": 3}], "between 0 and 1"),
        ([{"claim": "x", "confidence": True}], "between 0 and 1"),
        ([{"id": "a", "claim": "x"}, {"id": "a", "claim": "y"}], "called a"),
        ([{"id": "s0", "claim": "x"}], "called s0"),
    ],
)
def test_what_is_no_step_is_refused_in_one_line(steps: Any, complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        as_steps(steps, [GUIDE])


def test_a_citation_means_a_source_then_a_step_then_nothing() -> None:
    steps = as_steps(
        [
            {"claim": "A", "cites": ["S0"]},
            {"claim": "B", "cites": ["step1", "2nd"]},
            {"claim": "C, as step 2 shows", "cites": ["1"]},
        ],
        [GUIDE],
    )
    first, second, third = link(steps, [GUIDE])
    assert (first.sources, first.steps, first.phantoms) == (("S0",), (), ())
    assert (second.steps, second.phantoms) == (("step1",), ("2nd",))
    assert third.steps == ("step1", "step2")


@pytest.mark.parametrize(
    ("cites", "circular"),
    [
        ([["step1"], []], [("step1",), ()]),
        ([["step2"], []], [("step2",), ()]),
        ([["step2"], ["step1"]], [("step2",), ("step1",)]),
        ([["step3"], ["step1"], ["step2"]], [("step3",), ("step1",), ("step2",)]),
        ([[], ["step1"], ["step2"]], [(), (), ()]),
    ],
)
def test_rings_later_steps_and_oneself_are_no_ground(cites: list[list[str]], circular: list[tuple[str, ...]]) -> None:
    steps = as_steps([{"claim": f"Claim {n}", "cites": c} for n, c in enumerate(cites)])
    assert [links.circular for links in link(steps, [])] == circular


@given(st.lists(st.lists(st.integers(1, 8), max_size=4), min_size=1, max_size=8))
@settings(max_examples=60)
def test_what_is_left_to_rest_on_is_always_earlier(cites: list[list[int]]) -> None:
    steps = as_steps([{"claim": "x", "cites": [f"step{n}" for n in c]} for c in cites])
    for n, links in enumerate(link(steps, [])):
        assert all(int(name.removeprefix("step")) - 1 < n for name in links.steps)
        assert not set(links.steps) & set(links.circular)


@pytest.mark.parametrize(
    ("text", "steps", "answer"),
    [
        ("1. A is b.\n2) C is d.\nAnswer: e", ("A is b.", "C is d."), "e"),
        ("Step 1: A\n   goes on\n**Step 2:** B\n\n**Final Answer:** 4", ("A goes on", "B"), "4"),
        ("- A\n- B", ("A", "B"), ""),
        ("A is b.\nC is d.", ("A is b.", "C is d."), ""),
        ("First, A is b.\nThen, C is d.", ("First, A is b.", "Then, C is d."), ""),
        ("", (), ""),
    ],
)
def test_plain_text_is_read_as_people_write_it(text: str, steps: tuple[str, ...], answer: str) -> None:
    found = parse_text(text)
    assert (found.steps, found.answer) == (steps, answer)


@given(st.text(max_size=200))
@settings(max_examples=80)
def test_any_text_can_be_read(text: str) -> None:
    assert all(str(step).strip() for step in parse_text(text).steps)


@pytest.mark.parametrize("step", ["a: b", "It is."])
def test_many_steps_are_read_in_linear_time(step: str) -> None:
    assert_linear(as_steps, lambda length: "\n".join([step] * (length // len(step))), 1000)


def test_many_citations_of_steps_are_followed_in_linear_time() -> None:
    def follow(size: str) -> None:
        steps = [Step(f"s{n}", "x", tuple(f"s{max(0, n - k)}" for k in range(1, 11))) for n in range(len(size))]
        link(steps, [])

    assert_linear(follow, lambda length: "x" * length, 100)


@given(st.lists(st.lists(st.integers(0, 5), max_size=3), min_size=6, max_size=6))
def test_a_ring_is_a_step_that_leads_back(graph: list[list[int]]) -> None:
    steps = [Step(f"s{n}", "x", tuple(f"s{to}" for to in targets)) for n, targets in enumerate(graph)]

    def leads(start: int) -> set[int]:
        reached, waiting = set[int](), [start]
        while waiting:
            here = waiting.pop()
            waiting += [to for to in graph[here] if to not in reached]
            reached.update(graph[here])
        return reached

    for n, links in enumerate(link(steps, [])):
        ring = {to for to in graph[n] if to >= n or n in leads(to)}
        assert set(links.circular) == {f"s{to}" for to in ring}
