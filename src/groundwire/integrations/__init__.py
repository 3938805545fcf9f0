"""Adapters for other frameworks: LangChain, LlamaIndex, MeTTa and Ray."""
