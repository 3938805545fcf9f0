"""Options that several commands share."""

from __future__ import annotations

import pytest

from groundwire.cli.options import settings


@pytest.mark.parametrize(
    ("backend", "key"),
    [
        ("openai", "openai.model"),
        ("haiku", "anthropic.model"),
        ("self", "generator.model"),
        ("cascade", "openai.model"),
    ],
)
def test_model_names_the_model_of_the_chosen_backend(backend: str, key: str) -> None:
    section, name = key.split(".")
    found = settings(None, backend, model="small")
    assert getattr(getattr(found, section), name) == "small"
    assert found.hallucination.backend.type == backend


@pytest.mark.parametrize("backend", [None, "local", "model"])
def test_model_alone_means_a_model_of_ones_own(backend: str | None) -> None:
    found = settings(None, backend, model="cross-encoder/nli-deberta-v3-small")
    assert (found.hallucination.backend.type, found.model.path) == ("model", "cross-encoder/nli-deberta-v3-small")
