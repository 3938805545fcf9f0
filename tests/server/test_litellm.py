"""The guardrail API that LiteLLM's proxy calls, with the requests that it sends."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from tests.serving import Served, served

SOURCE = "The tower is 330 metres tall. It stands in Paris."
GOOD, WRONG = "The tower is 330 metres tall.", "It weighs nothing."
MESSAGES = [
    {
        "role": "user",
        "content": [{"type": "grounding_source", "text": SOURCE}, {"type": "query", "text": "How tall is it?"}],
    }
]
PATH = "/beta/litellm_basic_guardrail_api"


@pytest.fixture(scope="module")
def service() -> Iterator[Served]:
    with served({"hallucination.backend.type": "fake"}) as running:
        yield running


def post(service: Served, kind: str, call: str = "call-1", user: str = "u1", **fields: Any) -> dict[str, Any]:
    body = {
        "input_type": kind,
        "litellm_call_id": call,
        "request_data": {"user_api_key_hash": user},
        "litellm_version": "1.106.2",
        **fields,
    }
    response = service.client.post(PATH, json=body)
    assert response.status_code == 200, response.text
    found: dict[str, Any] = response.json()
    return found


def answered(service: Served, text: str, **params: Any) -> dict[str, Any]:
    return post(service, "response", texts=[text], additional_provider_specific_params=params)


def test_a_response_is_checked_against_its_request(service: Served) -> None:
    assert post(service, "request", structured_messages=MESSAGES, texts=["How tall is it?"]) == {"action": "NONE"}
    fine = answered(service, GOOD, block_on="flagged")
    assert (fine["action"], fine["texts"], fine["stream_holdback_chars"]) == ("NONE", [GOOD], [0])
    blocked = answered(service, WRONG, block_on="flagged")
    assert (blocked["action"], "is not supported" in blocked["blocked_reason"]) == ("BLOCKED", True)
    noted = answered(service, WRONG, mode="annotate")
    assert (noted["action"], noted["texts"][0].startswith(WRONG)) == ("GUARDRAIL_INTERVENED", True)
    assert answered(service, WRONG, mode="observe")["action"] == "NONE"


def test_a_growing_text_is_held_back_until_its_sentence_ends(service: Served) -> None:
    post(service, "request", structured_messages=MESSAGES)
    found = answered(service, f"{GOOD} It stands in", block_on="flagged")
    kept = found["texts"][0][: -found["stream_holdback_chars"][0]]
    assert kept == f"{GOOD} "


def test_another_users_evidence_is_not_found(service: Served) -> None:
    post(service, "request", structured_messages=MESSAGES)
    strict = {"on_unchecked": "block"}
    other = post(service, "response", user="u2", texts=[GOOD], additional_provider_specific_params=strict)
    assert (other["action"], "not known" in other["blocked_reason"]) == ("BLOCKED", True)
    assert post(service, "response", call="call-2", texts=[WRONG])["action"] == "NONE"


def test_unknown_settings_are_refused_with_their_name(service: Served) -> None:
    post(service, "request", structured_messages=MESSAGES)
    body = {
        "input_type": "response",
        "litellm_call_id": "call-1",
        "request_data": {"user_api_key_hash": "u1"},
        "texts": [GOOD],
        "additional_provider_specific_params": {"mode": "shout"},
    }
    response = service.client.post(PATH, json=body)
    assert (response.status_code, "mode must be one of" in response.text) == (422, True)
