"""The generator protocol, token usage, and the endpoints of hosted models with their errors.

A generator completes a conversation and returns logprobs if its server has them.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from hashlib import sha256
from ipaddress import ip_address
from math import isfinite
from re import IGNORECASE, compile, escape, search
from typing import Literal, Protocol, runtime_checkable
from urllib.parse import urlsplit

from pydantic import SecretStr

from groundwire.errors import BackendDown, BackendError, BackendTimeout, ConfigError, QueryRefused, RateLimited

Role = Literal["system", "user", "assistant"]
OnText = Callable[[str], Awaitable[None] | None]
"""Called with each piece of text. An awaitable it returns is awaited before more is read (backpressure)."""


@dataclass(frozen=True, slots=True)
class Message:
    """One turn. The first `shared` characters are common to many calls, so servers can cache them."""

    role: Role
    content: str
    shared: int = 0

    def __post_init__(self) -> None:
        # Lone surrogates from broken input cannot be encoded as UTF-8.
        sendable = self.content.encode("utf-8", "replace").decode("utf-8")
        object.__setattr__(self, "content", sendable)


@dataclass(frozen=True, slots=True)
class TokenLogprob:
    """A candidate token and the natural logarithm of its probability."""

    token: str
    logprob: float


@dataclass(frozen=True, slots=True)
class TokenPosition:
    """A generated token and its candidates, most likely first."""

    token: str
    candidates: tuple[TokenLogprob, ...]


@dataclass(frozen=True, slots=True)
class Completion:
    """One generated text.

    `top_logprobs` are the candidates for the *first* generated token (blanks and markup skipped), most likely
    first; None if the server returned none. `positions` are all tokens with theirs. Token counts are 0 if the
    server reports none; `cached_tokens` is the part of the prompt that was served from the prompt cache.
    Completions of one request share a prompt: only the first of them has the counts.
    """

    text: str
    top_logprobs: tuple[TokenLogprob, ...] | None = None
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    model: str = ""
    positions: tuple[TokenPosition, ...] = ()


Schema = Mapping[str, object]
"""A JSON schema of the reply."""


@runtime_checkable
class Generator(Protocol):
    """A model behind an SDK, a local server, or a script in a test.

    `complete` returns exactly `n` completions or raises a `BackendError`. A server that cannot enforce a
    `schema` ignores it, so the prompt must ask for the same. `name` identifies the model in
    reports and cache keys. `aclose()` closes connections and stops a server that the generator started.
    """

    @property
    def name(self) -> str: ...

    async def complete(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int = 256,
        temperature: float = 0.0,
        top_logprobs: int = 0,
        n: int = 1,
        schema: Schema | None = None,
    ) -> list[Completion]: ...

    async def aclose(self) -> None: ...


@runtime_checkable
class StreamingGenerator(Protocol):
    """An optional capability: pass on text as it is generated. Returns the whole completion."""

    async def stream(
        self, messages: Sequence[Message], on_text: OnText, *, max_tokens: int = 256, temperature: float = 0.0
    ) -> Completion: ...


async def completed(
    generator: Generator,
    messages: Sequence[Message],
    on_text: OnText | None = None,
    *,
    max_tokens: int = 256,
    temperature: float = 0.0,
) -> Completion:
    """Complete once, streaming to `on_text` if the generator can; otherwise it gets the text in one piece."""
    if on_text is not None and isinstance(generator, StreamingGenerator):
        return await generator.stream(messages, on_text, max_tokens=max_tokens, temperature=temperature)
    (done,) = await generator.complete(messages, max_tokens=max_tokens, temperature=temperature)
    if on_text is not None:
        await emit(on_text, done.text)
    return done


async def ask_about(generator: Generator, system: str, text: str, *, kind: str, max_tokens: int) -> str:
    """The reply to a prompt about an untrusted text, "" if there is none.

    `{tag}` in `system` is the tag around the text. It is made from the text itself, which thus cannot close it.
    """
    text = text.encode("utf-8", "replace").decode("utf-8")  # lone surrogates have no encoding to hash
    tag = f"{kind}-{sha256(text.encode()).hexdigest()[:12]}"
    messages = (Message("system", system.format(tag=tag)), Message("user", f"<{tag}>\n{text}\n</{tag}>"))
    replies = await generator.complete(messages, max_tokens=max_tokens, temperature=0.0)
    return replies[0].text if replies else ""


def json_items(reply: str, key: str) -> list[dict[str, object]]:
    """The objects in the list `key` of the JSON in a reply; none if it is not the expected JSON."""
    try:
        data, _ = json.JSONDecoder().raw_decode(reply, reply.index("{"))
    except (ValueError, RecursionError):
        return []
    items = data.get(key) if isinstance(data, dict) else None
    return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []


async def emit(on_text: OnText, text: str) -> None:
    """Pass on a piece of text and await the listener."""
    wait = on_text(text)
    if wait is not None:
        await wait


MAX_BUFFERED = 16
"""Pieces buffered for a slow reader before the model has to wait."""


async def stream_text(
    generator: Generator, messages: Sequence[Message], *, max_tokens: int = 256
) -> AsyncGenerator[str]:
    """Yield text as it is generated; in one piece if the generator cannot stream.

    Errors of the generator are raised after the text that came before. Closing the iterator or cancelling its
    reader cancels the request.
    """
    pieces: asyncio.Queue[str | Exception | None] = asyncio.Queue(MAX_BUFFERED)

    async def generate() -> None:
        end: Exception | None = None
        try:
            await completed(generator, messages, pieces.put, max_tokens=max_tokens)
        except Exception as error:  # passed on: the reader raises it
            end = error
        await pieces.put(end)

    task = asyncio.create_task(generate())
    try:
        while isinstance(piece := await pieces.get(), str):
            yield piece
        if piece is not None:
            raise piece
    finally:
        task.cancel()
        await asyncio.wait({task})  # the request has ended when the iterator has


# Where a hosted model is reached, what its SDK's failures mean, and how to say so without secrets.

_OFFICIAL = frozenset({"api.openai.com", "api.anthropic.com"})
_REFUSAL = compile(r"support|allow|permit|unknown|unrecogni[sz]ed|deprecated|invalid|unexpected|must be", IGNORECASE)
_STATUS_PREFIX = compile(r"^Error code: \d+ - ")
_TOO_LONG = compile(
    r"context (?:size|length|window)|maximum context|too (?:long|many tokens)|exceeds?\b.{0,40}\btokens", IGNORECASE
)
_NOT_RETRYABLE = frozenset({501, 505})


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One model at one address. `section` is its section in the configuration."""

    section: str
    base_url: str
    model: str
    api_key: SecretStr | None = None
    timeout: float = 30.0

    def __post_init__(self) -> None:
        if not _is_address(self.base_url):
            raise ConfigError(f"{self.section}.base_url is not a valid address", hint="write it as https://host/v1")

    @property
    def host(self) -> str:
        """Host and port only: an address may contain a password."""
        return urlsplit(self.base_url).netloc.rpartition("@")[2]

    @property
    def is_loopback(self) -> bool:
        name = urlsplit(self.base_url).hostname or ""
        try:
            return ip_address(name).is_loopback
        except ValueError:
            return name == "localhost"

    @property
    def name(self) -> str:
        """The model's name, with the host unless it is the vendor's: other servers may use any model name."""
        vendor = urlsplit(self.base_url).hostname in _OFFICIAL
        return f"{self.section}/{self.model}" + ("" if vendor else f"@{self.host}")

    @property
    def _secret(self) -> str:
        return self.api_key.get_secret_value().strip() if self.api_key else ""

    def key(self) -> str:
        """The API key to send. The vendors require one; other servers often do not."""
        key = self._secret
        if not (key.isascii() and key.isprintable()):
            raise ConfigError(f"the API key for {self.host} has invalid characters", hint=self.key_hint)
        if key:
            return key
        if urlsplit(self.base_url).hostname in _OFFICIAL:
            raise ConfigError(f"no API key for {self.host}", hint=self.key_hint)
        return "none"

    @property
    def key_hint(self) -> str:
        return f"set {self.section.upper()}_API_KEY, or {self.section}.api_key in the configuration"

    def public(self, text: str) -> str:
        """A server message, shortened and with the key removed."""
        if self._secret:
            text = text.replace(self._secret, "***")
        return " ".join(_STATUS_PREFIX.sub("", text).split())[:200]


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def timeout_error(endpoint: Endpoint) -> BackendTimeout:
    hint = f"the limit is {endpoint.timeout:g} s (hallucination.timeout)"
    return BackendTimeout(f"{endpoint.host} did not answer in time", hint=hint)


