"""What the adapters share, and what happens where their frameworks are not installed."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from importlib import import_module

import pytest

from groundwire.errors import BackendTimeout, InputError, MissingExtra
from groundwire.integrations.evaluator import GroundednessChecker, as_sources
from groundwire.types import Source
from groundwire.verifiers.fake import FakeVerifier


@dataclass
class Document:
    page_content: str
    metadata: dict[str, str] = field(default_factory=dict)


def test_accepted_forms_of_sources() -> None:
    assert as_sources("text") == "text"
    assert as_sources({"a": "text"}) == {"a": "text"}
    assert as_sources(None) == ()
    assert as_sources(["x", Document("y", {"source": "f.md"}), Source("z", "z")]) == [
        Source("S0", "x"),
        Source("S1", "y", "f.md"),
        Source("z", "z"),
    ]
    assert as_sources(Document("one")) == [Source("S0", "one")]
    with pytest.raises(InputError, match="source 0 must be a string or a document, got int"):
        as_sources([7])


def test_unchecked_answer_has_no_score(monkeypatch: pytest.MonkeyPatch) -> None:
    failing = FakeVerifier(failing=[BackendTimeout("too slow")] * 9)
    monkeypatch.setattr("groundwire.verifiers.fake.FakeVerifier", lambda: failing)
    found = GroundednessChecker(backend="fake").check("It is red.", "It is red.")
    assert (found.score, found.grounded, found.value) == (None, None, "unchecked")
    assert "could not check everything" in found.reasoning


@pytest.mark.parametrize(("name", "package"), [("langchain", "langchain_classic"), ("llamaindex", "llama_index.core")])
def test_missing_framework_names_the_extra(name: str, package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module = f"groundwire.integrations.{name}"
    monkeypatch.delitem(sys.modules, module, raising=False)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtra, match=rf"pip install 'groundwire\[{name}\]'"):
        import_module(module)
