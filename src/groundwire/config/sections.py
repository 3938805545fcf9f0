"""The sections of the configuration: frozen models that reject unknown keys."""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib.metadata import entry_points
from typing import Annotated, Literal, Self, get_args

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, SecretStr, model_validator

BuiltinBackend = Literal["local", "self", "haiku", "openai", "external", "model", "cascade", "configurable", "fake"]
PLUGINS = "groundwire.verifiers"
"""The entry-point group in which other packages offer backends."""


def known_backend(name: str) -> str:
    """The name of a backend of ours, or of one that an installed package offers."""
    if name in get_args(BuiltinBackend):
        return name
    offered = sorted(entry.name for entry in entry_points(group=PLUGINS))
    if name not in offered:
        raise ValueError(f"use one of {', '.join((*get_args(BuiltinBackend), *offered))}")
    return name


BackendName = Annotated[BuiltinBackend | str, AfterValidator(known_backend)]
Operation = Literal["memory_gate", "output", "trace", "claims"]
ProfileName = Literal["default", "rag", "strict"]

_PART = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)\s*")
_DURATION = re.compile(rf"\s*(?:{_PART.pattern})+")
_PLAIN = re.compile(r"\s*\d+(?:\.\d+)?\s*")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def seconds(value: object) -> object:
    """Parse a duration such as '500ms', '2s' or '1h30m', or a number of seconds.

    >>> seconds("500ms"), seconds("1h30m"), seconds("2"), seconds(2)
    (0.5, 5400.0, 2.0, 2)
    """
    if isinstance(value, str) and _PLAIN.fullmatch(value):
        return float(value)
    if isinstance(value, str) and _DURATION.fullmatch(value):
        return sum(float(number) * _SECONDS[unit] for number, unit in _PART.findall(value))
    if isinstance(value, str | bool):
        raise ValueError("write a duration as 500ms, 2s, 5m, 1h30m or a number of seconds")
    return value


def separated(value: object) -> object:
    """Split a list as an option gives it.

    >>> separated("entailment, neutral"), separated(["entailment"])
    (('entailment', 'neutral'), ['entailment'])
    """
    return tuple(part.strip() for part in value.split(",")) if isinstance(value, str) else value


Duration = Annotated[float, BeforeValidator(seconds), Field(ge=0, allow_inf_nan=False)]
Timeout = Annotated[float, BeforeValidator(seconds), Field(gt=0, allow_inf_nan=False)]
Share = Annotated[float, Field(ge=0.0, le=1.0, allow_inf_nan=False)]
Bits = Annotated[float, Field(allow_inf_nan=False)]
Weight = Annotated[float, Field(ge=0.0, le=10.0, allow_inf_nan=False)]
Names = Annotated[tuple[str, ...], BeforeValidator(separated)]


class Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class BackendConfig(Section):
    """The verifier backend. With the type `configurable`, `operations` maps each operation to a backend and
    `default` serves the others.
    """

    type: BackendName = "local"
    default: BackendName = "local"
    operations: Mapping[Operation, BackendName] = Field(default_factory=dict)


class MemoryGateConfig(Section):
    enabled: bool = False
    min_confidence: Share = 0.5
    reject_unsupported: bool = True
    threshold_bits: Bits = 2.0
    timeout: Timeout = 2.0
    fail_closed: bool = False


class OutputVerificationConfig(Section):
    enabled: bool = False
    flag_threshold_bits: Bits = 2.0


class TraceAuditingConfig(Section):
    enabled: bool = False
    check_post_hoc: bool = True


class HallucinationConfig(Section):
    enabled: bool = False
    backend: BackendConfig = BackendConfig()
    memory_gate: MemoryGateConfig = MemoryGateConfig()
    output_verification: OutputVerificationConfig = OutputVerificationConfig()
    trace_auditing: TraceAuditingConfig = TraceAuditingConfig()
    batch_size: int = Field(default=32, ge=1, le=4096)
    timeout: Timeout = 30.0
    cache_ttl: Duration = 86400.0


