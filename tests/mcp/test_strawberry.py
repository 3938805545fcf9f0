"""Strawberry's two tools: its parameters, its shape, and where our verdicts are better than its."""

from __future__ import annotations

from math import log
from typing import Any

import pytest
from pydantic import ValidationError

from groundwire.config import Config
from groundwire.engine import Groundwire
from groundwire.errors import BackendTimeout, InputError
from groundwire.mcp.arguments import AuditTraceBudget, DetectHallucination
from groundwire.mcp.strawberry import BudgetReport, audit_trace_budget, detect_hallucination, normalize_citations
from groundwire.verifiers.fake import FakeVerifier

SPANS = [
    {"sid": "S0", "text": "The tower is 330 metres tall."},
    {"sid": "S1", "text": "The bridge was opened in 1937.", "source": "guide.md:7"},
]


async def detected(answer: str, backend: str = "fake", **more: Any) -> BudgetReport:
    async with Groundwire(Config.load(None, {"hallucination.backend.type": backend})) as engine:
        return await detect_hallucination(
            engine, DetectHallucination.model_validate({"spans": SPANS, "answer": answer, **more})
        )


async def audited(*steps: dict[str, Any], backend: str = "fake", **more: Any) -> BudgetReport:
    async with Groundwire(Config.load(None, {"hallucination.backend.type": backend})) as engine:
        return await audit_trace_budget(
            engine, AuditTraceBudget.model_validate({"spans": SPANS, "steps": list(steps), **more})
        )


async def test_result_has_strawberrys_format() -> None:
    found = (await detected("The tower is 330 metres tall [S0]. The bridge fell in 1940 [S1].")).model_dump()
    assert {"flagged", "under_budget", "summary", "details"} <= set(found)
    assert found["flagged"] is found["under_budget"] is True
    assert found["summary"].items() >= {
        "claims_scored": 2, "flagged_claims": 1, "flagged_idxs": [1], "units": "bits", "backend": "fake",
    }.items()  # fmt: skip
    first, second = found["details"]
    assert set(first) >= {
        "idx", "claim", "cites", "target", "prior_yes", "post_yes", "required", "observed", "budget_gap",
        "flagged", "has_any_citations",
    }  # fmt: skip
    assert (first["idx"], first["cites"], first["target"], first["flagged"]) == (0, ["S0"], 0.95, False)
    assert set(first["prior_yes"]) == {"p_lower", "p_upper", "generated", "topk"}
    assert set(first["budget_gap"]) == {"min", "max", "units"}
    assert first["post_yes"]["p_lower"] > first["prior_yes"]["p_upper"]
    assert first["budget_gap"]["min"] <= first["budget_gap"]["max"]
    for detail in (first, second):
        gap = detail["required"]["min"] - detail["observed"]["max"]
        assert gap == pytest.approx(detail["budget_gap"]["min"], abs=1e-3)


async def test_contradicting_evidence_flags_the_claim() -> None:
    found = await detected("The tower is 999 metres tall [S0].", "local")
    (detail,) = found.details
    assert (detail.flagged, detail.status) == (True, "CONTRADICTED")
    assert detail.observed.max is not None
    assert detail.observed.max < 0
    assert detail.evidence[0].text == SPANS[0]["text"]


async def test_unknown_citation_is_named() -> None:
    (detail,) = (await detected("The tower is 330 metres tall [S9].")).details
    assert (detail.flagged, detail.gap_type) == (True, "phantom_citation")
    assert "S9" in detail.reason
    assert (detail.budget_gap.min, detail.prior_yes.p_lower) == (None, None)


async def test_bare_numbers_cite_numbered_spans() -> None:
    (detail,) = (await detected("The bridge was opened in 1937 [2].")).details
    assert (detail.cites, detail.flagged) == (["S1"], False)


async def test_citation_regex() -> None:
    found = await detected("The tower is 330 metres tall (see S0).", citation_regex=r"\(see (?P<id>\w+)\)")
    assert found.details[0].cites == ["S0"]


