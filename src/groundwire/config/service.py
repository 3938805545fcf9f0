"""The sections of what runs as a service: the server itself, the RAG chatbot, real time and the proxy."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, field_validator

from groundwire.config.sections import Duration, Section, Share, Timeout


class ServerConfig(Section):
    """The HTTP service. `keys: auto` asks for API keys everywhere but on loopback.

    `hosts` are names besides localhost by which a server without keys may be called.
    `capacity` is how many requests are worked on or wait at once; beyond it callers hear 429.
    """

    host: str = "127.0.0.1"
    port: int = Field(default=8321, ge=0, le=65535)
    hosts: tuple[str, ...] = ()
    keys: Literal["auto", "always"] = "auto"
    requests_per_minute: int = Field(default=600, ge=1)
    max_body_bytes: int = Field(default=10_000_000, ge=1024)
    body_timeout: Timeout = 10.0
    request_timeout: Timeout = 60.0
    capacity: int = Field(default=64, ge=1)
    cors_origins: tuple[str, ...] = ()
    shutdown_grace: Duration = 30.0
    keep_reports: bool = True
    keep_days: int = Field(default=30, ge=1)


class RedisConfig(Section):
    """Cache and limits shared across replicas; none is used without a `url`."""

    url: SecretStr | None = None


class RagConfig(Section):
    """The RAG chatbot: where its passages are, how they are found and how many are shown to the model.

    A Pinecone index is looked up by its name, or not at all where `pinecone_host` is its own address.
    """

    index: Literal["sqlite", "pinecone"] = "sqlite"
    path: str = "~/.local/share/groundwire/rag.db"
    top_k: int = Field(default=5, ge=1, le=50)
    passage_words: int = Field(default=180, ge=20, le=2000)
    overlap_words: int = Field(default=30, ge=0)
    max_tokens: int = Field(default=512, ge=16)
    pinecone_index: str = "groundwire"
    pinecone_host: str | None = None
    pinecone_namespace: str = "groundwire"
    pinecone_api_key: SecretStr | None = None


RiskAction = Literal["mark", "rephrase", "reformulate", "discard", "none"]
CLEAR = 0.8
"""How sure a contradiction must be to count as a clear one, unless the configuration says otherwise."""


class RealTimeConfig(Section):
    """Watching an answer while it is written.

    `hallucination_threshold` is the confidence below which a claim counts as weak, `interrupt_threshold` the
    confidence of a contradiction (or of a warning of critical risk) that may stop the stream. `low` to
    `critical` are what is done at each risk. A new sentence waits until the ones before it are
    judged, or runs `ahead_chars` ahead of that, as long as the verifier answers within `hold_timeout`; the
    last verification may take `report_timeout`.
    """

    hallucination_threshold: Share = 0.5
    interrupt_threshold: Share = CLEAR
    check_knowledge: bool = True
    low: RiskAction = "mark"
    medium: RiskAction = "rephrase"
    high: RiskAction = "reformulate"
    critical: RiskAction = "discard"
    ahead_chars: int = Field(default=0, ge=0)
    hold_timeout: Timeout = 2.0
    report_timeout: Timeout = 30.0
    max_tokens: int = Field(default=512, ge=16)


class ProxyConfig(Section):
    """The OpenAI-compatible proxy. `upstreams` are base URLs by name; a model "name/model" goes to that one,
    any other to the first. An upstream with a key in `keys` gets that instead of the caller's own.
    """

    upstreams: Mapping[str, str] = Field(default_factory=dict)
    keys: Mapping[str, SecretStr] = Field(default_factory=dict)
    mode: Literal["observe", "annotate", "block", "fix", "off"] = "observe"
    report_timeout: Timeout = 2.0
    connect_timeout: Timeout = 10.0
    read_timeout: Timeout = 300.0

    @field_validator("upstreams")
    @classmethod
    def _base_urls(cls, given: Mapping[str, str]) -> Mapping[str, str]:
        for name in given:
            if not re.fullmatch(UPSTREAM_NAME, name):
                raise ValueError(f"an upstream cannot be called {name[:64]!r}")
        return {name: base_url(url) for name, url in given.items()}


UPSTREAM_NAME = r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}"


def base_url(url: str) -> str:
    """The base URL of an API without its last slash; a ValueError for whatever is none."""
    parts = urlsplit(url)
    good = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    if not good or parts.query or parts.fragment or parts.username or re.search(r"\s", url):
        raise ValueError(f"{url[:200]!r} is no base URL such as https://api.openai.com/v1")
    return url.rstrip("/")
