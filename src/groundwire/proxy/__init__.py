"""The OpenAI-compatible proxy: answers are verified on their way through."""
