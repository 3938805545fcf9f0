"""The proxy's bench, in small: what it compares is what was sent."""

from __future__ import annotations

import json

import pytest
from benchmarks.proxy import ReceivedStream, run_proxy
from benchmarks.scripted_model import Pace, frames
from rich.console import Console


def test_streams_keep_their_bytes_and_are_timed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_proxy(Console(), 1, 5, as_json=True, pace=Pace(0.01, 0.001, 3)) == 0
    found = {figure["name"]: figure["value"] for figure in json.loads(capsys.readouterr().out)}
    assert found["5 at once, bytes as they were sent"] == 5
    assert found["first token, direct"] > 0
    assert "whole stream, added" in found


def test_a_lost_byte_shows() -> None:
    sent = b"".join(frames(3, 2))
    report = b'data: {"choices":[],"groundwire":{"status":"CHECKED"}}\n\n'
    done = sent.index(b"data: [DONE]")
    heard = ReceivedStream(0.1, 0.2, 0.3, sent[:done] + report + sent[done:])
    assert (heard.without_report, heard.status) == (sent, "CHECKED")
    assert ReceivedStream(0.1, 0.2, 0.3, sent[:50] + sent[51:]).without_report != sent
