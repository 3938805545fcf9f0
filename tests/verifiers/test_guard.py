"""Whatever happens inside, the pipeline gets one sound estimate per query."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import replace
from math import inf, nan

import pytest
from tests.figures import figures as figures_of

from groundwire.errors import BackendDown, BackendTimeout, ConfigError, GroundwireError, MissingExtra, RateLimited
from groundwire.metrics import Metrics
from groundwire.types import Estimate, Query
from groundwire.verifiers.fake import FakeVerifier
from groundwire.verifiers.wrappers import SafeVerifier, as_error, failure_code, sound

A, B = Query("a", "secret context"), Query("b", "secret context")
GOOD = Estimate.point(0.7, 0.2, "fake")


@pytest.mark.spec("SPEC-08.42", "SPEC-08.43")
@pytest.mark.parametrize(
    ("error", "code"),
    [
        (RateLimited("busy"), "rate_limited"),
        (BackendTimeout("slow"), "timeout"),
        (BackendDown("gone"), "error"),
        (ConfigError("wrong key"), "error"),
        (MissingExtra("x", "y"), "error"),
    ],
)
async def test_every_error_becomes_failed_estimates_with_a_stable_code(error: GroundwireError, code: str) -> None:
    estimates = await SafeVerifier(FakeVerifier(failing=[error]), "fake").estimate([A, B])
    assert [e.error for e in estimates] == [f"{code}: {error}"] * 2
    assert [failure_code(e) for e in estimates] == [code] * 2
    assert "\n" not in (estimates[0].error or "")


async def test_a_code_leads_back_to_the_kind_of_error() -> None:
    for error in (RateLimited("busy"), BackendTimeout("slow"), BackendDown("gone")):
        (estimate,) = await SafeVerifier(FakeVerifier(failing=[error]), "fake").estimate([A])
        assert isinstance(error, type(as_error(estimate)))
        assert str(as_error(estimate)) == str(error)


async def test_cancellation_passes_through() -> None:
    task = asyncio.create_task(SafeVerifier(FakeVerifier(hold=asyncio.Event()), "fake").estimate([A]))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


@pytest.mark.spec("SPEC-08.43")
@pytest.mark.parametrize("details", [True, False])
async def test_a_bug_leaves_claims_unchecked_and_is_logged_as_a_bug(
    caplog: pytest.LogCaptureFixture, details: bool
) -> None:
    def broken(query: Query) -> Estimate:
        raise ZeroDivisionError(query.context)

    with caplog.at_level(logging.ERROR, "groundwire"):
        estimates = await SafeVerifier(FakeVerifier(broken), "fake", details=details).estimate([A, B])
    assert [failure_code(e) for e in estimates] == ["error", "error"]
    assert "ZeroDivisionError in test_guard.py" in (estimates[0].error or "")
    assert "secret" not in (estimates[0].error or "")
    assert "a bug: ZeroDivisionError" in caplog.text
    assert ("secret" in caplog.text) is details


@pytest.mark.parametrize("wrong", [nan, inf, -0.5, 1.5])
def test_numbers_that_are_no_probabilities_never_get_out(wrong: float) -> None:
    for bad in (
        replace(GOOD, p_yes=wrong),
        replace(GOOD, p_no=wrong),
        replace(GOOD, p_unsure=wrong),
        replace(GOOD, low=wrong),
        replace(GOOD, high=wrong),
    ):
        assert failure_code(sound(bad)) == "error"


def test_shares_must_add_up_and_the_interval_hold_its_point() -> None:
    assert sound(GOOD) is GOOD
    assert sound(replace(GOOD, p_no=0.9)).error
    assert sound(replace(GOOD, low=0.8, high=0.9)).error
    failed = Estimate.failed("timeout: slow")
    assert sound(failed) is failed


async def test_the_wrong_number_of_answers_is_a_failure_of_all() -> None:
    class Short:
        async def estimate(self, queries: Sequence[Query]) -> list[Estimate]:
            return [GOOD]

    assert all(e.error for e in await SafeVerifier(Short(), "short").estimate([A, B]))


@pytest.mark.spec("SPEC-08.42")
async def test_a_failure_is_logged_once_a_call_and_without_text(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "groundwire"):
        await SafeVerifier(FakeVerifier(failing=[BackendDown("gone")]), "fake").estimate([A, B])
    assert [r.getMessage() for r in caplog.records] == ["fake: 2 of 2 not checked: error: gone"]


@pytest.mark.spec("SPEC-08.41")
@pytest.mark.parametrize("details", [True, False])
async def test_what_a_model_said_is_logged_only_when_asked_for(caplog: pytest.LogCaptureFixture, details: bool) -> None:
    fake = FakeVerifier(lambda _: Estimate.failed("error: it answered none of YES, NO, but 'secret context'"))
    with caplog.at_level(logging.DEBUG, "groundwire"):
        await SafeVerifier(fake, "fake", details=details).estimate([A])
    assert ("secret" in caplog.text) is details


@pytest.mark.spec("SPEC-08.40")
async def test_calls_are_timed_and_failures_counted() -> None:
    ticks = iter([10.0, 12.5])
    metrics = Metrics()
    guarded = SafeVerifier(
        FakeVerifier(failing=[RateLimited("busy")]), "fake", metrics=metrics, clock=lambda: next(ticks)
    )
    await guarded.estimate([A, B])
    await guarded.estimate([])
    figures = figures_of(metrics)
    assert (figures.calls, figures.seconds, figures.failures) == (1, 2.5, {"rate_limited": 2})
