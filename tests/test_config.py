from __future__ import annotations

from pathlib import Path

import pytest

from groundwire.config import Config
from groundwire.errors import ConfigError


@pytest.mark.spec("SPEC-08.34")
def test_every_key_of_the_hallucination_section_can_be_set(tmp_path: Path) -> None:
    file = tmp_path / "groundwire.yaml"
    file.write_text(
        """
hallucination:
  enabled: true
  backend: {type: configurable, default: openai, operations: {memory_gate: haiku}}
  memory_gate: {enabled: true, min_confidence: 0.6, reject_unsupported: false}
  output_verification: {enabled: true, flag_threshold_bits: 1.5}
  trace_auditing: {enabled: true, check_post_hoc: false}
  batch_size: 8
  timeout: 500ms
  cache_ttl: 24h
"""
    )
    found = Config.load(file).hallucination
    assert found.backend.operations["memory_gate"] == "haiku"
    assert (found.timeout, found.cache_ttl, found.batch_size) == (0.5, 86400.0, 8)
    assert found.output_verification.flag_threshold_bits == 1.5
    assert found.trace_auditing.check_post_hoc is False


@pytest.mark.spec("SPEC-08.35", "SPEC-08.02")
def test_detection_hooks_are_off_until_asked_for_and_each_has_its_own_switch() -> None:
    found = Config().hallucination
    assert not found.enabled
    assert not found.memory_gate.enabled
    assert not found.output_verification.enabled
    assert not found.trace_auditing.enabled


@pytest.mark.spec("SPEC-16.21")
def test_verification_defaults_are_the_schema_s() -> None:
    found = Config().verification
    assert found.model_dump() == {
        "enabled": True, "support_threshold": 0.7, "dependence_threshold": 0.3, "gap_threshold_bits": 2.0,
        "on_failure": "flag", "max_retries": 2, "verification_model": "haiku", "max_claims_per_response": 10,
        "parallel_verification": True, "mode": "sample", "sample_rate": 0.3,
    }  # fmt: skip


def test_arguments_win_over_environment_and_environment_over_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "c.toml"
    file.write_text('[openai]\nmodel = "file"\nsamples = 3\ncontext_tokens = 100\n')
    monkeypatch.setenv("GROUNDWIRE_OPENAI__MODEL", "environment")
    monkeypatch.setenv("GROUNDWIRE_OPENAI__SAMPLES", "4")
    found = Config.load(file, {"openai.samples": 5, "openai.top_logprobs": None}).openai
    assert (found.model, found.samples, found.context_tokens, found.top_logprobs) == (
        "environment",
        5,
        100,
        20,
    )


def test_the_sdks_own_variables_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    key = Config.load().openai.api_key
    assert key is not None
    assert key.get_secret_value() == "sk-secret"
    assert "sk-secret" not in repr(Config.load())


def test_config_is_frozen() -> None:
    with pytest.raises(ValueError, match="frozen"):
        Config().openai.model = "other"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("hallucination: {enabeld: true}", "unknown key 'hallucination.enabeld', did you mean 'enabled'?"),
        ("halucination: {}", "unknown key 'halucination', did you mean 'hallucination'?"),
        ("verification: {sample_rate: 1.5}", "'verification.sample_rate' cannot be 1.5"),
        ("hallucination: {timeout: soon}", "'hallucination.timeout' cannot be 'soon': write a duration"),
        ("hallucination: {backend: {type: gpt}}", "'hallucination.backend.type' cannot be 'gpt'"),
        ("target: .nan", "'target' cannot be nan"),
        ("[1, 2]", "must hold keys and values"),
        ("a: [", "is not valid"),
    ],
)
def test_a_wrong_key_or_value_is_one_line_that_names_it(tmp_path: Path, text: str, complaint: str) -> None:
    file = tmp_path / "c.yaml"
    file.write_text(text)
    with pytest.raises(ConfigError) as caught:
        Config.load(file)
    assert complaint in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_missing_file_that_was_asked_for_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot read"):
        Config.load(tmp_path / "none.yaml")


def test_an_unknown_environment_variable_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GROUNDWIRE_TRAGET", "0.9")
    with pytest.raises(ConfigError, match="GROUNDWIRE_TRAGET"):
        Config.load()
