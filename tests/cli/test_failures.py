"""Whatever goes wrong behind a backend, `groundwire check` says that it could not check: exit code 3."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import pytest
from tests.loopback import Loopback, Reply, chat, refusal
from typer.testing import CliRunner

from groundwire.cli import main


def positive(word: str) -> Reply:
    reply = chat(word, top={word: 0.5})
    return Reply(reply.content.decode().replace("-0.6931471805599453", "0.6931471805599453"))


ANSWER = "Paris is the capital of France. The tower is 330 metres tall."
FAILURES = {
    "429": refusal(429, "slow down", retry_after="3600"),
    "500": refusal(500, "boom"),
    "wrong key": refusal(401, "who are you?"),
    "hang": Reply(hang=True),
    "truncated": Reply('{"choices": [', cut=True),
    "half a body": Reply('{"choices": ['),
    "wrong content type": Reply("<html>hello</html>", content_type="text/html"),
    "empty choices": Reply({"choices": [], "content": [], "estimates": []}),
    "empty body": Reply(""),
    "no number": Reply('{"probabilities": [NaN, NaN], "choices": NaN, "content": NaN}'),
    "no judgement": chat("As a language model I would rather not say."),
    "negated answer": chat("Not YES"),
    "two answers": chat("YES NO"),
    "positive logprobs": positive("YES"),
    "another word is likelier": chat("YES", top={"Paris": 0.98, "YES": 0.01}),
    "text and token disagree": chat("NO", top={"YES": 0.98, "NO": 0.01}),
    "sure of both": Reply({"estimates": [{"probability": 1.0, "p_no": 1.0}] * 2}),
}


def check(backend: str, url: str, folder: Path) -> tuple[int, str, str]:
    environment = {
        "GROUNDWIRE_OPENAI__BASE_URL": f"{url}/v1",
        "GROUNDWIRE_ANTHROPIC__BASE_URL": url,
        "GROUNDWIRE_EXTERNAL__URL": url,
        "GROUNDWIRE_HALLUCINATION__TIMEOUT": "300ms",
        "GROUNDWIRE_LIMITS__RETRIES": "0",
        "GROUNDWIRE_STORE__CACHE_PATH": str(folder / "cache.db"),
    }
    arguments = ["check", ANSWER, "-s", ANSWER, "--backend", backend, "--json"]
    found = CliRunner().invoke(main.app, arguments, env=environment, catch_exceptions=False)
    return found.exit_code, found.stdout, found.stderr


@pytest.mark.spec("SPEC-08.42", "SPEC-08.43")
@pytest.mark.parametrize("backend", ["openai", "haiku", "external"])
@pytest.mark.parametrize("failure", [*FAILURES, "connection refused"])
def test_could_not_check_is_exit_code_three_and_no_verdict(
    backend: str, failure: str, loopback: Loopback, tmp_path: Path
) -> None:
    url = loopback.url if failure in FAILURES else nobody()
    loopback.script(FAILURES.get(failure, Reply()))
    code, out, logged = check(backend, url, tmp_path)
    found = json.loads(out)
    assert code == 3
    assert [claim["status"] for claim in found["claims"]] == ["UNCHECKED", "UNCHECKED"]
    assert (found["flagged"], found["risk"], found["grounding_ratio"]) == (None, None, None)
    assert found["error"].startswith("2 of 2 claims could not be checked: ")
    assert "Traceback" not in logged
    assert "330 metres" not in logged


def nobody() -> str:
    """An address where nobody listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{free.getsockname()[1]}"
