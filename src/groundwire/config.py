"""The configuration: one frozen `Config`, the only reader of files and environment variables.

In order of precedence: arguments, environment variables (`GROUNDWIRE_HALLUCINATION__TIMEOUT=5s`), the file
(YAML or TOML: `--config`, `GROUNDWIRE_CONFIG`, or `groundwire.yaml`/`.yml`/`.toml` in the working directory),
the SDKs' own variables (`OPENAI_API_KEY`, …), defaults.
"""

from __future__ import annotations

import os
import re
import tomllib
import warnings
from collections.abc import Mapping
from difflib import get_close_matches
from importlib.metadata import entry_points
from pathlib import Path
from textwrap import shorten
from typing import Annotated, Any, Literal, Self, get_args
from urllib.parse import urlsplit

import yaml
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SecretStr,
    ValidationError,
    field_validator,
    model_validator,
)
from pydantic_settings import (
    BaseSettings,
    EnvSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    SettingsError,
)

from groundwire.errors import ConfigError

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


# ---- services: HTTP server, RAG chatbot, streaming guard and proxy


class ServerConfig(Section):
    """The HTTP server. `auth: auto` requires API keys except on a loopback address.

    `allowed_hosts` are host names, besides localhost, accepted by a server without API keys.
    `max_in_flight` limits the requests that are processed or queued, those with over 200,000 characters and
    files to be read apart from the others; further ones get a 429. `drift_path` keeps the state of the tests
    for drift between restarts; empty: nowhere.
    """

    host: str = "127.0.0.1"
    port: int = Field(default=8321, ge=0, le=65535)
    allowed_hosts: tuple[str, ...] = ()
    auth: Literal["auto", "always"] = "auto"
    requests_per_minute: int = Field(default=600, ge=1)
    max_body_bytes: int = Field(default=10_000_000, ge=1024)
    body_timeout: Timeout = 10.0
    request_timeout: Timeout = 60.0
    max_in_flight: int = Field(default=64, ge=1)
    cors_origins: tuple[str, ...] = ()
    shutdown_grace: Duration = 30.0
    keep_reports: bool = True
    keep_days: int = Field(default=30, ge=1)
    drift_path: str = "~/.local/share/groundwire/drift.json"


class RedisConfig(Section):
    """Redis for the cache and rate limits shared by replicas; unused without a `url`."""

    url: SecretStr | None = None


class RagConfig(Section):
    """The RAG chatbot: its index, the passage size and how many passages the model sees.

    `path` is below the folder that a command runs in, so that each project has an index of its own.
    A Pinecone index is looked up by name unless `pinecone_host` gives its address.
    """

    index: Literal["sqlite", "pinecone"] = "sqlite"
    path: str = ".groundwire/rag.db"
    top_k: int = Field(default=5, ge=1, le=50)
    passage_words: int = Field(default=180, ge=20, le=2000)
    overlap_words: int = Field(default=30, ge=0)
    max_tokens: int = Field(default=512, ge=16)
    pinecone_index: str = "groundwire"
    pinecone_host: str | None = None
    pinecone_namespace: str = "groundwire"
    pinecone_api_key: SecretStr | None = None


RiskAction = Literal["mark", "rephrase", "reformulate", "discard", "none"]
CLEAR = 0.8
"""Default confidence (0 to 1) from which a contradiction is clear enough to interrupt a stream."""


class RealTimeConfig(Section):
    """The streaming guard, which verifies an answer while it is generated.

    A claim with a confidence below `hallucination_threshold` counts as weak; a contradiction with a
    confidence of at least `interrupt_threshold`, or a warning of high or critical risk above it, may stop the
    stream. `low`, `medium`, `high` and `critical` are the actions per risk level. A new sentence is held back
    until the previous ones are verified, except for `lookahead_chars` characters, or until `hold_timeout` has
    passed; the final verification may take `report_timeout`.
    """

    hallucination_threshold: Share = 0.5
    interrupt_threshold: Share = CLEAR
    check_knowledge: bool = True
    low: RiskAction = "mark"
    medium: RiskAction = "rephrase"
    high: RiskAction = "reformulate"
    critical: RiskAction = "discard"
    lookahead_chars: int = Field(default=0, ge=0)
    hold_timeout: Timeout = 2.0
    report_timeout: Timeout = 30.0
    max_tokens: int = Field(default=512, ge=16)


