"""Verdicts on claims, reports on responses, and repairs."""
