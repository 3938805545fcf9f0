"""Settings of the services: HTTP server, RAG chatbot, streaming guard and proxy."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, field_validator

from groundwire.config.sections import Duration, Section, Share, Timeout


class ServerConfig(Section):
    """The HTTP server. `auth: auto` requires API keys except on a loopback address.

    `allowed_hosts` are host names, besides localhost, accepted by a server without API keys.
    `max_in_flight` limits the requests that are processed or queued, those with over 200,000 characters and
    files to be read apart from the others; further ones get a 429. `drift_path` keeps the state of the tests
    for drift between restarts; empty: nowhere.
    """

    host: str = "127.0.0.1"
    port: int = Field(default=8321, ge=0, le=65535)
    allowed_hosts: tuple[str, ...] = ()
    auth: Literal["auto", "always"] = "auto"
    requests_per_minute: int = Field(default=600, ge=1)
    max_body_bytes: int = Field(default=10_000_000, ge=1024)
    body_timeout: Timeout = 10.0
    request_timeout: Timeout = 60.0
    max_in_flight: int = Field(default=64, ge=1)
    cors_origins: tuple[str, ...] = ()
    shutdown_grace: Duration = 30.0
    keep_reports: bool = True
    keep_days: int = Field(default=30, ge=1)
    drift_path: str = "~/.local/share/groundwire/drift.json"


class RedisConfig(Section):
    """Redis for the cache and rate limits shared by replicas; unused without a `url`."""

    url: SecretStr | None = None


class RagConfig(Section):
    """The RAG chatbot: its index, the passage size and how many passages the model sees.

    `path` is below the folder that a command runs in, so that each project has an index of its own.
    A Pinecone index is looked up by name unless `pinecone_host` gives its address.
    """

    index: Literal["sqlite", "pinecone"] = "sqlite"
    path: str = ".groundwire/rag.db"
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
"""Default confidence (0 to 1) from which a contradiction is clear enough to interrupt a stream."""


class RealTimeConfig(Section):
    """The streaming guard, which verifies an answer while it is generated.

    A claim with a confidence below `hallucination_threshold` counts as weak; a contradiction with a
    confidence of at least `interrupt_threshold`, or a warning of high or critical risk above it, may stop the
    stream. `low`, `medium`, `high` and `critical` are the actions per risk level. A new sentence is held back
    until the previous ones are verified, except for `lookahead_chars` characters, or until `hold_timeout` has
    passed; the final verification may take `report_timeout`.
    """

    hallucination_threshold: Share = 0.5
    interrupt_threshold: Share = CLEAR
    check_knowledge: bool = True
    low: RiskAction = "mark"
    medium: RiskAction = "rephrase"
    high: RiskAction = "reformulate"
    critical: RiskAction = "discard"
    lookahead_chars: int = Field(default=0, ge=0)
    hold_timeout: Timeout = 2.0
    report_timeout: Timeout = 30.0
    max_tokens: int = Field(default=512, ge=16)


class ProxyConfig(Section):
    """The OpenAI-compatible proxy.

    `upstreams` maps names to base URLs; the model "name/model" is routed to that upstream, any other model to
    the first one. An upstream listed in `api_keys` gets that key instead of the caller's.
    """

    upstreams: Mapping[str, str] = Field(default_factory=dict)
    api_keys: Mapping[str, SecretStr] = Field(default_factory=dict)
    mode: Literal["observe", "annotate", "block", "fix", "off"] = "observe"
    report_timeout: Timeout = 2.0
    connect_timeout: Timeout = 10.0
    read_timeout: Timeout = 300.0

    @field_validator("upstreams")
    @classmethod
    def _base_urls(cls, given: Mapping[str, str]) -> Mapping[str, str]:
        for name in given:
            if not re.fullmatch(UPSTREAM_NAME, name):
                raise ValueError(f"invalid upstream name {name[:64]!r}")
        return {name: base_url(url) for name, url in given.items()}


UPSTREAM_NAME = r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}"


def base_url(url: str) -> str:
    """Validate the base URL of an API and remove its trailing slash.

    Raises:
        ValueError: if it is not an http(s) URL without credentials, query and fragment.
    """
    parts = urlsplit(url)
    good = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    if not good or parts.query or parts.fragment or parts.username or re.search(r"\s", url):
        raise ValueError(f"invalid base URL {url[:200]!r}, expected one such as https://api.openai.com/v1")
    return url.rstrip("/")
