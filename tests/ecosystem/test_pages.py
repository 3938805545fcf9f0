"""The frameworks' examples on the page run as they stand, and its table has the versions that are installed."""

from __future__ import annotations

import re
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[2] / "docs" / "integrations.md"
TEXT = PAGE.read_text(encoding="utf-8")
SECTIONS = re.split(r"^## ", TEXT, flags=re.M)[1:]
BLOCKS = [
    pytest.param(section.split("\n")[0], code, id=f"{section.split(chr(10))[0]}-{number}")
    for section in SECTIONS
    for number, code in enumerate(re.findall(r"^```py\n(.*?)^```$", section, re.M | re.S))
]
PACKAGES = {
    "LangChain": "langchain",
    "LlamaIndex": "llama_index.core",
    "OpenAI Agents": "agents",
    "DeepEval": "deepeval",
    "Ragas": "ragas",
    "Inspect": "inspect_ai",
    "MLflow": "mlflow.genai",
    "pydantic-evals": "pydantic_evals",
    "Haystack": "haystack",
    "Phoenix": "phoenix.evals",
    "Langfuse": "langfuse",
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("framework", "code"), BLOCKS)
def test_examples_run(framework: str, code: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip(PACKAGES[framework])
    monkeypatch.setenv("LANGFUSE_TRACING_ENABLED", "false")
    exec(compile(code, PAGE.name, "exec"), {"__name__": "__page__"})


def test_every_framework_has_an_example() -> None:
    assert {block.values[0] for block in BLOCKS} == set(PACKAGES)


ROWS = re.findall(r"\| ([\w-]+) (\d[\w.]*) \| `make test-ecosystem` \|", TEXT)


@pytest.mark.parametrize(("package", "tested"), ROWS)
def test_the_table_has_the_versions_that_are_tested(package: str, tested: str) -> None:
    try:
        assert version(package) == tested
    except PackageNotFoundError:
        pytest.skip(f"{package} is tested in another environment")
