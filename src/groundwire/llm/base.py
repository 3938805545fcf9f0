"""The second, smaller protocol: a model that completes a conversation, with logprobs where it has them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from importlib import import_module
from ipaddress import ip_address
from math import isfinite
from re import IGNORECASE, compile, escape, search
from typing import Literal, Protocol, runtime_checkable
from urllib.parse import urlsplit

from pydantic import SecretStr

from groundwire.errors import (
    BackendDown,
    BackendError,
    BackendTimeout,
    ConfigError,
    QueryRefused,
    RateLimited,
)

Role = Literal["system", "user", "assistant"]
OnText = Callable[[str], Awaitable[None] | None]
"""Hears text as it comes. What it returns, if anything, is awaited before more is read: so it can slow down
the model, and not only fall behind."""


@dataclass(frozen=True, slots=True)
class Message:
    """One turn. The first `shared` characters are the same in many calls: servers can cache that prefix."""

    role: Role
    content: str
    shared: int = 0

    def __post_init__(self) -> None:
        """Half a surrogate pair, as broken input leaves it, cannot be sent to anyone."""
        sendable = self.content.encode("utf-8", "replace").decode("utf-8")
        object.__setattr__(self, "content", sendable)


@dataclass(frozen=True, slots=True)
class TokenLogprob:
    """A token the model might have written, and the natural logarithm of its probability."""

    token: str
    logprob: float


@dataclass(frozen=True, slots=True)
class Completion:
    """What a model wrote.

    `top_logprobs` are the candidates for the *first* generated token (blanks and markup passed over), most
    likely first; None where the server gave none. Token counts are 0 where the server reports none;
    `cached_tokens` is the part of the prompt that it did not have to read again. Several completions of one
    request share a prompt: its counts stand on the first of them.
    """

    text: str
    top_logprobs: tuple[TokenLogprob, ...] | None = None
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    model: str = ""


@runtime_checkable
class Generator(Protocol):
    """A model behind an SDK, a server of ours, or a script in a test.

    Returns exactly `n` completions or raises a `BackendError`. `name` says which model, for reports and
    cache keys. `aclose()` gives back connections, and the server where the generator started one.
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
    ) -> list[Completion]: ...

    async def aclose(self) -> None: ...


@runtime_checkable
class Streaming(Protocol):
    """What a generator can besides: say its text as it comes. The whole completion is returned at the end."""

    async def stream(
        self,
        messages: Sequence[Message],
        on_text: OnText,
        *,
        max_tokens: int = 256,
        temperature: float = 0.0,
    ) -> Completion: ...


async def completed(
    generator: Generator,
    messages: Sequence[Message],
    on_text: OnText | None = None,
    *,
    max_tokens: int = 256,
    temperature: float = 0.0,
) -> Completion:
    """One completion, streamed where someone listens and the generator can; else its text comes at once."""
    if on_text is not None and isinstance(generator, Streaming):
        return await generator.stream(messages, on_text, max_tokens=max_tokens, temperature=temperature)
    (done,) = await generator.complete(messages, max_tokens=max_tokens, temperature=temperature)
    if on_text is not None:
        await tell(on_text, done.text)
    return done


async def tell(on_text: OnText, text: str) -> None:
    """Say a piece of text, and wait where the listener asks to."""
    wait = on_text(text)
    if wait is not None:
        await wait


# Where a hosted model is reached, what its SDK's failures mean, and how to say so without secrets.

_OFFICIAL = frozenset({"api.openai.com", "api.anthropic.com"})
_REFUSAL = compile(
    r"support|allow|permit|unknown|unrecogni[sz]ed|deprecated|invalid|unexpected|must be", IGNORECASE
)
_STATUS_PREFIX = compile(r"^Error code: \d+ - ")
_TOO_LONG = compile(
    r"context (?:size|length|window)|maximum context|too (?:long|many tokens)|exceeds?\b.{0,40}\btokens",
    IGNORECASE,
)
_NOT_RETRYABLE = frozenset({501, 505})


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One model at one address. `section` is the part of the configuration that speaks of it."""

    section: str
    base_url: str
    model: str
    api_key: SecretStr | None = None
    timeout: float = 30.0

    def __post_init__(self) -> None:
        if not _is_address(self.base_url):
            raise ConfigError(f"{self.section}.base_url is no address", hint="write it as https://host/v1")

    @property
    def host(self) -> str:
        """Host and port only: an address may carry a password."""
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
        """Which model this is. Servers of one's own may call any model anything, so theirs is named too."""
        vendor = urlsplit(self.base_url).hostname in _OFFICIAL
        return f"{self.section}/{self.model}" + ("" if vendor else f"@{self.host}")

    @property
    def _secret(self) -> str:
        return self.api_key.get_secret_value().strip() if self.api_key else ""

    def key(self) -> str:
        """The key to send. Servers of one's own often need none, the vendors always do."""
        key = self._secret
        if not (key.isascii() and key.isprintable()):
            raise ConfigError(f"the API key for {self.host} has characters no key has", hint=self.key_hint)
        if key:
            return key
        if urlsplit(self.base_url).hostname in _OFFICIAL:
            raise ConfigError(f"no API key for {self.host}", hint=self.key_hint)
        return "none"

    @property
    def budget_key(self) -> str:
        """What bounds the contexts sent here; the local server goes by the protocol it speaks."""
        return f"{'anthropic' if self.section == 'anthropic' else 'openai'}.context_tokens"

    @property
    def key_hint(self) -> str:
        return f"set {self.section.upper()}_API_KEY, or {self.section}.api_key in the configuration"

    def public(self, text: str) -> str:
        """A server's words, short and without our key."""
        if self._secret:
            text = text.replace(self._secret, "***")
        return " ".join(_STATUS_PREFIX.sub("", text).split())[:200]


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def transport_error(client: type) -> type[Exception]:
    """The base of what an SDK's HTTP library raises: streams that break off come through as they are, and
    SDKs differ in the library that their `client` is one of.
    """
    library = next(base.__module__ for base in client.__mro__ if base.__name__ == "AsyncClient")
    error: type[Exception] = import_module(library.partition(".")[0]).HTTPError
    return error


