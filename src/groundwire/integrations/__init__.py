"""Adapters for other frameworks: one thin file each, around `evaluator` or `guardrail`."""
