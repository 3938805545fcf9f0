"""The embedded verifier.

claim ──► clauses ──► a narrow window for each ──┐
                                                 ├──► Network reads each ──► Calibration ──► Estimate
context ─► Document ─► a wide window for all ────┘    (window, text)         (worst clause, whole claim)
          (cut once)   (unless the clauses settle it)
"""

from groundwire.verifiers.local.verifier import LocalVerifier

__all__ = ["LocalVerifier"]
