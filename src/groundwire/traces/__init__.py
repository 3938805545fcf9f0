"""Reasoning looked at afterwards: a verdict for each step, and whether the answer follows."""
