"""Parsers that misbehave: the real process with a `read_document` of the test's own."""

from __future__ import annotations

import sys

import pytest

from groundwire.conversion import converter

_SCRIPT = """
import os, signal
from groundwire.conversion import worker
from groundwire.conversion.formats import Named
def read_document(data, file):
    {body}
worker.read_document = read_document
worker.main()
"""


def replace_parser(monkeypatch: pytest.MonkeyPatch, body: str) -> None:
    """Start processes whose parser is this code; it knows `data` and `file`."""
    workers = converter._Workers()
    monkeypatch.setattr(converter, "_workers", workers)
    monkeypatch.setattr(converter, "_COMMAND", (sys.executable, "-P", "-c", _SCRIPT.format(body=body)))