class ProxyConfig(Section):
    """The OpenAI-compatible proxy.

    `upstreams` maps names to base URLs; the model "name/model" is routed to that upstream, any other model to
    the first one. An upstream listed in `api_keys` gets that key instead of the caller's.
    """

    upstreams: Mapping[str, str] = Field(default_factory=dict)
    api_keys: Mapping[str, SecretStr] = Field(default_factory=dict)
    mode: Literal["observe", "annotate", "block", "fix", "off"] = "observe"
    report_timeout: Timeout = 2.0
    connect_timeout: Timeout = 10.0
    read_timeout: Timeout = 300.0

    @field_validator("upstreams")
    @classmethod
    def _base_urls(cls, given: Mapping[str, str]) -> Mapping[str, str]:
        for name in given:
            if not re.fullmatch(UPSTREAM_NAME, name):
                raise ValueError(f"invalid upstream name {name[:64]!r}")
        return {name: base_url(url) for name, url in given.items()}


UPSTREAM_NAME = r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}"


def base_url(url: str) -> str:
    """Validate the base URL of an API and remove its trailing slash.

    Raises:
        ValueError: if it is not an http(s) URL without credentials, query and fragment.
    """
    parts = urlsplit(url)
    good = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    if not good or parts.query or parts.fragment or parts.username or re.search(r"\s", url):
        raise ValueError(f"invalid base URL {url[:200]!r}, expected one such as https://api.openai.com/v1")
    return url.rstrip("/")


# ---- all sections, and where they are read from

RENAMED = {
    "server.keys": "server.auth",
    "server.hosts": "server.allowed_hosts",
    "server.capacity": "server.max_in_flight",
    "realtime.ahead_chars": "realtime.lookahead_chars",
    "proxy.keys": "proxy.api_keys",
    "log.source_text": "log.include_text",
}
"""Keys renamed in this release. The old names are accepted with a warning until the next one."""


class Config(BaseSettings):
    """All settings. `Config()` has the defaults; `Config.load()` reads the file and the environment."""

    model_config = SettingsConfigDict(env_prefix="GROUNDWIRE_", env_nested_delimiter="__", frozen=True, extra="forbid")

    profile: ProfileName = "default"
    target: Share = 0.95
    threshold_bits: Bits | None = None
    risk_threshold: Share | None = None
    faithful: bool = True
    bits: bool = False
    shares: bool = False
    hallucination: HallucinationConfig = HallucinationConfig()
    verification: VerificationConfig = VerificationConfig()
    openai: OpenAIConfig = OpenAIConfig()
    anthropic: AnthropicConfig = AnthropicConfig()
    generator: GeneratorConfig = GeneratorConfig()
    claims: ClaimsConfig = ClaimsConfig()
    external: ExternalConfig = ExternalConfig()
    model: ModelConfig = ModelConfig()
    cascade: CascadeConfig = CascadeConfig()
    limits: LimitsConfig = LimitsConfig()
    store: StoreConfig = StoreConfig()
    detectors: DetectorsConfig = DetectorsConfig()
    mitigation: MitigationConfig = MitigationConfig()
    sandbox: SandboxConfig = SandboxConfig()
    orchestrator: OrchestratorConfig = OrchestratorConfig()
    server: ServerConfig = ServerConfig()
    redis: RedisConfig = RedisConfig()
    rag: RagConfig = RagConfig()
    realtime: RealTimeConfig = RealTimeConfig()
    proxy: ProxyConfig = ProxyConfig()
    log: LogConfig = LogConfig()
    calibration: CalibrationConfig = CalibrationConfig()

    @model_validator(mode="before")
    @classmethod
    def _accept_renamed_keys(cls, data: Any) -> Any:
        for old, new in RENAMED.items():
            (section, key), new_key = old.split("."), new.split(".")[1]
            values = data.get(section)
            if isinstance(values, Mapping) and key in values:
                warnings.warn(f"configuration key '{old}' is now called '{new}'", FutureWarning, stacklevel=2)
                rest = {name: value for name, value in values.items() if name != key}
                data = {**data, section: {new_key: values[key], **rest}}
        return data

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],  # noqa: ARG003
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,  # noqa: ARG003
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Disable pydantic's own sources: only `load` reads files and the environment."""
        return (init_settings,)

    @classmethod
    def load(cls, path: str | Path | None = None, overrides: Mapping[str, Any] | None = None) -> Config:
        """Read the file, then the environment, then apply `overrides`.

        Args:
            path: the configuration file; by default the one found in the working directory, if any.
            overrides: values by key; dotted keys are allowed ({"openai.model": "…"}), None means not given.

        Raises:
            ConfigError: if a file cannot be read, or a key or value is invalid.
        """
        data: dict[str, Any] = {}
        vendors = _nest({key: os.environ.get(name) or None for name, key in _VENDOR.items()})
        for layer in (vendors, _file(path), _environment(cls), _nest(overrides or {})):
            _merge(data, layer)
        return cls._valid(data)

    def changed(self, **changes: object) -> Config:
        """Return a copy with some top-level keys changed, except those given as None; unset keys stay unset."""
        given = {key: value for key, value in changes.items() if value is not None}
        return self._valid({**self.model_dump(exclude_unset=True), **given}) if given else self

    @classmethod
    def _valid(cls, data: dict[str, Any]) -> Config:
        try:
            return cls(**data)
        except ValidationError as error:
            raise ConfigError(_explain(error), hint="see 'Configuration' in the README") from None


