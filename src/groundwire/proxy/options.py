"""Headers of the proxy: the options a caller may set, and which headers are forwarded in each direction."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from groundwire.errors import InputError

Mode = Literal["observe", "annotate", "block", "fix", "off"]
MODES: tuple[Mode, ...] = get_args(Mode)
PREFIX = b"x-groundwire"
MODE_HEADER = PREFIX
EVENT_HEADER = b"x-groundwire-event"
UPSTREAM_HEADER = b"x-groundwire-upstream"

HeaderPairs = Sequence[tuple[bytes, bytes]]

_MAX_HEADER_CHARS = 300  # of our own headers: reasons may be long, and servers limit the whole head to 8-16 kB
_HOP_BY_HOP = frozenset((
    b"connection", b"keep-alive", b"proxy-authenticate", b"proxy-authorization", b"proxy-connection", b"te",
    b"trailer", b"trailers", b"transfer-encoding", b"upgrade",
))  # fmt: skip
_CREDENTIALS = frozenset((b"authorization", b"api-key", b"x-api-key"))
# The connection writes its own host and length; cookies belong to this server's site, not to the upstream.
_NOT_FORWARDED = _HOP_BY_HOP | {b"host", b"content-length", b"expect", b"cookie", b"accept-encoding"}
# What a browser obeys is this server's to say: an upstream must not loosen the policies of its pages.
_BROWSER_POLICIES = frozenset((
    b"content-security-policy", b"content-security-policy-report-only", b"x-content-type-options",
    b"x-frame-options", b"x-xss-protection", b"x-permitted-cross-domain-policies", b"referrer-policy",
    b"permissions-policy", b"cross-origin-opener-policy", b"cross-origin-opener-policy-report-only",
    b"cross-origin-embedder-policy", b"cross-origin-embedder-policy-report-only",
    b"cross-origin-resource-policy", b"origin-agent-cluster", b"timing-allow-origin",
    b"service-worker-allowed", b"clear-site-data", b"refresh", b"link", b"sourcemap", b"x-sourcemap",
    b"report-to", b"reporting-endpoints", b"nel", b"x-dns-prefetch-control", b"strict-transport-security",
    b"set-cookie", b"set-cookie2", b"alt-svc",
))  # fmt: skip
_NOT_RETURNED = _HOP_BY_HOP | _BROWSER_POLICIES | {b"date", b"server"}
_OWN_KEY_PREFIX = b"gw_"


@dataclass(frozen=True, slots=True)
class ProxyOptions:
    """Per-request options from headers; `event` asks for the report event at the end of a stream."""

    mode: Mode
    event: bool = True
    upstream: str = ""


def parse_options(headers: HeaderPairs, default: Mode) -> ProxyOptions:
    """Read the options strictly: a misspelt mode must not silently become the default one."""
    values = {name: value.decode("latin-1").strip() for name, value in headers}
    mode = values.get(MODE_HEADER, default).lower()
    event = values.get(EVENT_HEADER, "on").lower()
    if mode not in MODES:
        raise InputError(f"invalid x-groundwire header {mode[:40]!r}", hint=f"use one of {', '.join(MODES)}")
    if event not in ("on", "off"):
        raise InputError(f"invalid x-groundwire-event header {event[:40]!r}", hint="use on or off")
    return ProxyOptions(MODES[MODES.index(mode)], event == "on", values.get(UPSTREAM_HEADER, ""))


def upstream_headers(
    headers: HeaderPairs, key: str, *, plain: bool, own_header: bool = False
) -> list[tuple[bytes, bytes]]:
    """Return the caller's headers as the upstream receives them.

    A configured `key` replaces all credentials of the caller. Without one the caller's own are forwarded,
    unless they are a key of this server. `plain` asks the upstream not to compress the body; `own_header`
    sends the key as `x-api-key`.
    """
    dropped = _NOT_FORWARDED | _connection_headers(headers) | (_CREDENTIALS if key else frozenset())
    result = [
        (name, value)
        for name, value in headers
        if name not in dropped and not name.startswith(PREFIX) and not _is_own_key(name, value)
    ]
    encoding = b"identity" if plain else next((v for n, v in headers if n == b"accept-encoding"), b"identity")
    result.append((b"accept-encoding", encoding))
    if key:
        credential = (b"x-api-key", key) if own_header else (b"authorization", f"Bearer {key}")
        result.append((credential[0], credential[1].encode()))
    return result


def _is_own_key(name: bytes, value: bytes) -> bool:
    return name in _CREDENTIALS and value.split(b" ")[-1].startswith(_OWN_KEY_PREFIX)


def client_headers(headers: HeaderPairs, *, changed: bool = False, decoded: bool = False) -> list[tuple[bytes, bytes]]:
    """Return the upstream's headers as the caller receives them.

    Headers that describe the exact bytes are dropped if the body was `changed` or `decoded`.
    """
    lower = [(name.lower(), value) for name, value in headers]
    dropped = _NOT_RETURNED | _connection_headers(lower)
    if changed or decoded:
        dropped |= {b"content-length", b"content-md5", b"digest", b"etag"}
    if decoded:
        dropped |= {b"content-encoding"}
    return [
        (name, value)
        for name, value in lower
        if name not in dropped and not name.startswith((PREFIX, b"access-control-"))
    ]


def _connection_headers(headers: Iterable[tuple[bytes, bytes]]) -> frozenset[bytes]:
    """Return the header names that `Connection` declares hop-by-hop."""
    listed = b",".join(value for name, value in headers if name.lower() == b"connection")
    return frozenset(part.strip().lower() for part in listed.split(b",") if part.strip())


def groundwire_headers(values: Mapping[str, object]) -> Iterator[tuple[bytes, bytes]]:
    """Yield `x-groundwire-…` headers, each as one ASCII line."""
    for name, value in values.items():
        line = " ".join(str(value).split()).encode("ascii", "replace").decode()
        yield PREFIX + b"-" + name.encode(), line[:_MAX_HEADER_CHARS].encode()
