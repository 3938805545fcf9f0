"""What the adapters' tests share. The verifier `fake` supports exactly what its sources say word for word."""

from __future__ import annotations

import pytest

from groundwire.errors import BackendTimeout
from groundwire.verifiers.fake import FakeVerifier

SOURCE = "The tower is 330 metres tall. It stands in Paris."
GOOD, WRONG = "The tower is 330 metres tall.", "The tower is 999 metres tall."
QUESTION = "How tall is the tower?"


def break_verifier(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make every call of the verifier `fake` time out from now on."""
    failing = FakeVerifier(failing=[BackendTimeout("too slow")] * 99)
    monkeypatch.setattr("groundwire.verifiers.fake.FakeVerifier", lambda **_: failing)
