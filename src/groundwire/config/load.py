"""The configuration: one frozen `Config`, the only reader of files and environment variables.

In order of precedence: arguments, environment variables (`GROUNDWIRE_HALLUCINATION__TIMEOUT=5s`), the file
(YAML or TOML: `--config`, `GROUNDWIRE_CONFIG`, or `groundwire.yaml`/`.yml`/`.toml` in the working directory),
the SDKs' own variables (`OPENAI_API_KEY`, …), defaults.
"""

from __future__ import annotations

import os
import tomllib
import warnings
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from textwrap import shorten
from typing import Any

import yaml
from pydantic import BaseModel, ValidationError, model_validator
from pydantic_settings import (
    BaseSettings,
    EnvSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    SettingsError,
)

from groundwire.config.sections import (
    AnthropicConfig,
    Bits,
    CalibrationConfig,
    CascadeConfig,
    ClaimsConfig,
    DetectorsConfig,
    ExternalConfig,
    GeneratorConfig,
    HallucinationConfig,
    LimitsConfig,
    LogConfig,
    MitigationConfig,
    ModelConfig,
    OpenAIConfig,
    OrchestratorConfig,
    ProfileName,
    SandboxConfig,
    Share,
    StoreConfig,
    VerificationConfig,
)
from groundwire.config.service import ProxyConfig, RagConfig, RealTimeConfig, RedisConfig, ServerConfig
from groundwire.errors import ConfigError

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
        for layer in (_vendor_environment(), _file(path), _environment(cls), _nest(overrides or {})):
            _merge(data, layer)
        return cls._valid(data)

    def changed(self, **changes: object) -> Config:
        """Return a copy with some top-level keys changed; keys that were never set stay unset."""
        return self._valid({**self.model_dump(exclude_unset=True), **changes})

    @classmethod
    def _valid(cls, data: dict[str, Any]) -> Config:
        try:
            return cls(**data)
        except ValidationError as error:
            raise ConfigError(_explain(error), hint="see 'Configuration' in the README") from None


_RESERVED = {"GROUNDWIRE_CONFIG", "GROUNDWIRE_DATA", "GROUNDWIRE_TRAIN"}
_KINDS = ("yaml", "yml", "toml")
_VENDOR = {
    "OPENAI_API_KEY": ("openai", "api_key"),
    "OPENAI_BASE_URL": ("openai", "base_url"),
    "ANTHROPIC_API_KEY": ("anthropic", "api_key"),
    "ANTHROPIC_BASE_URL": ("anthropic", "base_url"),
}


def _vendor_environment() -> dict[str, Any]:
    """Read the variables of the vendors' SDKs."""
    found: dict[str, Any] = {}
    for name, (section, key) in _VENDOR.items():
        if os.environ.get(name):
            found.setdefault(section, {})[key] = os.environ[name]
    return found


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