class VerificationConfig(Section):
    enabled: bool = True
    support_threshold: Share = 0.7
    dependence_threshold: Share = 0.3
    gap_threshold_bits: Bits = 2.0
    on_failure: Literal["flag", "retry", "ask"] = "flag"
    max_retries: int = Field(default=2, ge=0)
    verification_model: BackendName = "haiku"
    max_claims_per_response: int = Field(default=10, ge=1)
    parallel_verification: bool = True
    mode: Literal["full", "sample", "critical_only"] = "sample"
    sample_rate: Share = 0.3

    @property
    def backend(self) -> BackendName | None:
        """The backend that verifies answers, if `verification_model` is set; else the configured one does."""
        return self.verification_model if "verification_model" in self.model_fields_set else None


class OpenAIConfig(Section):
    """Any OpenAI-compatible server: OpenAI itself, vLLM, llama.cpp, Ollama.

    `evidence_tokens` limits the evidence of one claim, `context_tokens` that of one request, which up to
    `claims_per_request` claims share.
    """

    base_url: str = "https://api.openai.com/v1"
    model: str = "gpt-4o-mini"
    api_key: SecretStr | None = None
    top_logprobs: int = Field(default=20, ge=1, le=100)
    samples: int = Field(default=10, ge=1, le=200)
    context_tokens: int = Field(default=6000, ge=64)
    evidence_tokens: int = Field(default=1000, ge=64)
    claims_per_request: int = Field(default=8, ge=1, le=50)


class AnthropicConfig(Section):
    base_url: str = "https://api.anthropic.com"
    model: str = "claude-haiku-4-5"
    api_key: SecretStr | None = None
    samples: int = Field(default=1, ge=1, le=50)
    context_tokens: int = Field(default=6000, ge=64)
    evidence_tokens: int = Field(default=1000, ge=64)
    claims_per_request: int = Field(default=8, ge=1, le=50)


class GeneratorConfig(Section):
    """The model that generates answers; the backend `self` verifies with the same model."""

    provider: Literal["openai", "anthropic", "llm"] = "openai"
    model: str | None = None


class ClaimsConfig(Section):
    """Claim extraction and mapping of claims to sources, by rules or by the generator's model.

    The model's output is validated against the text; if it is invalid, the rules' result is used.
    """

    extractor: Literal["rules", "llm"] = "rules"
    mapping: Literal["rules", "llm"] = "rules"


class ExternalConfig(Section):
    url: str | None = None
    api_key: SecretStr | None = None


class ModelConfig(Section):
    """The backend `model`: `path` is a folder, an .onnx file or a name on Hugging Face.

    `kind` and `labels` are read from the model's config.json where they are not set. `template` is its input,
    with {premise}, {question} and {hypothesis}.
    """

    path: str | None = None
    kind: Literal["nli", "score", "tokens"] | None = None
    labels: Names = ()
    template: str = "{premise}"
    max_tokens: int | None = Field(default=None, ge=16)


class CascadeConfig(Section):
    """The backend `cascade`: `llm` is asked where the embedded verifier's P(yes) is between `low` and `high`.

    Beyond the defaults of both, nine of ten calibration claims are judged right (`groundwire bench cascade`).
    `max_calls` and `max_usd` limit what it may cost while the backend is open; prices are those of
    `orchestrator.prices`.
    """

    llm: Literal["openai", "haiku", "self"] = "openai"
    low: Share = 0.21
    high: Share = 0.82
    max_calls: int | None = Field(default=None, ge=0)
    max_usd: float | None = Field(default=None, ge=0)

    @model_validator(mode="after")
    def _ordered(self) -> CascadeConfig:
        if self.low > self.high:
            raise ValueError("cascade.low must not be above cascade.high")
        return self


class LimitsConfig(Section):
    max_answer_chars: int = Field(default=1_000_000, ge=1)
    max_source_bytes: int = Field(default=20_000_000, ge=1)
    max_sources: int = Field(default=10_000, ge=1)
    max_claims: int = Field(default=2000, ge=1)
    retries: int = Field(default=2, ge=0, le=20)
    requests_per_second: float | None = Field(default=None, gt=0)
    concurrency: int = Field(default=8, ge=1, le=1024)
    breaker_failures: int = Field(default=5, ge=1)
    breaker_cooldown: Duration = 30.0


