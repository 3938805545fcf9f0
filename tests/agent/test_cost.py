"""What is counted, and against whom."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.agent.trajectory import Cost, Meter, Usage, cost_object
from groundwire.config import Price
from groundwire.llm import Completion, Message
from groundwire.llm.fake import ScriptedGenerator

SAID = Completion("x", prompt_tokens=1000, completion_tokens=500, model="big-1")
counts = st.builds(
    Usage, st.integers(0, 9), st.integers(0, 999), st.integers(0, 999), st.floats(0, 9), st.none() | st.floats(0, 9)
)  # fmt: skip


@pytest.mark.spec("SPEC-16.27")
async def test_answering_and_verification_are_counted_separately() -> None:
    meter = Meter({"big-1": Price(input=2.0, output=4.0)})
    generator = ScriptedGenerator([SAID, SAID, SAID])
    with meter.on("base"):
        await generator.complete([Message("user", "a")], n=2)
        with meter.on("verification"):
            await generator.complete([Message("user", "b")])
    assert (meter.cost.base.calls, meter.cost.base.tokens, meter.cost.base.dollars) == (2, 3000, 0.008)
    assert (meter.cost.verification.calls, meter.cost.verification.dollars) == (1, 0.004)
    assert meter.cost.share("dollars") == meter.cost.share("tokens") == 0.5
    assert meter.cost.unpriced == ()


async def test_unpriced_models_are_named() -> None:
    meter = Meter({})
    with meter.on("base"):
        await ScriptedGenerator([SAID]).complete([Message("user", "a")])
    assert (meter.cost.base.dollars, meter.cost.unpriced) == (None, ("big-1",))
    assert meter.cost.share("dollars") is None
    assert "no price known for big-1" in str(meter.cost)
    assert "$" not in str(meter.cost)


@pytest.mark.parametrize("key", ["big-1", "openai/big@host", "openai/big", "big"])
async def test_price_lookup_accepts_any_name_of_the_model(key: str) -> None:
    meter = Meter({key: Price(input=1.0, output=1.0)})
    with meter.on("base"):
        await ScriptedGenerator([SAID], name="openai/big@host").complete([Message("user", "a")])
    assert meter.cost.base.dollars == 0.0015


async def test_local_model_costs_no_money() -> None:
    meter = Meter({})
    with meter.on("base"):
        await ScriptedGenerator([SAID], name="llm/small@127.0.0.1").complete([Message("user", "a")])
    assert (meter.cost.base.dollars, meter.cost.unpriced) == (0.0, ())
    assert meter.cost.base.seconds > 0


def test_time_is_counted_once() -> None:
    meter = Meter({})
    with meter.on("base"), meter.on("verification"):
        pass
    assert meter.cost.base.seconds >= 0
    assert meter.cost.verification.seconds >= 0


def test_failed_calls_are_counted() -> None:
    meter = Meter({})
    with pytest.raises(RuntimeError), meter.on("verification"):
        raise RuntimeError
    assert meter.cost.verification.seconds > 0


@given(counts, counts, counts)
def test_costs_add_up_in_any_order(a: Usage, b: Usage, c: Usage) -> None:
    one, two = (a + b) + c, a + (b + c)
    assert (one.calls, one.tokens) == (two.calls, two.tokens)
    assert one.seconds == pytest.approx(two.seconds)
    assert (one.dollars is None) == (None in (a.dollars, b.dollars, c.dollars))


def test_empty_cost_has_no_share() -> None:
    assert Cost().share("seconds") is None
    assert cost_object(Cost())["share"] == {"seconds": None, "tokens": None, "dollars": None}
