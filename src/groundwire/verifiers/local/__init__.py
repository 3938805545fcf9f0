"""The embedded verifier.

context ──► Document ──► windows for the claim ──► Network reads each ──► Calibration ──► Estimate
           (cut once)    (best first)              (window, claim)        (clearest wins)
"""

from groundwire.verifiers.local.verifier import LocalVerifier

__all__ = ["LocalVerifier"]