def status_error(endpoint: Endpoint, status: int, headers: Mapping[str, str], message: str) -> BackendError:
    """An HTTP status other than success, as one of our errors."""
    wait = retry_after(headers)
    if status in (429, 529) or (status == 503 and wait is not None):
        return RateLimited(f"{endpoint.host} is rate limiting us", retry_after=wait)
    if status in (401, 403):
        return BackendError(f"{endpoint.host} refused the API key ({status})", hint=endpoint.key_hint)
    if status == 404:
        hint = f"check {endpoint.section}.model and {endpoint.section}.base_url"
        return BackendError(f"{endpoint.host} does not know the model '{endpoint.model}' (404)", hint=hint)
    if status == 408:
        return timeout_error(endpoint)
    if status >= 500:
        return BackendDown(f"{endpoint.host} failed ({status})", retryable=status not in _NOT_RETRYABLE)
    detail = endpoint.public(message)
    if _TOO_LONG.search(message):
        section = "anthropic" if endpoint.section == "anthropic" else "openai"  # the local server's protocol, too
        detail = f"lower {section}.context_tokens; it says: {detail}"
    return QueryRefused(f"{endpoint.host} refused the request ({status})", hint=detail, retryable=status == 409)


def retry_after(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """Seconds to wait according to Retry-After (seconds or a date); None if it is missing or invalid.

    >>> retry_after({"retry-after": "1.5"})
    1.5
    >>> retry_after({"retry-after": "soon"}) is None
    True
    """
    text = headers.get("retry-after", "").strip()
    with suppress(ValueError):
        wait = float(text)
        return max(0.0, wait) if isfinite(wait) else None
    with suppress(ValueError):
        when = parsedate_to_datetime(text)
        when = when if when.tzinfo else when.replace(tzinfo=UTC)
        return max(0.0, (when - (now or datetime.now(UTC))).total_seconds())
    return None


def unsupported_option(message: str, options: Collection[str]) -> str | None:
    """The option that a "bad request" complains about, if any: models differ in what they accept.

    >>> unsupported_option("Unsupported: 'max_tokens'. Use 'max_completion_tokens'.", ["max_tokens", "n"])
    'max_tokens'
    >>> unsupported_option("maximum context length is 8192 tokens", ["max_tokens"]) is None
    True
    """
    if not search(_REFUSAL, message):
        return None
    for option in sorted(options, key=lambda name: (-len(name), name)):  # 'top_logprobs' is not 'logprobs'
        before, after = ("['\"`]", "['\"`]") if len(option) == 1 else (r"(?<![\w.])", r"(?!\w)")
        if search(f"{before}{escape(option)}{after}", message):
            return option
    return None


Listener = Callable[[str, Completion], None]

_listener: ContextVar[Listener | None] = ContextVar("groundwire_usage", default=None)


@contextmanager
def track_usage(listener: Listener, *, nested: bool = False) -> Iterator[None]:
    """Call `listener(generator name, completion)` once per request made inside the block.

    A block around this one hears of these requests only if `nested` is set.
    """
    outer = _listener.get()

    def both(name: str, completion: Completion) -> None:
        listener(name, completion)
        if nested and outer is not None:
            outer(name, completion)

    token = _listener.set(both)
    try:
        yield
    finally:
        _listener.reset(token)


def report_usage(name: str, completions: Sequence[Completion]) -> None:
    """Report the completions of one request; the first of them has the token counts."""
    listener = _listener.get()
    if listener is not None and completions:
        listener(name, completions[0])
