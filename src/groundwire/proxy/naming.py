"""Upstreams by name: as they are written on the command line, and as a model's name picks one."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from groundwire.config.service import UPSTREAM_NAME, base_url
from groundwire.errors import InputError

ONLY = "default"
"""The name of an upstream that was given none."""
_NAMED = re.compile(rf"(?P<name>{UPSTREAM_NAME})=(?P<url>https?://.*)", re.S)


def parse_upstreams(given: Sequence[str]) -> dict[str, str]:
    """`URL` or `name=URL`, each name once.

    >>> parse_upstreams(["http://127.0.0.1:8080/v1", "cloud=https://api.openai.com/v1/"])
    {'default': 'http://127.0.0.1:8080/v1', 'cloud': 'https://api.openai.com/v1'}
    """
    found: dict[str, str] = {}
    for text in given:
        named = _NAMED.fullmatch(text)
        name, url = (named["name"], named["url"]) if named else (ONLY, text)
        if name in found:
            raise InputError(f"two upstreams are called {name!r}", hint="write name=URL")
        found[name] = checked(name, url)
    return found


def checked(name: str, url: str) -> str:
    """The base URL without its last slash; what is no such URL is refused at the start, not per request."""
    try:
        return base_url(url)
    except ValueError as error:
        raise InputError(f"the upstream {name!r}: {error}", hint="its key goes into proxy.keys") from None


def pick(model: str, names: Mapping[str, object]) -> tuple[str, str]:
    """Which upstream serves a model, and what the model is called there.

    >>> pick("cloud/gpt-5", {"local": 1, "cloud": 2}), pick("meta/llama", {"local": 1, "cloud": 2})
    (('cloud', 'gpt-5'), ('local', 'meta/llama'))
    """
    name, slash, rest = model.partition("/")
    if slash and rest and name in names:
        return name, rest
    return next(iter(names)), model
