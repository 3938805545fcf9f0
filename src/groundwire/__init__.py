"""groundwire: how many bits of evidence stand behind each claim.

>>> from groundwire import check
>>> report = check("France has 999 million people.", "The population of France is 67 million.")
>>> report.flagged
True
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from groundwire.version import __version__

if TYPE_CHECKING:
    from groundwire.api import (
        audit_reasoning,
        audit_trace,
        check,
        detect_hallucinations,
        evidence_dependence,
        guard,
        semantic_entropy,
        verify_claim,
        verify_claims,
    )
    from groundwire.config import Config
    from groundwire.engine import Groundwire
    from groundwire.errors import GroundwireError
    from groundwire.types import ClaimVerification, HallucinationReport, Status, TraceAudit

# Loaded when first used: importing the package costs almost nothing.
_HOMES = {
    "check": "api",
    "verify_claim": "api",
    "verify_claims": "api",
    "detect_hallucinations": "api",
    "evidence_dependence": "api",
    "guard": "api",
    "audit_trace": "api",
    "audit_reasoning": "api",
    "semantic_entropy": "api",
    "Groundwire": "engine",
    "Config": "config",
    "GroundwireError": "errors",
    "ClaimVerification": "types",
    "HallucinationReport": "types",
    "Status": "types",
    "TraceAudit": "types",
}

__all__ = [
    "ClaimVerification", "Config", "Groundwire", "GroundwireError", "HallucinationReport", "Status",
    "TraceAudit", "__version__", "audit_reasoning", "audit_trace", "check", "detect_hallucinations",
    "evidence_dependence", "guard", "semantic_entropy", "verify_claim", "verify_claims",
]  # fmt: skip


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'groundwire' has no attribute '{name}'")
    return getattr(import_module(f"groundwire.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