def timed_out(endpoint: Endpoint) -> BackendTimeout:
    hint = f"it has {endpoint.timeout:g} s (hallucination.timeout)"
    return BackendTimeout(f"{endpoint.host} did not answer in time", hint=hint)


def unreachable(endpoint: Endpoint) -> BackendDown:
    hint = f"is it running, and is {endpoint.section}.base_url right?"
    return BackendDown(f"cannot reach {endpoint.host}, or it broke off", hint=hint, retryable=True)


def nonsense(endpoint: Endpoint, what: str) -> BackendDown:
    return BackendDown(f"{endpoint.host} answered {what}", retryable=True)


def refused(endpoint: Endpoint, status: int, headers: Mapping[str, str], message: str) -> BackendError:
    """An HTTP status other than success, in our tree of errors."""
    wait = retry_after(headers)
    if status in (429, 529) or (status == 503 and wait is not None):
        return RateLimited(f"{endpoint.host} asks to come back later", retry_after=wait)
    if status in (401, 403):
        return BackendError(f"{endpoint.host} refused the API key ({status})", hint=endpoint.key_hint)
    if status == 404:
        hint = f"check {endpoint.section}.model and {endpoint.section}.base_url"
        return BackendError(f"{endpoint.host} does not know the model '{endpoint.model}' (404)", hint=hint)
    if status == 408:
        return timed_out(endpoint)
    if status >= 500:
        return BackendDown(f"{endpoint.host} failed ({status})", retryable=status not in _NOT_RETRYABLE)
    detail = endpoint.public(message)
    if _TOO_LONG.search(message):
        detail = f"lower {endpoint.budget_key}; it says: {detail}"
    return QueryRefused(
        f"{endpoint.host} refused the request ({status})", hint=detail, retryable=status == 409
    )


def retry_after(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """Seconds to wait, from Retry-After in seconds or as a date; None where there is no usable one.

    >>> retry_after({"retry-after": "1.5"})
    1.5
    >>> retry_after({"retry-after": "soon"}) is None
    True
    """
    text = headers.get("retry-after", "").strip()
    try:
        wait = float(text)
    except ValueError:
        return _until(text, now or datetime.now(UTC))
    return max(0.0, wait) if isfinite(wait) else None


def _until(text: str, now: datetime) -> float | None:
    try:
        when = parsedate_to_datetime(text)
    except ValueError:
        return None
    return max(0.0, ((when if when.tzinfo else when.replace(tzinfo=UTC)) - now).total_seconds())


def refused_option(message: str, options: Collection[str]) -> str | None:
    """Which of the options we sent a "bad request" is about: models differ in what they accept.

    >>> refused_option("Unsupported: 'max_tokens'. Use 'max_completion_tokens'.", ["max_tokens", "n"])
    'max_tokens'
    >>> refused_option("maximum context length is 8192 tokens", ["max_tokens"]) is None
    True
    """
    if not search(_REFUSAL, message):
        return None
    # The longest name first: 'top_logprobs' must not be read as 'logprobs'.
    named = sorted((name for name in options if _names(message, name)), key=lambda name: (-len(name), name))
    return named[0] if named else None


def _names(message: str, option: str) -> bool:
    quoted = rf"""['"`]{escape(option)}['"`]"""
    plain = rf"(?<![\w.]){escape(option)}(?!\w)"
    return bool(search(quoted if len(option) == 1 else plain, message))


# Many completions of one prompt, where the server makes only one at a time.

_AT_ONCE = 4


async def repeat(once: Callable[[], Awaitable[Completion]], times: int) -> list[Completion]:
    """The first alone, so that the others find its prompt in the server's cache. Any failure is raised."""
    first = await once()
    gate = asyncio.Semaphore(_AT_ONCE)

    async def bounded() -> Completion:
        async with gate:
            return await once()

    # All are awaited before a failure is raised: none goes on behind the caller's back.
    rest = await asyncio.gather(*(bounded() for _ in range(times - 1)), return_exceptions=True)
    return [first, *(_result(one) for one in rest)]


def _result(outcome: Completion | BaseException) -> Completion:
    if isinstance(outcome, BaseException):
        raise outcome
    return outcome
