"""What the adapters share, and what happens where their frameworks are not installed."""

from __future__ import annotations

import sys
from importlib import import_module

import pytest

from groundwire.errors import BackendTimeout, MissingExtra
from groundwire.integrations.evaluator import GroundednessChecker
from groundwire.verifiers.fake import FakeVerifier


def test_unchecked_answer_has_no_score(monkeypatch: pytest.MonkeyPatch) -> None:
    failing = FakeVerifier(failing=[BackendTimeout("too slow")] * 9)
    monkeypatch.setattr("groundwire.verifiers.fake.FakeVerifier", lambda **_: failing)
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
