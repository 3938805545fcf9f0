"""`groundwire doctor`: what is configured, reachable and installed."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

import httpx
from pydantic import SecretStr
from rich.console import Console
from rich.table import Table
from rich.text import Text

from groundwire._loop import run
from groundwire.cli.streams import delivered
from groundwire.config import Config, OpenAIConfig
from groundwire.engine import Groundwire
from groundwire.errors import GroundwireError
from groundwire.types import Estimate, Query
from groundwire.version import __version__

State = Literal["ok", "off", "bad"]
_MARK = {"ok": ("✓", "green"), "off": ("·", "dim"), "bad": ("✗", "bold red")}
EXTRAS = {"openai": "openai", "anthropic": "anthropic", "llm": "xllamacpp"}


@dataclass(frozen=True, slots=True)
class Finding:
    what: str
    state: State
    words: str


def run_doctor(config: Config, console: Console) -> int:
    """Exit code 3 when the configured backend cannot be used."""
    table = Table(box=None, show_header=False, pad_edge=False)
    findings = list(diagnose(config))
    for finding in findings:
        mark, style = _MARK[finding.state]
        table.add_row(Text(mark, style=style), Text(finding.what), Text(finding.words, overflow="fold"))
    with delivered():
        console.print(table)
    return 3 if any(finding.state == "bad" for finding in findings) else 0


def diagnose(config: Config) -> Iterator[Finding]:
    yield Finding("groundwire", "ok", f"{__version__} on Python {platform.python_version()}")
    yield Finding("profile", "ok", f"{config.profile}, target {config.target}")
    yield _backend(config)
    yield _cache(config)
    for extra, module in EXTRAS.items():
        there = find_spec(module) is not None
        words = "installed" if there else f"pip install 'groundwire[{extra}]'"
        yield Finding(f"[{extra}]", "ok" if there else "off", words)
    yield from _services(config)


def _backend(config: Config) -> Finding:
    """The proof of a backend is one real estimate."""
    name = config.hallucination.backend.type
    try:
        engine = Groundwire(config)
        estimate = run(_ask(engine))
    except GroundwireError as error:
        return Finding(f"backend {name}", "bad", str(error))
    if estimate.error:
        return Finding(f"backend {name}", "bad", estimate.error)
    words = f"{estimate.method}, flags a gap over {engine.profile.threshold_bits:.2f} bits"
    return Finding(f"backend {name}", "ok", words)


async def _ask(engine: Groundwire) -> Estimate:
    query = Query("The sky is blue.", "[S0] The sky is blue.")
    try:
        return (await engine.backend.verifier.estimate([query]))[0]
    finally:
        await engine.aclose()


def _cache(config: Config) -> Finding:
    if not config.store.cache_path:
        return Finding("cache", "off", "no path configured")
    path = Path(config.store.cache_path).expanduser()
    home = next(folder for folder in (path.parent, *path.parents) if folder.exists())
    if not os.access(path if path.exists() else home, os.W_OK):
        return Finding("cache", "off", f"{path} cannot be written; verdicts are not cached")
    size = f", {path.stat().st_size:,} bytes" if path.exists() else ", not begun yet"
    return Finding("cache", "ok", f"{path}{size}")


def _services(config: Config) -> Iterator[Finding]:
    """Servers that other backends would use: asked only where somebody configured them."""
    if config.openai.api_key or config.openai.base_url != OpenAIConfig().base_url:
        yield _reach("openai", f"{config.openai.base_url.rstrip('/')}/models", config.openai.api_key)
    else:
        yield Finding("openai", "off", "no key and no base_url configured (OPENAI_API_KEY, openai.base_url)")
    words = "key configured" if config.anthropic.api_key else "no key configured (ANTHROPIC_API_KEY)"
    yield Finding("anthropic", "ok" if config.anthropic.api_key else "off", words)
    if config.external.url:
        yield _reach("external", f"{config.external.url.rstrip('/')}/healthz", config.external.api_key)


def _reach(what: str, url: str, key: SecretStr | None) -> Finding:
    headers = {"Authorization": f"Bearer {key.get_secret_value()}"} if key else {}
    try:
        answer = httpx.get(url, headers=headers, timeout=3.0)
    except httpx.HTTPError as error:
        return Finding(what, "off", f"{url} cannot be reached: {type(error).__name__}")
    except httpx.InvalidURL as error:
        return Finding(what, "bad", f"{url} is no address: {error}")
    return Finding(what, "ok" if answer.is_success else "off", f"{url} answers {answer.status_code}")
