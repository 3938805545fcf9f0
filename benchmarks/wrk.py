"""`python -m benchmarks.wrk`: the real server under the load of `wrk`, next to that of our own generator."""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
from base64 import b64decode
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from benchmarks import command, run
from benchmarks.service import LoadCase, Server, make_case, run_load_generator, run_server
from groundwire.bench.measures import Figure, show
from groundwire.cli.console import open_console
from groundwire.errors import InputError

_QUANTILES = (50, 95, 99)
_SCRIPT = """
local bodies, at = {bodies}, 0
wrk.method = "POST"
wrk.headers["Content-Type"] = "application/json"
function request()
  at = at % #bodies + 1
  return wrk.format(nil, nil, nil, bodies[at])
end
function done(summary, latency)
  local e = summary.errors
  local form = '{{"requests": %d, "micros": %d, "status": %d, "socket": %d, "latency": [{marks}]}}\\n'
  io.write(string.format(form,
    summary.requests, summary.duration, e.status, e.connect + e.read + e.write + e.timeout, {quantiles}))
end
"""


@dataclass(frozen=True, slots=True)
class WrkTerms:
    seconds: int = 10
    connections: int = 16
    cases: int = 64


def measure(terms: WrkTerms) -> Iterator[Figure]:
    if shutil.which("wrk") is None:
        raise InputError("wrk is not installed", hint="apt-get install wrk")
    cases = [make_case(number) for number in range(terms.cases)]
    with ExitStack() as stack:
        server = stack.enter_context(run_server())
        own = stack.enter_context(run_load_generator(server, cases))
        own.run(seconds=min(2.0, terms.seconds), connections=terms.connections)  # loads the model
        usual = own.run(seconds=terms.seconds, connections=terms.connections)
        found = run_wrk(server, cases, terms)
    yield Figure("own generator: checks a second", usual.good_a_second, "1/s")
    yield Figure("wrk: requests a second", found["requests"] / (found["micros"] / 1e6), "1/s")
    for quantile, micros in zip(_QUANTILES, found["latency"], strict=True):
        yield Figure(f"own generator: p{quantile}", usual.share(quantile / 100), "ms")
        yield Figure(f"wrk: p{quantile}", micros / 1000, "ms")
    yield Figure("wrk: statuses of 400 or more", found["status"], "", "0")
    yield Figure("wrk: errors of the connection", found["socket"], "", "0")


def run_wrk(server: Server, cases: Sequence[LoadCase], terms: WrkTerms) -> dict[str, Any]:
    """The summary that the script prints after the load."""
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "load.lua"
        script.write_text(lua(cases), encoding="utf-8")
        url = f"http://127.0.0.1:{server.port}/v1/check"
        options = ["-t1", f"-c{terms.connections}", f"-d{terms.seconds}s", "--timeout", "60s"]
        done = subprocess.run(["wrk", *options, "-s", str(script), url], capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def lua(cases: Sequence[LoadCase]) -> str:
    """A script that sends the bodies of the cases in turn."""
    bodies = ", ".join(f"[==[{b64decode(case.body).decode()}]==]" for case in cases)
    quantiles = ", ".join(f"latency:percentile({quantile})" for quantile in _QUANTILES)
    marks = ", ".join("%d" for _ in _QUANTILES)
    return _SCRIPT.format(bodies=f"{{{bodies}}}", quantiles=quantiles, marks=marks)


app = command()


@app.command()
def main(
    seconds: Annotated[int, typer.Option(min=1, help="Seconds of load.")] = 10,
    connections: Annotated[int, typer.Option(min=1, help="Requests at a time.")] = 16,
    as_json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
) -> None:
    """Put the HTTP service under the load of wrk and of our own generator, one after the other."""
    show(open_console(), measure(WrkTerms(seconds, connections)), as_json=as_json)


if __name__ == "__main__":
    run(app)
