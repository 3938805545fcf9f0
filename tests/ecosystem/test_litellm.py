"""Both guardrails in the real LiteLLM proxy: inside it, and behind its generic guardrail API."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("litellm")
pytest.importorskip("apscheduler")  # litellm[proxy]
pytestmark = pytest.mark.filterwarnings("ignore")

import yaml  # noqa: E402
from fastapi.testclient import TestClient  # noqa: E402
from tests.ecosystem.samples import GOOD, QUESTION, SOURCE  # noqa: E402
from tests.serving import serving  # noqa: E402

UNFOUNDED = "It weighs nothing."
MIXED = f"{GOOD} {UNFOUNDED} It stands in Paris."
MESSAGES = [
    {"role": "system", "content": f"Answer from this.\n<document>{SOURCE}</document>"},
    {"role": "user", "content": QUESTION},
]
INSIDE = "groundwire.integrations.litellm.GroundwireGuardrail"


def model(name: str, answer: str) -> dict[str, Any]:
    return {
        "model_name": name,
        "litellm_params": {"model": "openai/scripted", "api_key": "none", "mock_response": answer},
    }


def inside(action: str) -> dict[str, Any]:
    params = {"guardrail": INSIDE, "mode": "post_call", "guard_mode": action, "block_on": "flagged", "backend": "fake"}
    return {"guardrail_name": f"inside-{action}", "litellm_params": params}


def behind(action: str, url: str) -> dict[str, Any]:
    params = {
        "guardrail": "generic_guardrail_api",
        "mode": ["pre_call", "post_call"],
        "api_base": url,
        "streaming_transform_mode": "incremental_diff",
        "additional_provider_specific_params": {"mode": action, "block_on": "flagged"},
    }
    return {"guardrail_name": f"behind-{action}", "litellm_params": params}


def from_page(url: str) -> list[dict[str, Any]]:
    """The configurations that the documents show, with the verifier and the address of this test."""
    page = (Path(__file__).resolve().parents[2] / "docs" / "integrations.md").read_text(encoding="utf-8")
    section = page.partition("## LiteLLM")[2].partition("\n## ")[0]
    blocks = re.findall(r"^```yml\n(.*?)^```$", section, re.M | re.S)
    found = [yaml.safe_load(block)["guardrails"][0] for block in blocks]
    inner, outer = (guardrail["litellm_params"] for guardrail in found)
    inner["backend"], outer["api_base"] = "fake", url
    return [{**guardrail, "guardrail_name": f"page-{number}"} for number, guardrail in enumerate(found)]


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """LiteLLM's own application with models that give scripted answers."""
    from litellm.proxy.proxy_server import app, initialize

    with serving({"hallucination.backend.type": "fake"}) as url:
        actions = ("observe", "annotate", "block")
        config = {
            "model_list": [model("good", GOOD), model("mixed", MIXED)],
            "guardrails": [*map(inside, actions), *(behind(a, url) for a in actions), *from_page(url)],
        }
        path: Path = tmp_path_factory.mktemp("litellm") / "config.yaml"
        path.write_text(yaml.safe_dump(config))
        asyncio.run(initialize(config=str(path)))
        yield TestClient(app, raise_server_exceptions=False)


def ask(gateway: TestClient, model: str, guardrail: str, **more: Any) -> Any:
    body = {"model": model, "messages": MESSAGES, "guardrails": [guardrail], **more}
    return gateway.post("/v1/chat/completions", json=body)


def content(response: Any) -> str:
    assert response.status_code == 200, response.text
    return str(response.json()["choices"][0]["message"]["content"])


def streamed(response: Any) -> tuple[str, str]:
    """The text of a stream, and what else it says."""
    lines = [line[6:] for line in response.text.splitlines() if line.startswith("data: {")]
    events = [json.loads(line) for line in lines]
    text = "".join(e["choices"][0]["delta"].get("content") or "" for e in events if e.get("choices"))
    return text, response.text


@pytest.mark.parametrize("where", ["inside", "behind"])
def test_a_supported_answer_passes_unchanged(gateway: TestClient, where: str) -> None:
    for action in ("observe", "annotate", "block"):
        assert content(ask(gateway, "good", f"{where}-{action}")) == GOOD


@pytest.mark.parametrize("where", ["inside", "behind"])
def test_an_unsupported_answer_is_observed_annotated_or_blocked(gateway: TestClient, where: str) -> None:
    assert content(ask(gateway, "mixed", f"{where}-observe")) == MIXED
    noted = content(ask(gateway, "mixed", f"{where}-annotate"))
    assert noted.startswith(MIXED)
    assert UNFOUNDED in noted[len(MIXED) :]
    blocked = ask(gateway, "mixed", f"{where}-block")
    assert blocked.status_code == 400
    assert "groundwire stopped this answer" in blocked.text


@pytest.mark.parametrize("where", ["inside", "behind"])
def test_a_stream_is_stopped_before_the_unsupported_sentence(gateway: TestClient, where: str) -> None:
    text, everything = streamed(ask(gateway, "mixed", f"{where}-block", stream=True))
    assert "weighs" not in text
    assert MIXED.startswith(text)
    assert "groundwire stopped this answer" in everything
    assert streamed(ask(gateway, "good", f"{where}-block", stream=True))[0] == GOOD


@pytest.mark.parametrize("where", ["inside", "behind"])
def test_a_stream_gets_its_notes_at_the_end(gateway: TestClient, where: str) -> None:
    text, _ = streamed(ask(gateway, "mixed", f"{where}-annotate", stream=True))
    assert text.startswith(MIXED)
    assert UNFOUNDED in text[len(MIXED) :]


def test_marked_sources_are_evidence(gateway: TestClient) -> None:
    marked = [{"type": "grounding_source", "text": SOURCE}, {"type": "query", "text": QUESTION}]
    messages = [{"role": "user", "content": marked}]
    assert content(ask(gateway, "good", "inside-block", messages=messages)) == GOOD
    assert ask(gateway, "mixed", "inside-block", messages=messages).status_code == 400


@pytest.mark.parametrize("number", [0, 1])
def test_the_configurations_on_the_page_work(gateway: TestClient, number: int) -> None:
    assert content(ask(gateway, "good", f"page-{number}")) == GOOD
    assert content(ask(gateway, "mixed", f"page-{number}")) == MIXED  # unsupported, but not contradicted
