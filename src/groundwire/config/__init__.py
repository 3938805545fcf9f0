"""Configuration: `Config` and its sections."""

from groundwire.config.load import Config
from groundwire.config.sections import (
    PLUGINS,
    AnthropicConfig,
    BackendConfig,
    BackendName,
    BuiltinBackend,
    CalibrationConfig,
    ClaimsConfig,
    DetectorsConfig,
    GeneratorConfig,
    LimitsConfig,
    LogConfig,
    MemoryGateConfig,
    MitigationConfig,
    OpenAIConfig,
    Operation,
    OrchestratorConfig,
    Price,
    ProfileName,
    SandboxConfig,
    Section,
    StoreConfig,
    VerificationConfig,
    known_backend,
    seconds,
)

__all__ = [
    "PLUGINS", "AnthropicConfig", "BackendConfig", "BackendName", "BuiltinBackend", "CalibrationConfig",
    "ClaimsConfig", "Config", "DetectorsConfig", "GeneratorConfig", "LimitsConfig", "LogConfig",
    "MemoryGateConfig", "MitigationConfig", "OpenAIConfig", "Operation", "OrchestratorConfig", "Price",
    "ProfileName", "SandboxConfig", "Section", "StoreConfig", "VerificationConfig", "known_backend",
    "seconds",
]  # fmt: skip
