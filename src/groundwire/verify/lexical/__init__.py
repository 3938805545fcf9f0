"""The verifier that needs no network: words and figures, calibrated. Also the path for other languages."""

from groundwire.verify.lexical.model import calibration
from groundwire.verify.lexical.verifier import LexicalVerifier

__all__ = ["LexicalVerifier", "calibration"]
