"""Options that several commands share, and the configuration they result in."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from groundwire.cli.console import warn
from groundwire.config import Config
from groundwire.metrics import setup_logging

SOURCE_HELP = "A file, a folder, '-' for stdin, or the text itself."
ConfigFile = Annotated[Path | None, typer.Option("--config", help="YAML or TOML file.")]
Backend = Annotated[
    str | None, typer.Option(help="local, model, cascade, openai, haiku, self, external or configurable.")
]
ModelName = Annotated[
    str | None, typer.Option("--model", help="The backend's model: a folder or Hugging Face name, or an LLM's name.")
]
ProfileOption = Annotated[str | None, typer.Option("--profile", help="default, rag or strict.")]
Target = Annotated[float | None, typer.Option(help="Confidence that a claim must reach, 0 to 1.")]
Sources = Annotated[list[str] | None, typer.Option("-s", "--source", help=SOURCE_HELP)]
Files = Annotated[list[str] | None, typer.Option("-s", "--files", help=f"{SOURCE_HELP} Repeatable.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
JsonOut = Annotated[Path | None, typer.Option("--json", help="Write the figures to this JSON file.")]
HtmlOut = Annotated[Path | None, typer.Option("--html", help="Write the report as one HTML page.")]
Store = Annotated[str | None, typer.Option("--store", help="A SQLite file or postgresql://… URL.")]
KnowledgeBase = Annotated[str | None, typer.Option("--kb", help="Knowledge base: a SQLite file or postgresql://…")]
History = Annotated[str | None, typer.Option("--history", help="The conversation so far: JSON or a transcript.")]
Provider = Annotated[str | None, typer.Option(help="openai, anthropic, or llm for the local model.")]
Model = Annotated[str | None, typer.Option(help="Name of the provider's model.")]


_TEXT = re.compile(r"-+\s|-\d")


class TextCommand(TyperCommand):
    """A command whose argument may be a text that begins with a dash, such as a list: "- first item"."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Move such texts behind "--", unless an option before them takes them as its value."""
        options = [param for param in self.params if param.param_type_name == "option"]
        takes_value = {name for param in options if not getattr(param, "is_flag", False) for name in param.opts}
        texts = [n for n, arg in enumerate(args) if _TEXT.match(arg) and not (n and args[n - 1] in takes_value)]
        if texts and "--" not in args:
            args = [arg for n, arg in enumerate(args) if n not in texts] + ["--"] + [args[n] for n in texts]
        return super().parse_args(ctx, args)


MODEL_KEYS = {
    "model": "model.path",
    "openai": "openai.model",
    "cascade": "openai.model",
    "haiku": "anthropic.model",
    "self": "generator.model",
}
"""The setting that --model means, by backend."""


def command_app() -> typer.Typer:
    """The application of a module with a single command."""
    return typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)


def group_app(help_text: str, cls: type[Any] | None = None) -> typer.Typer:
    """The application of a module with several subcommands, such as `groundwire kb`."""
    return typer.Typer(
        cls=cls,
        help=help_text,
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
    )


def settings(
    config: Path | None,
    backend: str | None = None,
    target: float | None = None,
    profile: str | None = None,
    store: str | None = None,
    overrides: Mapping[str, object] | None = None,
    model: str | None = None,
) -> Config:
    """Load the configuration and set up logging.

    Options win over the file and the environment; None means "not given". `overrides` maps dotted keys to the
    values of a command's own options. A model without a backend is one for the backend `model`.
    """
    if model is not None:
        backend = backend or Config.load(config).hallucination.backend.type
        backend = "model" if backend not in MODEL_KEYS else backend
        overrides = {MODEL_KEYS[backend]: model, **(overrides or {})}
    found = Config.load(
        config,
        {
            "hallucination.backend.type": backend,
            "target": target,
            "profile": profile,
            "store.url": store,
            **(overrides or {}),
        },
    )
    setup_logging(found)
    return found


def store_settings(config: Path | None, store: str | None, backend: str | None = None) -> Config:
    """The configuration of a command that uses the store, which is named unless the user did."""
    found = settings(config, backend, store=store)
    if store is None:
        url = found.store.url
        # A URL may hold a password.
        warn(f"using the store {url.partition('://')[0] if '://' in url else url}")
    return found
