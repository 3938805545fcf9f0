"""What `benchmarks.judges` counts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from benchmarks.judges import UsageCount, beside, figures, judged, line, settings
from tests.loopback import Loopback, chat

from groundwire.engine import Groundwire
from groundwire.llm.base import track_usage
from groundwire.types import Claim, Status
from groundwire.verdicts.judge import unchecked, unmeasured

CARD: dict[str, Any] = {
    "source": "The tower is 330 metres tall. The bridge was opened in 1937.",
    "claims": [
        {"text": "The tower is 330 metres tall.", "label": "entailment"},
        {"text": "The bridge was opened in 1937.", "label": "entailment"},
    ],
}


async def test_requests_of_the_real_client_are_counted_per_claim(monkeypatch: pytest.MonkeyPatch) -> None:
    server = Loopback()
    try:
        server.script(lambda _: chat('{"1": "YES", "2": "YES"}'))
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        config, backend = settings("shared", local_llm=False)
        used = UsageCount()
        with track_usage(used):
            async with Groundwire(config, backend=backend) as engine:
                verdicts = await judged(engine, [CARD], 6, cited=False)
        found = figures("shared", verdicts, [True, True], used)
        assert used.requests == len(server.requests)
        assert (found.claims, found.requests_per_claim) == (2, used.requests / 2)
    finally:
        server.close()


def test_what_could_not_be_checked_is_neither_right_nor_wrong() -> None:
    claim = Claim("c", "It is red.", 0, 10)
    fine = unmeasured(claim, Status.ENTAILED, None, "", "fake")
    found = figures("x", [fine, unchecked(claim, "timeout")], [False, True], UsageCount(3, 60))
    assert (found.supported_flagged, found.unsupported_passed, found.unchecked) == (None, 1.0, 1)
    assert (found.requests_per_claim, found.tokens_per_claim) == (1.5, 30)
    assert "passed 100 % of the others, 1 of 2 unchecked" in line(found)


def test_ways_are_compared_by_the_claims_that_only_one_of_them_gets_right() -> None:
    claim = Claim("c", "It is red.", 0, 10)
    passed = unmeasured(claim, Status.ENTAILED, None, "", "fake")
    caught = replace(unmeasured(claim, Status.CONTRADICTED, None, "", "fake"), is_flagged=True)
    own, first = [passed, caught, caught, unchecked(claim, "timeout")], [caught, caught, passed, passed]
    supported = [True, False, False, True]
    found = beside(figures("shared", own, supported, UsageCount()), own, first, supported)
    assert (found.accuracy, found.gained, found.lost, found.p_value) == (1.0, 2, 0, 0.5)
    assert found.agree == pytest.approx(1 / 3)
