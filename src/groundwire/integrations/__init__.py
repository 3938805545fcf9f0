"""Thin adapters: groundwire as an evaluator of other frameworks."""
