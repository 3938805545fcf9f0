"""Which backend serves which operation."""

from __future__ import annotations

from typing import get_args

from groundwire.config import BackendConfig, BackendName, Operation
from groundwire.errors import ConfigError


def choose(backend: BackendConfig, operation: Operation, name: BackendName | None = None) -> BackendName:
    """The backend called `name`, or else of the configured type; for `configurable` the table decides.

    >>> table = BackendConfig(type="configurable", default="local", operations={"trace": "haiku"})
    >>> choose(table, "trace"), choose(table, "output"), choose(table, "trace", "openai")
    ('haiku', 'local', 'openai')
    """
    wanted = name or backend.type
    if wanted not in get_args(BackendName):
        raise ConfigError(
            f"there is no backend '{wanted}'", hint=f"use one of {', '.join(get_args(BackendName))}"
        )
    if wanted != "configurable":
        return wanted
    chosen = backend.operations.get(operation, backend.default)
    if chosen == "configurable":
        raise ConfigError(
            f"the backend for '{operation}' is 'configurable' itself",
            hint="name one of local, self, haiku, openai, external in hallucination.backend",
        )
    return chosen
