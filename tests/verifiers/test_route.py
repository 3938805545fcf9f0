"""Per-operation choice of a backend."""

from __future__ import annotations

import pytest

from groundwire.config import BackendConfig
from groundwire.errors import ConfigError
from groundwire.verifiers.backends import choose


@pytest.mark.spec("SPEC-08.27")
def test_one_type_serves_every_operation() -> None:
    assert {choose(BackendConfig(type="haiku"), op) for op in ("memory_gate", "output", "trace", "claims")} == {"haiku"}


@pytest.mark.spec("SPEC-08.27")
def test_configurable_selects_per_operation_and_falls_back_to_the_default() -> None:
    table = BackendConfig(type="configurable", default="openai", operations={"memory_gate": "local"})
    assert choose(table, "memory_gate") == "local"
    assert choose(table, "output") == "openai"


@pytest.mark.parametrize("operations", [{}, {"trace": "configurable"}])
def test_a_table_that_leads_back_to_itself_is_a_mistake_in_one_line(operations: dict[str, str]) -> None:
    table = BackendConfig.model_validate({"type": "configurable", "default": "configurable", "operations": operations})
    with pytest.raises(ConfigError, match="'trace' is 'configurable' itself"):
        choose(table, "trace")
