"""Configuration: `Config` and its sections."""

from groundwire.config.load import Config
from groundwire.config.sections import (
    AnthropicConfig,
    BackendConfig,
    BackendName,
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
    seconds,
)

__all__ = [
    "AnthropicConfig", "BackendConfig", "BackendName", "ClaimsConfig", "Config", "DetectorsConfig",
    "GeneratorConfig", "LimitsConfig", "LogConfig", "MemoryGateConfig", "MitigationConfig", "OpenAIConfig",
    "Operation", "OrchestratorConfig", "Price", "ProfileName", "SandboxConfig", "Section", "StoreConfig",
    "VerificationConfig", "seconds",
]  # fmt: skip
