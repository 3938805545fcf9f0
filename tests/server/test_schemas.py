"""The size of a request is what it may cost, in whichever of its fields the text is."""

from __future__ import annotations

from typing import Any

import pytest

from groundwire.server.routes.outputs import OutputRequest
from groundwire.server.schemas import AuditRequestIn, CheckRequest, DetectRequest, VerifyRequest, WithSources

LONG = "It is red. " * 1000
ANSWER: dict[str, Any] = {"response": "It is red."}
HISTORIES: tuple[Any, ...] = (LONG, {"content": LONG}, {"text": LONG}, {"content": [{"type": "text", "text": LONG}]})


@pytest.mark.parametrize("kind", [CheckRequest, DetectRequest, OutputRequest])
@pytest.mark.parametrize("turn", HISTORIES)
def test_a_conversation_counts(kind: type[CheckRequest], turn: Any) -> None:
    assert kind.model_validate({**ANSWER, "history": [turn, turn]}).size >= 2 * len(LONG)


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        (CheckRequest, {**ANSWER, "question": LONG}),
        (OutputRequest, {**ANSWER, "question": LONG}),
        (CheckRequest, {**ANSWER, "sources": {LONG: "It is red."}}),
        (VerifyRequest, {"claim": LONG}),
        (VerifyRequest, {"claims": ["It is red.", LONG]}),
        (VerifyRequest, {"text": LONG}),
        (VerifyRequest, {"claim": "It is red.", "evidence": [LONG]}),
        (VerifyRequest, {"claim": "It is red.", "question": LONG}),
        (AuditRequestIn, {"trace": LONG}),
        (AuditRequestIn, {"steps": ["It is red.", {"claim": LONG}]}),
        (AuditRequestIn, {"steps": ["It is red."], "answer": LONG}),
        (AuditRequestIn, {"steps": ["It is red."], "question": LONG}),
    ],
)
def test_every_field_with_text_counts(kind: type[WithSources], fields: dict[str, Any]) -> None:
    assert kind.model_validate(fields).size >= len(LONG)
