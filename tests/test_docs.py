"""Nothing in the documents that the program would not say today."""

from __future__ import annotations

import re
import tomllib
from doctest import ELLIPSIS, DocTestParser, DocTestRunner
from pathlib import Path

import pytest
import yaml
from tools import transcripts
from tools.docs import PAGES
from tools.spec import marked_tests, requirements

import groundwire
from groundwire.config import Config

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = Path(groundwire.__file__).parent
DOCUMENTS = [ROOT / "README.md", ROOT / "ARCHITECTURE.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.M | re.S)


def blocks(language: str) -> list[pytest.param]:  # type: ignore[valid-type]
    found = []
    for document in DOCUMENTS:
        text = document.read_text(encoding="utf-8")
        for match in BLOCK.finditer(text):
            if match[1] == language:
                line = text[: match.start()].count("\n") + 1
                found.append(pytest.param(match[2], id=f"{document.name}:{line}"))
    return found


@pytest.mark.spec("SPEC-16.40")
@pytest.mark.parametrize("block", blocks("console"))
def test_transcripts_are_true(block: str) -> None:
    shown = transcripts.steps(block)
    outputs = transcripts.run([command for command, _ in shown])
    for (command, expected), output in zip(shown, outputs, strict=True):
        wanted = transcripts.tidy(expected)
        assert transcripts.same(wanted, output), f"{command}\n{output}\n--- not ---\n{wanted}"


def test_transcripts_forgive_another_processor_and_nothing_else() -> None:
    assert transcripts.same("risk 0.9161 · p1 0.95", "risk 0.9163 · p1 0.94")
    assert not transcripts.same("risk 0.9161", "risk 0.8161")
    assert not transcripts.same("ENTAILED 0.95", "CONTRADICTED 0.95")
    assert not transcripts.same("0.95", "0.95 0.95")


@pytest.mark.parametrize("block", blocks("python"))
def test_python_examples_run(block: str) -> None:
    if ">>>" not in block:
        exec(compile(block, "README", "exec"), {"__name__": "__readme__"})
        return
    example = DocTestParser().get_doctest(block, {}, "README", None, 0)
    assert DocTestRunner(optionflags=ELLIPSIS).run(example).failed == 0


@pytest.mark.parametrize("block", blocks("yaml"))
def test_configuration_examples_are_accepted(block: str) -> None:
    data = yaml.safe_load(block)
    assert Config.model_validate(data)


@pytest.mark.parametrize("name", PAGES)
def test_generated_pages_are_current(name: str) -> None:
    assert (ROOT / name).read_text(encoding="utf-8") == PAGES[name](), "run `make docs`"


def test_the_architecture_has_a_line_for_every_package() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    named = set(re.findall(r"^\| `([\w.]+)/?` \|", text, re.M))
    inside = (path for path in PACKAGE.iterdir() if not path.name.startswith("__"))
    there = {path.name for path in inside if (path / "__init__.py").exists() or path.suffix == ".py"}
    assert named == there


def test_the_readme_names_every_extra_that_can_be_installed() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    install = (ROOT / "README.md").read_text(encoding="utf-8").partition("## Install")[2].partition("\n## ")[0]
    assert {name for name in extras if not re.search(rf"(?<![\w-]){name}(?![\w-])", install)} == set()


@pytest.mark.parametrize("block", [*blocks("console"), *blocks("text")])
def test_sessions_show_verdicts_in_the_words_of_the_terminal(block: str) -> None:
    assert not re.search(r"^(?:\S )?c\d+ +(?:ENTAILED|CONTRADICTED|NOT_IN_CONTEXT|UN[A-Z]+)\b", block, re.M)


def test_every_marked_requirement_exists() -> None:
    assert set(marked_tests()) <= set(requirements())


def test_the_changelog_has_the_version() -> None:
    assert f"## {groundwire.__version__}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
