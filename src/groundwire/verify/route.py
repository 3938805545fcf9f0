"""Which backend serves which operation."""

from __future__ import annotations

from groundwire.config import BackendConfig, BackendName, Operation
from groundwire.errors import ConfigError


def choose(backend: BackendConfig, operation: Operation) -> BackendName:
    """The backend for an operation: the configured type, or where that is `configurable` its table.

    >>> table = BackendConfig(type="configurable", default="local", operations={"trace": "haiku"})
    >>> choose(table, "trace"), choose(table, "output")
    ('haiku', 'local')
    """
    if backend.type != "configurable":
        return backend.type
    chosen = backend.operations.get(operation, backend.default)
    if chosen == "configurable":
        raise ConfigError(
            f"the backend for '{operation}' is 'configurable' itself",
            hint="name one of local, self, haiku, openai, external in hallucination.backend",
        )
    return chosen
