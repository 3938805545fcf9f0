from __future__ import annotations

import json
import re
from functools import reduce
from pathlib import Path
from typing import Any

import pytest

from groundwire.config import RENAMED, Config, LimitsConfig, SandboxConfig
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
    found = Config.load(file).hallucination.model_dump()
    assert found.pop("backend") == {"type": "configurable", "default": "openai", "operations": {"memory_gate": "haiku"}}
    gate = found.pop("memory_gate")
    assert (gate["enabled"], gate["min_confidence"], gate["reject_unsupported"]) == (True, 0.6, False)
    assert found == {
        "enabled": True, "output_verification": {"enabled": True, "flag_threshold_bits": 1.5},
        "trace_auditing": {"enabled": True, "check_post_hoc": False},
        "batch_size": 8, "timeout": 0.5, "cache_ttl": 86400.0,
    }  # fmt: skip


@pytest.mark.spec("SPEC-08.02")
@pytest.mark.parametrize("hook", ["memory_gate", "output_verification", "trace_auditing"])
def test_each_hook_is_switched_on_alone(hook: str) -> None:
    found = Config.load(overrides={"hallucination.enabled": True, f"hallucination.{hook}.enabled": True})
    dumped = found.hallucination.model_dump()
    on = [name for name, value in dumped.items() if isinstance(value, dict) and value.get("enabled")]
    assert on == [hook]


@pytest.mark.spec("SPEC-08.35")
def test_detection_hooks_are_off_until_asked_for() -> None:
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


@pytest.mark.spec("SPEC-16.21")
def test_every_key_of_the_verification_section_can_be_set_in_toml(tmp_path: Path) -> None:
    given = {
        "enabled": False, "support_threshold": 0.6, "dependence_threshold": 0.2, "gap_threshold_bits": 1.0,
        "on_failure": "retry", "max_retries": 3, "verification_model": "local", "max_claims_per_response": 4,
        "parallel_verification": False, "mode": "critical_only", "sample_rate": 0.5,
    }  # fmt: skip
    file = tmp_path / "groundwire.toml"
    file.write_text("[verification]\n" + "\n".join(f"{key} = {json.dumps(value)}" for key, value in given.items()))
    assert Config.load(file).verification.model_dump() == given


def test_a_section_left_empty_is_the_default(tmp_path: Path) -> None:
    file = tmp_path / "c.yaml"
    file.write_text("hallucination:\n  # timeout: 5s\nopenai:\n  model:\n")
    assert Config.load(file) == Config.load()


@pytest.mark.parametrize("name", ["groundwire.yaml", "groundwire.yml", "groundwire.toml"])
def test_a_file_in_the_working_folder_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    (tmp_path / name).write_text("target = 0.5" if name.endswith("toml") else "target: 0.5")
    monkeypatch.chdir(tmp_path)
    assert Config.load().target == 0.5


def test_arguments_win_over_environment_and_environment_over_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "c.toml"
    file.write_text('[openai]\nmodel = "file"\nsamples = 3\ncontext_tokens = 100\n')
    monkeypatch.setenv("GROUNDWIRE_OPENAI__MODEL", "environment")
    monkeypatch.setenv("GROUNDWIRE_OPENAI__SAMPLES", "4")
    found = Config.load(file, {"openai.samples": 5, "openai.top_logprobs": None}).openai
    assert (found.model, found.samples, found.context_tokens, found.top_logprobs) == ("environment", 5, 100, 20)


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
        ("verification: {sample_rate: 1.5}", "invalid value 1.5 for 'verification.sample_rate'"),
        ("hallucination: {timeout: soon}", "invalid value 'soon' for 'hallucination.timeout': write a duration"),
        ("hallucination: {backend: {type: gpt}}", "invalid value 'gpt' for 'hallucination.backend.type'"),
        ("hallucination: {timeout: true}", "invalid value True for 'hallucination.timeout': write a duration"),
        ("hallucination: {timeout: 0}", "invalid value 0 for 'hallucination.timeout'"),
        ("hallucination: {memory_gate: {timeout: 0s}}", "invalid value '0s' for 'hallucination.memory_gate.timeout'"),
        ("hallucination: {backend: {operations: {x: local}}}", "for 'hallucination.backend.operations.x'"),
        ("target: .nan", "invalid value nan for 'target'"),
        ("[1, 2]", "must contain a mapping"),
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


def test_a_secret_of_the_wrong_type_is_not_shown(tmp_path: Path) -> None:
    file = tmp_path / "c.yaml"
    file.write_text("openai: {api_key: 8472918}")
    with pytest.raises(ConfigError, match=r"openai\.api_key") as caught:
        Config.load(file)
    assert "8472918" not in str(caught.value)


def test_a_missing_file_that_was_asked_for_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot read"):
        Config.load(tmp_path / "none.yaml")


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("GROUNDWIRE_TRAGET", "GROUNDWIRE_TRAGET"),
        ("GROUNDWIRE_OPENAI__MODLE", "unknown key 'openai.modle', did you mean 'model'?"),
    ],
)
def test_an_unknown_environment_variable_is_named(monkeypatch: pytest.MonkeyPatch, name: str, complaint: str) -> None:
    monkeypatch.setenv(name, "0.9")
    with pytest.raises(ConfigError) as caught:
        Config.load()
    assert complaint in str(caught.value)


@pytest.mark.parametrize(("old", "new"), RENAMED.items())
def test_renamed_key_is_accepted_with_a_warning(old: str, new: str) -> None:
    values: dict[str, Any] = {
        "server.keys": "always", "server.hosts": ("app.example",), "server.capacity": 3,
        "realtime.ahead_chars": 7, "proxy.keys": {"default": "sk-1"}, "log.source_text": True,
    }  # fmt: skip
    with pytest.warns(FutureWarning, match=f"'{old}' is now called '{new}'"):
        found = Config.load(overrides={old: values[old]})
    assert found == Config.load(overrides={new: values[old]})


def test_renamed_key_is_accepted_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GROUNDWIRE_SERVER__CAPACITY", "3")
    with pytest.warns(FutureWarning, match="server.max_in_flight"):
        assert Config.load().server.max_in_flight == 3


def test_secret_is_not_printed_in_an_error() -> None:
    with pytest.raises(ConfigError) as raised:
        Config.load(overrides={"proxy.api_keys": {"default": ["sk-secret"]}})
    assert "sk-secret" not in str(raised.value)


def test_the_verification_model_is_a_backend_or_refused_with_the_names() -> None:
    assert Config().verification.backend is None
    assert Config.load(None, {"verification.verification_model": "openai"}).verification.backend == "openai"
    with pytest.raises(ConfigError, match=r"verification_model.*local.*haiku"):
        Config.load(None, {"verification.verification_model": "gpt-7"})


def test_security_document_lists_every_limit_with_its_default() -> None:
    text = (Path(__file__).parents[1] / "SECURITY.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\|[^|]+\| ([\d,]+) \| `([a-z_.]+)` \|$", text, re.MULTILINE)
    listed = {name: float(default.replace(",", "")) for default, name in rows}
    defaults: dict[str, Any] = {name: reduce(getattr, name.split("."), Config()) for name in listed}
    assert listed == defaults
    limits = {f"limits.{name}" for name in LimitsConfig.model_fields if name.startswith("max_")}
    bounds = {f"sandbox.{name}" for name in SandboxConfig.model_fields}
    assert limits | bounds <= listed.keys()
