"""The eight detectors: what knowledge, dialogue, time and logic say about a response."""
