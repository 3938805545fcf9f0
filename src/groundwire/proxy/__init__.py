"""OpenAI-compatible proxy that verifies answers as they pass through."""