@pytest.mark.parametrize(
    ("pattern", "answer", "complaint"),
    [
        ("(a", "It is red.", "invalid citation_regex"),
        (r"\[(\w+)\]", "It is red.", "no group named id"),
        (r"(?P<id>(a|a)*)b\d", "a" * 40 + "b", "takes longer than"),
    ],
)
def test_invalid_citation_regex_is_rejected(pattern: str, answer: str, complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        normalize_citations(answer, pattern)


async def test_max_claims_limits_and_counts_the_rest() -> None:
    answer = "The tower is 330 metres tall. The bridge was opened in 1937. Cats sing. Is it red?"
    found = await detected(answer, max_claims=1)
    summary = found.summary
    assert (summary.claims_scored, summary.left_out, summary.skipped) == (1, 2, 1)
    cited = await detected(answer, max_claims=1, context_mode="cited")
    assert (cited.summary.claims_scored, cited.summary.left_out, cited.summary.skipped) == (1, 2, 1)


async def test_claim_split_by_lines() -> None:
    answer = "The tower is 330 metres tall. The bridge was opened in 1937. [S0]\n\nIs it?\nCats sing [S1]"
    found = await detected(answer, claim_split="lines")
    assert [(d.claim, d.cites) for d in found.details] == [
        ("The tower is 330 metres tall. The bridge was opened in 1937.", ["S0"]),
        ("Cats sing", ["S1"]),
    ]
    assert found.summary.skipped == 1


async def test_context_mode_cited_uses_only_cited_spans() -> None:
    wrong = "The bridge was opened in 1937 [S0]."
    assert (await detected(wrong, context_mode="cited")).details[0].status == "NOT_IN_CONTEXT"
    right = "The bridge was opened in 1937 [S1]. The tower is 330 metres tall."
    found = await detected(right, context_mode="cited")
    assert [d.flagged for d in found.details] == [False, False]
    phantom = await detected("The bridge was opened in 1937 [S8].", context_mode="cited")
    assert phantom.details[0].gap_type == "phantom_citation"


async def test_require_citations_flags_uncited_claims() -> None:
    found = await detected("The tower is 330 metres tall.", require_citations=True)
    assert (found.flagged, found.details[0].has_any_citations) == (True, False)
    assert "no citation" in found.details[0].reason
    assert not (await detected("The tower is 330 metres tall.")).flagged


async def test_units_are_bits_or_nats() -> None:
    answer = "The tower is 330 metres tall [S0]."
    bits, nats = await detected(answer), await detected(answer, units="nats")
    assert bits.details[0].required.min is not None
    assert nats.details[0].required.min == pytest.approx(bits.details[0].required.min * log(2), abs=1e-3)
    assert nats.summary.units == nats.details[0].budget_gap.units == "nats"


async def test_unknown_parameters_are_listed_as_ignored() -> None:
    found = await detected(
        "Cats sing.", verifier_model="gpt-4o-mini", temperature=0.0, top_logprobs=10, max_concurrency=8,
        default_target=0.5, placeholder="[REDACTED]", timeout_s=30.0,
    )  # fmt: skip
    assert found.summary.ignored == ["max_concurrency", "temperature", "top_logprobs", "verifier_model"]
    assert found.summary.verifier_model == "fake"
    assert found.details[0].target == 0.5


async def test_placeholder_replaces_removed_evidence(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = FakeVerifier()
    monkeypatch.setattr("groundwire.verifiers.fake.FakeVerifier", lambda **_: fake)
    await detected("The tower is 330 metres tall [S0].", placeholder="<gone>")
    assert any("<gone>" in query.context for call in fake.calls for query in call)


async def test_unchecked_claims_are_flagged_with_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = FakeVerifier(failing=[BackendTimeout("too slow")] * 9)
    monkeypatch.setattr("groundwire.verifiers.fake.FakeVerifier", lambda **_: fake)
    found = await detected("The tower is 330 metres tall [S0].")
    assert found.flagged
    assert found.details[0].status == "UNCHECKED"
    assert found.error is not None
    assert "1 of 1 claims" in found.error


async def test_an_answer_that_asserts_nothing_is_flagged_with_an_error() -> None:
    found = await detected("Is the tower tall?")
    assert (found.flagged, found.details, found.error) == (True, [], "NOTHING_TO_CHECK")


async def test_timeout_is_enforced(monkeypatch: pytest.MonkeyPatch) -> None:
    import asyncio

    fake = FakeVerifier(hold=asyncio.Event())
    monkeypatch.setattr("groundwire.verifiers.fake.FakeVerifier", lambda **_: fake)
    with pytest.raises(BackendTimeout, match=r"timeout_s=0\.05"):
        await detected("The tower is 330 metres tall.", timeout_s=0.05)


async def test_steps_are_ordered_by_idx_and_zero_confidence_is_kept() -> None:
    found = await audited(
        {"idx": 4, "claim": "The bridge was opened in 1937", "cites": ["S1"]},
        {"idx": 2, "claim": "Cats sing", "confidence": 0.0},
    )
    assert [(d.idx, d.target) for d in found.details] == [(2, 0.0), (4, 0.95)]
    assert found.summary.steps_scored == 2
    assert found.details[1].cites == ["S1"]
    assert not found.details[1].flagged


async def test_steps_may_use_earlier_steps_unless_only_citations_count() -> None:
    steps: tuple[dict[str, Any], ...] = (
        {"claim": "The tower is 330 metres tall.", "cites": ["S0"]},
        {"claim": "The tower is 330 metres tall.", "cites": ["step1"]},
    )
    assert [d.flagged for d in (await audited(*steps)).details] == [False, False]
    alone = (await audited(*steps, context_mode="cited")).details
    assert [d.gap_type for d in alone] == [None, "phantom_citation"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"spans": [{"text": "no id"}]}, {"spans": "not json"}, {"default_target": 2}, {"units": "bytes"},
        {"max_claims": 0}, {"timeout_s": 0}, {"context_mode": "some"}, {"citation_regex": "x" * 201},
    ],
)  # fmt: skip
def test_invalid_arguments_are_rejected(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        DetectHallucination.model_validate({"answer": "It is red.", "spans": SPANS, **wrong})


async def test_an_answer_that_counts_from_1_is_read_as_in_check() -> None:
    found = await detected("The tower is 330 metres tall [1]. The bridge was opened in 1937 [2].")
    assert [detail.cites for detail in found.details] == [["S0"], ["S1"]]
    assert not found.flagged


async def test_no_spans_and_empty_steps_are_answered_in_strawberrys_shape() -> None:
    found = await detected("The tower is tall [S0]. The bridge is old.", spans=[])
    assert [(d.flagged, d.gap_type) for d in found.details] == [(True, "phantom_citation"), (True, "unsupported")]
    steps = await audited({"claim": ""}, {"claim": "The tower is 330 metres tall.", "cites": ["S0"]})
    assert [(d.idx, d.status, d.flagged) for d in steps.details] == [
        (0, "UNVERIFIABLE", False), (1, "ENTAILED", False),
    ]  # fmt: skip
    assert (await audited(spans=[])).details == []
