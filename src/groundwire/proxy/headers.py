"""Which headers cross the proxy, whose credentials the upstream sees, and what a caller may wish for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from groundwire.errors import InputError

Mode = Literal["observe", "annotate", "block", "fix", "off"]
MODES: tuple[Mode, ...] = get_args(Mode)
MODE_HEADER = b"x-groundwire"
EVENT_HEADER = b"x-groundwire-event"
UPSTREAM_HEADER = b"x-groundwire-upstream"
PREFIX = b"x-groundwire"

Pairs = Sequence[tuple[bytes, bytes]]

_HOP = frozenset((
    b"connection", b"keep-alive", b"proxy-authenticate", b"proxy-authorization", b"proxy-connection", b"te",
    b"trailer", b"trailers", b"transfer-encoding", b"upgrade",
))  # fmt: skip
_CREDENTIALS = frozenset((b"authorization", b"api-key", b"x-api-key"))
# The host and the length are written anew; cookies belong to this server's own site.
_NOT_UP = _HOP | {b"host", b"content-length", b"expect", b"cookie", b"accept-encoding"}
# The server says who it is, what time it is and who may read it; an upstream must not set cookies here.
_NOT_DOWN = _HOP | {
    b"date",
    b"server",
    b"set-cookie",
    b"alt-svc",
    b"strict-transport-security",
}
_OURS = b"gw_"


@dataclass(frozen=True, slots=True)
class Wish:
    """What a caller asks for, by header: the mode, whether the stream shall tell the report, the upstream."""

    mode: Mode
    event: bool = True
    upstream: str = ""


def wish(headers: Pairs, default: Mode) -> Wish:
    """Read strictly: a policy that was misspelt must not silently be another one."""
    named = {name: value.decode("latin-1").strip() for name, value in headers}
    asked = named.get(MODE_HEADER, default).lower()
    event = named.get(EVENT_HEADER, "on").lower()
    if asked not in MODES:
        raise InputError(f"x-groundwire cannot be {asked[:40]!r}", hint=f"it is one of {', '.join(MODES)}")
    if event not in ("on", "off"):
        raise InputError(f"x-groundwire-event cannot be {event[:40]!r}", hint="it is on or off")
    return Wish(MODES[MODES.index(asked)], event == "on", named.get(UPSTREAM_HEADER, ""))


def to_upstream(headers: Pairs, key: str, *, plain: bool) -> list[tuple[bytes, bytes]]:
    """The caller's headers as the upstream gets them.

    A configured `key` takes the place of all the caller's credentials. Without one the caller's own go on,
    except where they are a key of this server. `plain` asks for a body that is not compressed.
    """
    dropped = _NOT_UP | _listed(headers) | (_CREDENTIALS if key else frozenset())
    kept = [
        (name, value)
        for name, value in headers
        if name not in dropped and not name.startswith(PREFIX) and not _is_ours(name, value)
    ]
    wanted = b"identity" if plain else next((v for n, v in headers if n == b"accept-encoding"), b"identity")
    kept.append((b"accept-encoding", wanted))
    if key:
        kept.append((b"authorization", f"Bearer {key}".encode()))
    return kept


def _is_ours(name: bytes, value: bytes) -> bool:
    """A key of this server is nobody else's business, wherever it was sent."""
    return name in _CREDENTIALS and value.split(b" ")[-1].startswith(_OURS)


def to_client(headers: Pairs, *, changed: bool = False, decoded: bool = False) -> list[tuple[bytes, bytes]]:
    """The upstream's headers as the caller gets them; of a `changed` or `decoded` body those that fit it."""
    lower = [(name.lower(), value) for name, value in headers]
    dropped = _NOT_DOWN | _listed(lower)
    if changed or decoded:
        dropped |= {b"content-length", b"content-md5", b"digest", b"etag"}
    if decoded:
        dropped |= {b"content-encoding"}
    return [
        (name, value)
        for name, value in lower
        if name not in dropped and not name.startswith((PREFIX, b"access-control-"))
    ]


def _listed(headers: Iterable[tuple[bytes, bytes]]) -> frozenset[bytes]:
    """What the other side names as meant for the next hop only."""
    named = b",".join(value for name, value in headers if name.lower() == b"connection")
    return frozenset(part.strip().lower() for part in named.split(b",") if part.strip())


def own(figures: Mapping[str, object]) -> Iterator[tuple[bytes, bytes]]:
    """`x-groundwire-…` headers, in ASCII and on one line each."""
    for name, value in figures.items():
        words = " ".join(str(value).split()).encode("ascii", "replace").decode()
        yield PREFIX + b"-" + name.encode(), words[:300].encode()
