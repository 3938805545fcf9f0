"""`groundwire doctor`: show what is configured, reachable and installed."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

import httpx
from pydantic import SecretStr
from rich.console import Console
from rich.table import Table
from rich.text import Text

from groundwire._loop import run
from groundwire.cli.console import ExitCode, safe_stdout
from groundwire.cli.options import command
from groundwire.config import BackendName, Config, OpenAIConfig
from groundwire.engine import Groundwire
from groundwire.errors import GroundwireError, MissingExtra
from groundwire.llm import LOCAL, Generator, Message, Provider, open_generator
from groundwire.types import Estimate, Query
from groundwire.verdicts.calibration import open_monitor
from groundwire.version import __version__

State = Literal["ok", "off", "warn", "bad"]
_MARK = {"ok": ("✓", "green"), "off": ("·", "dim"), "warn": ("!", "bold yellow"), "bad": ("✗", "bold red")}
_TIMEOUT_SECONDS = 3.0
"""A server that takes longer is as good as unreachable for an interactive command."""
EXTRAS = {
    "openai": "openai", "anthropic": "anthropic", "llm": "xllamacpp", "server": "fastapi", "rag": "wordllama",
    "pinecone": "pinecone", "mcp": "mcp", "langchain": "langchain_core", "llamaindex": "llama_index.core",
    "pandas": "pandas", "deepeval": "deepeval", "ragas": "ragas", "inspect": "inspect_ai", "mlflow": "mlflow",
    "pydantic-evals": "pydantic_evals", "haystack": "haystack", "phoenix": "phoenix.evals",
    "openai-agents": "agents", "litellm": "litellm", "metta": "hyperon", "repl": "pydantic_monty",
    "ray": "ray", "postgres": "psycopg", "redis": "redis",
}  # fmt: skip
"""The extras a user can install, each with the module that proves it."""


@dataclass(frozen=True, slots=True)
class DoctorFinding:
    subject: str
    state: State
    detail: str


@command("backend")
def doctor(*, config: Config, console: Console) -> ExitCode:
    """Show what is configured and installed, and try it. Exit code 3 if something of it does not work."""
    table = Table(box=None, show_header=False, pad_edge=False)
    findings = list(diagnose(config))
    for finding in findings:
        mark, style = _MARK[finding.state]
        table.add_row(Text(mark, style=style), Text(finding.subject), Text(finding.detail, overflow="fold"))
    with safe_stdout():
        console.print(table)
    bad = any(finding.state == "bad" for finding in findings)
    return ExitCode.COULD_NOT_CHECK if bad else ExitCode.OK


def diagnose(config: Config) -> Iterator[DoctorFinding]:
    yield DoctorFinding("groundwire", "ok", f"{__version__} on Python {platform.python_version()}")
    yield DoctorFinding("profile", "ok", f"{config.profile}, target {config.target}")
    for backend in dict.fromkeys((config.hallucination.backend.type, "local")):
        yield _backend(config, backend)
    yield _cache(config)
    yield _store(config)
    yield _index(config)
    yield _drift(config)
    for extra, module in EXTRAS.items():
        installed = _is_installed(module)
        detail = "installed" if installed else f"pip install 'groundwire[{extra}]'"
        if installed and extra == LOCAL:
            yield _answers(f"[{extra}]", LOCAL, config)
        else:
            yield DoctorFinding(f"[{extra}]", "ok" if installed else "off", detail)
    yield from _services(config)


def _backend(config: Config, name: BackendName) -> DoctorFinding:
    """Make one real estimate, not a cached one: nothing else proves that a backend works."""
    uncached = config.store.model_dump(exclude_unset=True) | {"cache_path": ""}
    try:
        engine = Groundwire(config.changed(store=uncached, redis={}), backend=name)
        estimate = run(_estimate(engine))
    except GroundwireError as error:
        return DoctorFinding(f"backend {name}", "bad", str(error))
    if estimate.error:
        return DoctorFinding(f"backend {name}", "bad", estimate.error)
    detail = f"{estimate.method}, flags a gap over {engine.profile.threshold_bits:.2f} bits"
    rates = error_rates() if name == "local" else ""
    return DoctorFinding(f"backend {name}", "ok", f"{detail}; {rates}" if rates else detail)


def error_rates() -> str:
    """Both error rates of the embedded model on held-out answers, from `models/card.json`."""
    card = json.loads(files("groundwire").joinpath("models", "card.json").read_text(encoding="utf-8"))
    measured = card["answers"]
    return f"flags {measured['clean_flagged']:.0%} of clean answers, {measured['wrong_flagged']:.0%} of wrong ones"


async def _estimate(engine: Groundwire) -> Estimate:
    query = Query("The sky is blue.", "[S0] The sky is blue.")
    try:
        return (await engine.backend.verifier.estimate([query]))[0]
    finally:
        await engine.aclose()


def _is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # of the package that should hold the module
        return False


def _store(config: Config) -> DoctorFinding:
    """Open the store for reading: a file that is not there yet is made when the first fact is stored."""
    from groundwire.stores.database import open_database  # other commands need no database driver

    place = config.store.url
    is_file = "://" not in place
    if is_file and not Path(place).expanduser().exists():
        return DoctorFinding("store", "off", f"{place} does not exist yet; the first fact creates it")
    try:
        open_database(place, create=False).close()
    except GroundwireError as error:
        return DoctorFinding("store", "bad", str(error))
    return DoctorFinding("store", "ok", place if is_file else place.partition("://")[0])


def _drift(config: Config) -> DoctorFinding:
    """Whether the answers of the service, as far as it has written its state, fit the calibration."""
    if not config.calibration.edges:
        return DoctorFinding("drift", "off", "not watched; groundwire calibrate -o writes what is compared")
    monitor = open_monitor(config)
    if monitor is None:
        return DoctorFinding("drift", "warn", "risk_threshold is not the calibrated one")
    if monitor.problem:
        return DoctorFinding("drift", "warn", monitor.problem)
    status = monitor.status
    return DoctorFinding("drift", "warn" if status.alarms else "ok", str(status))


def _index(config: Config) -> DoctorFinding:
    """Open the RAG index and search in it."""
    from groundwire.rag.index import open_index  # other commands need no index

    at = config.rag
    is_file = at.index == "sqlite"
    if is_file and not Path(at.path).expanduser().exists():
        return DoctorFinding("index", "off", f"{at.path} does not exist yet; groundwire rag ingest creates it")
    try:
        index = open_index(config, create=False)
        try:
            documents = index.documents()
            index.search(documents[0].title if documents else "anything", 1)
        finally:
            index.close()
    except GroundwireError as error:
        return DoctorFinding("index", "bad", str(error))
    place = at.path if is_file else at.pinecone_index
    return DoctorFinding("index", "ok", f"{place}, documents: {len(documents)}")


def _cache(config: Config) -> DoctorFinding:
    if not config.store.cache_path:
        return DoctorFinding("cache", "off", "no path configured")
    path = Path(config.store.cache_path).expanduser()
    folder = next(parent for parent in (path.parent, *path.parents) if parent.exists())
    if not os.access(path if path.exists() else folder, os.W_OK):
        return DoctorFinding("cache", "off", f"{path} is not writable; verdicts are not cached")
    size = f", {path.stat().st_size:,} bytes" if path.exists() else ", empty"
    return DoctorFinding("cache", "ok", f"{path}{size}")


def _services(config: Config) -> Iterator[DoctorFinding]:
    """Servers of other backends, contacted only if they are configured."""
    if config.openai.api_key or config.openai.base_url != OpenAIConfig().base_url:
        yield _answers("openai", "openai", config)
    else:
        yield DoctorFinding("openai", "off", "no key and no base_url configured (OPENAI_API_KEY, openai.base_url)")
    if config.anthropic.api_key:
        yield _answers("anthropic", "anthropic", config)
    else:
        yield DoctorFinding("anthropic", "off", "no key configured (ANTHROPIC_API_KEY)")
    if config.external.url:
        yield _reach("external", f"{config.external.url.rstrip('/')}/healthz", config.external.api_key)


def _answers(subject: str, provider: Provider, config: Config) -> DoctorFinding:
    """Ask a language model for one token: an address that can be reached does not prove that it answers."""

    async def ask(generator: Generator) -> None:
        try:
            await generator.complete([Message("user", "Say yes.")], max_tokens=1)
        finally:
            await generator.aclose()

    try:
        generator = open_generator(config, provider)
        run(ask(generator))
    except MissingExtra as error:
        return DoctorFinding(subject, "off", str(error))
    except GroundwireError as error:
        return DoctorFinding(subject, "bad", f"does not answer: {error}")
    return DoctorFinding(subject, "ok", f"{generator.name} answers")


def _reach(subject: str, url: str, key: SecretStr | None) -> DoctorFinding:
    headers = {"Authorization": f"Bearer {key.get_secret_value()}"} if key else {}
    try:
        place = _without_secrets(url)
        answer = httpx.get(url, headers=headers, timeout=_TIMEOUT_SECONDS)
    except httpx.HTTPError as error:
        return DoctorFinding(subject, "off", f"{place} cannot be reached: {type(error).__name__}")
    except httpx.InvalidURL:  # which part is the password cannot be told
        return DoctorFinding(subject, "bad", "the configured address is not a valid URL")
    return DoctorFinding(subject, "ok" if answer.is_success else "off", f"{place} answers {answer.status_code}")


def _without_secrets(url: str) -> str:
    """An address without its user, password and query.

    >>> _without_secrets("https://ann:secret@host:8321/v1?token=secret")
    'https://host:8321/v1'
    """
    return str(httpx.URL(url).copy_with(userinfo=b"", query=None))
