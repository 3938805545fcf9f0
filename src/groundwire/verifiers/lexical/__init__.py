"""The verifier that needs no network: words and figures, calibrated. Also the path for other languages."""

from groundwire.verifiers.lexical.model import calibration
from groundwire.verifiers.lexical.verifier import LexicalVerifier

__all__ = ["LexicalVerifier", "calibration"]
