"""The real thing: a real language model answers from files, the embedded verifier checks it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from groundwire.agent import Event, EventKind, Orchestrator, Recorder, read_trajectory
from groundwire.config import Config
from groundwire.engine import Groundwire
from groundwire.llm.base import Endpoint
from groundwire.llm.openai import OpenAIGenerator

FILES = {
    "france.txt": "France has a population of 67 million people. Its capital is Paris. The Eiffel Tower was "
    "completed in 1889 and is 330 metres tall. The Louvre opened in 1793 and is the most visited museum in the "
    "world."
}
QUESTION = (
    "Tell me about France and the Eiffel Tower: its population, its capital, "
    "when the tower was completed and how tall it is."
)
pytestmark = pytest.mark.llm


@pytest.fixture
async def smol(smollm: str) -> AsyncIterator[OpenAIGenerator]:
    generator = OpenAIGenerator(Endpoint("llm", smollm, "SmolLM2-135M-Instruct", timeout=120.0))
    yield generator
    await generator.aclose()


def config(**settings: object) -> Config:
    return Config.load(None, {"verification.mode": "full", "orchestrator.max_tokens": 160, **settings})


@pytest.mark.spec("SPEC-16.30", "SPEC-16.24", "SPEC-16.27")
async def test_real_model_retries_and_records_its_trajectory(smol: OpenAIGenerator, tmp_path: Path) -> None:
    path, words = tmp_path / "run.jsonl", list[str]()
    async with Groundwire(config(**{"verification.on_failure": "retry"})) as engine:
        with Recorder(path) as recorder:

            def watch(event: Event) -> None:
                recorder(event)
                if event.kind is EventKind.TOKEN:
                    words.append(str(event.data["text"]))

            outcome = await Orchestrator(smol, engine).process(QUESTION, FILES, on_event=watch)
    assert outcome.answer
    assert outcome.report is not None
    assert outcome.report.verified_claims == outcome.report.total_claims > 0
    checks = [event for event in outcome.trajectory if event.kind is EventKind.VERIFICATION]
    # What a model says differs from processor to processor; what follows from it does not.
    assert (outcome.retries >= 1) is checks[0].data["failed"]
    assert outcome.cost.base.calls == outcome.retries + 1
    assert outcome.cost.base.completion_tokens > 0
    assert (outcome.cost.verification.tokens, outcome.cost.unpriced) == (0, ())
    assert outcome.cost.verification.seconds > 0
    assert [e.kind for e in read_trajectory(path).events] == [e.kind for e in outcome.trajectory]
    assert "".join(words) == "".join(str(e.data["text"]) for e in outcome.trajectory if e.kind is EventKind.MODEL)


@pytest.mark.spec("SPEC-16.30")
async def test_real_model_with_code_terminates(smol: OpenAIGenerator) -> None:
    settings = {"orchestrator.code": "always", "orchestrator.max_turns": 2, "orchestrator.max_tokens": 60}
    async with Groundwire(config(**settings)) as engine:
        outcome = await Orchestrator(smol, engine).process("How many files are there?", FILES)
    assert outcome.trajectory[-1].kind is EventKind.END
    assert 1 <= outcome.cost.base.calls <= 3


@pytest.mark.spec("SPEC-16.30", "SPEC-16.27")
async def test_llm_verifier_tokens_are_counted(smol: OpenAIGenerator, smollm: str) -> None:
    settings = {"hallucination.backend.type": "openai", "openai.base_url": smollm, "openai.model": "smol",
                "verification.mode": "sample", "hallucination.timeout": 120.0}  # fmt: skip
    async with Groundwire(config(**settings)) as engine:
        outcome = await Orchestrator(smol, engine).process(QUESTION, FILES)
    assert outcome.cost.verification.calls > 0
    assert outcome.cost.verification.prompt_tokens > 0
    assert outcome.cost.verification.dollars is None
    assert outcome.cost.unpriced
