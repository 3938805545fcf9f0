"""The Inspect scorer in a real evaluation with Inspect's mock model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("inspect_ai")
pytestmark = pytest.mark.filterwarnings("ignore")

from inspect_ai import Task, eval, score  # noqa: E402
from inspect_ai._util.registry import registry_create  # noqa: E402
from inspect_ai.dataset import Sample  # noqa: E402
from inspect_ai.model import ModelOutput, get_model  # noqa: E402
from inspect_ai.solver import generate, system_message  # noqa: E402
from tests.ecosystem.samples import GOOD, QUESTION, SOURCE, WRONG, break_verifier  # noqa: E402

from groundwire.integrations.inspect_ai import groundedness  # noqa: E402


@pytest.fixture(autouse=True)
def offline_token_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Count tokens by length: the tokenizer that the mock model uses downloads its vocabulary."""
    monkeypatch.setattr("inspect_ai.model._model.count_text_tokens", lambda text: len(text) // 4)


def run(answers: list[str], samples: list[Sample], tmp_path: Path, *, solver: Any = None) -> Any:
    model = get_model(
        "mockllm/model", custom_outputs=[ModelOutput.from_content("mockllm", answer) for answer in answers]
    )
    task = Task(dataset=samples, solver=solver or generate(), scorer=groundedness(backend="fake"))
    (log,) = eval(task, model=model, log_dir=str(tmp_path), display="none", max_samples=1)
    assert log.status == "success", log.error
    return log


def sample(metadata: dict[str, Any] | None = None) -> Sample:
    return Sample(input=QUESTION, metadata={"sources": [SOURCE]} if metadata is None else metadata)


def test_an_evaluation_has_the_mean_and_each_samples_reasons(tmp_path: Path) -> None:
    log = run([GOOD, WRONG], [sample(), sample()], tmp_path)
    assert log.results.scores[0].metrics["mean"].value == 0.5
    scores = [entry.scores["groundedness"] for entry in log.samples]
    assert [score.value for score in scores] == [1.0, 0.0]
    assert scores[1].explanation.startswith("NOT_IN_CONTEXT: The tower is 999 metres tall.")
    assert scores[1].metadata["label"] == "ungrounded"


def test_inspect_finds_the_scorer_by_name(tmp_path: Path) -> None:
    log = run([GOOD], [sample()], tmp_path)
    again = score(log, registry_create("scorer", "groundwire/groundedness", backend="fake"), display="none")
    assert again.results.scores[-1].metrics["mean"].value == 1.0


def test_documents_in_the_prompt_are_sources(tmp_path: Path) -> None:
    prompt = f"Answer from this.\n<document>{SOURCE}</document>"
    log = run([GOOD], [sample({})], tmp_path, solver=[system_message(prompt), generate()])
    assert log.samples[0].scores["groundedness"].value == 1.0


def test_a_sample_that_could_not_be_checked_is_left_out_of_the_mean(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = run([GOOD, GOOD], [sample(), sample({})], tmp_path)
    assert log.results.scores[0].metrics["mean"].value == 1.0
    assert log.results.scores[0].unscored_samples == 1
    assert log.samples[1].scores["groundedness"].reason == "unchecked"
    break_verifier(monkeypatch)
    assert run([GOOD], [sample()], tmp_path).results.scores[0].unscored_samples == 1
