"""Benchmarks that users run: quality, speed, and suites with known answers."""
