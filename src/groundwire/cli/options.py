"""How a command is declared, and the options that several commands share.

A command is a function. Its positional parameters are arguments and options, as Typer reads them; keyword-only
parameters are not: `config` and `console` are supplied, any other is for tests. What it returns is the exit code.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypeVar

import typer
from typer.core import TyperCommand

from groundwire.cli.console import ExitCode, open_console, warn
from groundwire.config import Config
from groundwire.metrics import setup_logging

SOURCE_HELP = "A file, a folder, '-' for stdin, or the text itself."
ConfigFile = Annotated[Path | None, typer.Option("--config", help="YAML or TOML file.")]
Backend = Annotated[
    str | None, typer.Option(help="local, model, cascade, openai, haiku, self, external or configurable.")
]
Sources = Annotated[list[str] | None, typer.Option("-s", "--source", help=SOURCE_HELP)]
Files = Annotated[list[str] | None, typer.Option("-s", "--files", help=f"{SOURCE_HELP} Repeatable.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
JsonOut = Annotated[Path | None, typer.Option("--json", help="Write the figures to this JSON file.")]
HtmlOut = Annotated[Path | None, typer.Option("--html", help="Write the report as one HTML page.")]
KnowledgeBase = Annotated[str | None, typer.Option("--kb", help="Knowledge base: a SQLite file or postgresql://…")]
History = Annotated[str | None, typer.Option("--history", help="The conversation so far: JSON or a transcript.")]
Provider = Annotated[str | None, typer.Option(help="openai, anthropic, or llm for the local model.")]
Model = Annotated[str | None, typer.Option(help="Name of the provider's model.")]
Function = TypeVar("Function", bound=Callable[..., int | None])
_TEXT = re.compile(r"-+\s|-\d")


class Setting(NamedTuple):
    """An option that sets keys of the configuration, separated by spaces."""

    keys: str
    option: Any


def setting(keys: str, *names: str, help: str, kind: Any = str, **limits: Any) -> Setting:
    return Setting(keys, Annotated[kind | None, typer.Option(*names, help=help, **limits)])


MODEL = "model"
SETTINGS = {
    "backend": Setting("hallucination.backend.type", Backend),
    MODEL: setting("", help="The backend's model: a folder or Hugging Face name, or an LLM's name."),
    "labels": setting("model.labels", help="The classes of such a model in order, if its config.json does not say."),
    "target": setting("target", kind=float, help="Confidence that a claim must reach, 0 to 1."),
    "profile": setting("profile", help="default, rag or strict."),
    "store": setting("store.url", help="A SQLite file or postgresql://… URL."),
}
"""The settings that commands share, by the name of their option."""
MODEL_KEYS = {
    "model": "model.path",
    "openai": "openai.model",
    "cascade": "openai.model",
    "haiku": "anthropic.model",
    "self": "generator.model",
}
"""The setting that --model means, by backend."""


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


def new_app(help_text: str | None = None, cls: type[Any] | None = None) -> typer.Typer:
    """A Typer application; one with a help text is a group of subcommands, such as `groundwire kb`."""
    return typer.Typer(
        cls=cls,
        help=help_text,
        no_args_is_help=help_text is not None,
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
    )


APPS: dict[str, typer.Typer] = {}
"""The commands of the modules that were imported, by name."""


def group(name: str, help_text: str, cls: type[Any] | None = None) -> typer.Typer:
    """A command with subcommands, each declared by `@command(parent=…)`."""
    APPS[name] = new_app(help_text, cls)
    return APPS[name]


def command(
    *shared: str, parent: typer.Typer | None = None, cls: type[TyperCommand] | None = None, **own: Setting
) -> Callable[[Function], Function]:
    """Declare a command, named as its function.

    Args:
        shared: names of the `SETTINGS` that the command takes; one with a `config` always takes --config.
        parent: the group of a subcommand.
        own: further settings, by the name of their option.
    """
    options = {name: SETTINGS[name] for name in shared} | own

    def declare(function: Function) -> Function:
        name = function.__name__.rstrip("_").replace("_", "-")
        app = parent
        if app is None:
            app = APPS[name] = new_app()
        parameters = inspect.signature(function, eval_str=True).parameters.values()
        given = [p for p in parameters if p.kind is not p.KEYWORD_ONLY]
        supplied = {p.name for p in parameters if p.kind is p.KEYWORD_ONLY}

        def run(**values: Any) -> None:
            if "config" in supplied:
                chosen = {key: values.pop(key) for key in options}
                overrides = {key: chosen[name] for name in options for key in options[name].keys.split()}
                config = settings(values["config"], overrides=overrides, model=chosen.get(MODEL))
                values["config"] = config
                if parent is not None and chosen.get("store", "") is None:
                    # Subcommands work on the store, which is named unless the user did. A URL may hold a password.
                    url = config.store.url
                    warn(f"using the store {url.partition('://')[0] if '://' in url else url}")
            if "console" in supplied:
                values["console"] = open_console()
            raise typer.Exit(function(**values) or ExitCode.OK)

        added = {key: option.option for key, option in options.items()}
        added |= {"config": ConfigFile} if "config" in supplied else {}
        given += [
            inspect.Parameter(k, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=a) for k, a in added.items()
        ]
        run.__signature__ = inspect.Signature(given)  # type: ignore[attr-defined]
        run.__doc__ = function.__doc__
        app.command(name, cls=cls)(run)
        return function

    return declare


def settings(
    config: Path | None,
    backend: str | None = None,
    overrides: Mapping[str, object] | None = None,
    model: str | None = None,
) -> Config:
    """Load the configuration and set up logging.

    `overrides` maps dotted keys to the values of options, which win over the file and the environment; None means
    "not given". A model without a backend is one for the backend `model`.
    """
    changes = {"hallucination.backend.type": backend, **(overrides or {})}
    if model is not None:
        name = str(changes["hallucination.backend.type"] or Config.load(config).hallucination.backend.type)
        name = name if name in MODEL_KEYS else "model"
        changes |= {"hallucination.backend.type": name, MODEL_KEYS[name]: model}
    found = Config.load(config, changes)
    setup_logging(found)
    return found
