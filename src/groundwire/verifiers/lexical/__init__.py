"""The verifier without a neural network, used for languages other than English."""

from groundwire.verifiers.lexical.verifier import LexicalVerifier, calibration

__all__ = ["LexicalVerifier", "calibration"]