class StoreConfig(Section):
    """Persistent storage. `url` is a SQLite file or postgresql://…, and holds facts, traces, jobs and
    feedback; the file is below the folder that a command runs in, so that each project has its own. An empty
    `cache_path` disables the cache.
    """

    url: str = ".groundwire/groundwire.db"
    cache_path: str = "~/.cache/groundwire/cache.db"


class CalibrationConfig(Section):
    """What `groundwire calibrate` was given, written by it: the risks of its rows as a histogram.

    The service compares the answers in use with it.
    """

    backend: str = ""
    profile: str = ""
    edges: tuple[Share, ...] = ()
    counts: tuple[int, ...] = ()

    @model_validator(mode="after")
    def _complete(self) -> Self:
        if self.edges and len(self.counts) != len(self.edges) + 1:
            raise ValueError("calibration.counts must have one number more than calibration.edges")
        return self


class DetectorSwitches(Section):
    """Enables or disables each detector."""

    fabricated_facts: bool = True
    nonexistent_entities: bool = True
    wrong_attributes: bool = True
    kb_contradictions: bool = True
    history_contradictions: bool = True
    unsupported_claims: bool = True
    temporal_errors: bool = True
    logical_inconsistencies: bool = True


class DetectorWeights(Section):
    """Factors applied to each detector's confidence before the threshold."""

    fabricated_facts: Weight = 1.0
    nonexistent_entities: Weight = 1.0
    wrong_attributes: Weight = 1.0
    kb_contradictions: Weight = 1.0
    history_contradictions: Weight = 1.0
    unsupported_claims: Weight = 1.0
    temporal_errors: Weight = 1.0
    logical_inconsistencies: Weight = 1.0


class EvidenceWeights(Section):
    """Weight of each kind of evidence in a flag's score."""

    kb_evidence: Share = 0.35
    history_evidence: Share = 0.25
    linguistic_signals: Share = 0.20
    consistency: Share = 0.20


class DetectorsConfig(Section):
    """The detectors: which ones run, their weights, and the confidence from which they flag."""

    detection_threshold: Share = 0.5
    max_claims: int = Field(default=200, ge=1)
    extractor: Literal["rules", "llm"] = "rules"
    enabled: DetectorSwitches = DetectorSwitches()
    weights: DetectorWeights = DetectorWeights()
    evidence_weights: EvidenceWeights = EvidenceWeights()


class MitigationConfig(Section):
    """Confidence thresholds for annotating, correcting and regenerating.

    A response that is still bad after `max_regenerations` is escalated to a person.
    """

    flag_threshold: Share = 0.5
    auto_correct_threshold: Share = 0.8
    regenerate_threshold: Share = 0.9
    severe_flags: int = Field(default=3, ge=1)
    max_corrections: int = Field(default=5, ge=0)
    max_regenerations: int = Field(default=1, ge=0)


class SandboxConfig(Section):
    """Resource limits of code that runs in the sandbox."""

    seconds: Timeout = 10.0
    memory_bytes: int = Field(default=256_000_000, ge=1_000_000)
    recursion: int = Field(default=200, ge=10)
    calls: int = Field(default=50, ge=1)


class Price(Section):
    """Price per million tokens, in US dollars."""

    input: float = Field(default=0.0, ge=0)
    output: float = Field(default=0.0, ge=0)


class OrchestratorConfig(Section):
    """Limits of the agent: turns, recursion depth, model calls and token prices.

    `code` allows the model to write code for the sandbox; `auto` does not ask small local models to.
    `max_calls` covers one question including all recursive calls.
    """

    code: Literal["auto", "always", "never"] = "auto"
    max_turns: int = Field(default=8, ge=1)
    max_depth: int = Field(default=2, ge=0)
    max_calls: int = Field(default=100, ge=1)
    max_tokens: int = Field(default=1024, ge=16)
    prices: Mapping[str, Price] = Field(default_factory=dict)


class LogConfig(Section):
    level: Literal["debug", "info", "warning", "error"] = "error"
    format: Literal["json", "text"] = "json"
    include_text: bool = False