_RESERVED = {"GROUNDWIRE_CONFIG", "GROUNDWIRE_DATA", "GROUNDWIRE_TRAIN"}
_KINDS = ("yaml", "yml", "toml")
_VENDOR = {
    f"{section.upper()}_{key.upper()}": f"{section}.{key}"
    for section in ("openai", "anthropic")
    for key in ("api_key", "base_url")
}
"""The variables of the vendors' SDKs, such as OPENAI_API_KEY, with our keys."""


def _environment(settings: type[Config]) -> dict[str, Any]:
    for name in os.environ:
        known = name.upper().removeprefix("GROUNDWIRE_").split("__")[0].lower() in settings.model_fields
        if name.upper().startswith("GROUNDWIRE_") and name.upper() not in _RESERVED and not known:
            raise ConfigError(f"unknown environment variable {name}", hint="see 'Configuration' in the README")
    try:
        return EnvSettingsSource(settings)()
    except SettingsError as error:
        raise ConfigError(f"environment: {error}") from None


def _file(path: str | Path | None) -> dict[str, Any]:
    chosen = path or os.environ.get("GROUNDWIRE_CONFIG")
    candidates = [Path(chosen)] if chosen else [Path(f"groundwire.{kind}") for kind in _KINDS]
    for candidate in candidates:
        if chosen or candidate.is_file():
            return _parse(candidate)
    return {}


def _parse(path: Path) -> dict[str, Any]:
    try:
        text = path.read_text(encoding="utf-8")
        data = tomllib.loads(text) if path.suffix == ".toml" else yaml.safe_load(text)
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror}") from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, yaml.YAMLError) as error:
        raise ConfigError(f"{path} is not valid: {error}") from None
    if data is None:
        return {}
    if not isinstance(data, dict):
        raise ConfigError(f"{path} must contain a mapping, got {type(data).__name__}")
    return _given(data)


def _given(data: Mapping[str, Any]) -> dict[str, Any]:
    """Remove empty values, such as a section whose keys are all commented out."""
    return {
        key: _given(value) if isinstance(value, Mapping) else value for key, value in data.items() if value is not None
    }


def _nest(flat: Mapping[str, Any]) -> dict[str, Any]:
    """Expand dotted keys: {"a.b": 1} → {"a": {"b": 1}}. Values of None are dropped."""
    nested: dict[str, Any] = {}
    for dotted, value in flat.items():
        if value is not None:
            *parents, leaf = dotted.split(".")
            place = nested
            for parent in parents:
                place = place.setdefault(parent, {})
            place[leaf] = value
    return nested


def _merge(into: dict[str, Any], layer: Mapping[str, Any]) -> None:
    for key, value in layer.items():
        if isinstance(value, Mapping) and isinstance(into.get(key), dict):
            _merge(into[key], value)
        else:
            into[key] = dict(value) if isinstance(value, Mapping) else value


def _explain(error: ValidationError) -> str:
    first = error.errors(include_url=False)[0]
    where = ".".join(str(part) for part in first["loc"] if part != "[key]")
    if first["type"] == "extra_forbidden":
        near = get_close_matches(str(first["loc"][-1]), _keys_beside(first["loc"]), n=1)
        return f"unknown key '{where}'" + (f", did you mean '{near[0]}'?" if near else "")
    message = first["msg"].removeprefix("Value error, ")
    if "api_key" in where:  # never print a secret
        return f"invalid value for '{where}': {message}"
    value = shorten(repr(first.get("input")), 80, placeholder="…")
    return f"invalid value {value} for '{where}': {message}"


def _keys_beside(location: tuple[int | str, ...]) -> list[str]:
    fields = Config.model_fields
    for part in location[:-1]:
        kind = fields[str(part)].annotation if str(part) in fields else None
        if not (isinstance(kind, type) and issubclass(kind, BaseModel)):
            return []
        fields = kind.model_fields
    return list(fields)
