"""`groundwire mcp --http HOST:PORT`: the service with nothing on it but the tools and its health."""

from __future__ import annotations

import re

import mcp  # noqa: F401 (whoever lacks the SDK hears it before anything listens)
from groundwire.cli.serve import run_serve
from groundwire.config import Config
from groundwire.errors import InputError

_ADDRESS = re.compile(r"(?:(?P<host>\[[0-9a-fA-F:.]+\]|[^:\s]+):|:)?(?P<port>\d{1,5})")
ROUTERS = ("health",)


def run_http(address: str, config: Config) -> int:
    """Loopback unless told otherwise; where others can reach it, callers need keys, as everywhere."""
    host, port = parsed(address)
    server = config.server.model_copy(update={"host": host or config.server.host, "port": port})
    return run_serve(config.model_copy(update={"server": server}), ROUTERS)


def parsed(address: str) -> tuple[str, int]:
    """
    >>> parsed("0.0.0.0:80"), parsed("[::1]:8322"), parsed(":8322"), parsed("8322")
    (('0.0.0.0', 80), ('::1', 8322), ('', 8322), ('', 8322))
    """
    found = _ADDRESS.fullmatch(address.strip())
    if found is None or int(found["port"]) > 65535:
        raise InputError(f"'{address}' is no address", hint="write HOST:PORT, such as 127.0.0.1:8322")
    return (found["host"] or "").strip("[]"), int(found["port"])
