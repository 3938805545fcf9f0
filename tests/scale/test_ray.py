"""`batch --engine ray` on a real cluster of several nodes, of which one is killed. `make test-scale` runs this."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from tests.loopback import Loopback, Reply, Request
from tests.scale.samples import TOWER, labels, many

from groundwire.cli.batch import BatchArgs, Gate, read_reports, run_batch
from groundwire.config import Config
from groundwire.errors import MissingExtra
from groundwire.integrations.udf import GroundwireUDF

KILL_AT = 40
"""The request to the verifier at which workers are lost: in the midst of a task of 32 rows, on any of them."""
ROWS = 96
ANSWERS = {True: Reply({"probability": 0.98, "p_no": 0.01}), False: Reply({"probability": 0.02, "p_no": 0.02})}


def run(rows: Path, out: Path, engine: str, config: Config, **more: Any) -> int:
    return run_batch(BatchArgs(rows, out, engine=engine, **more), config, Console(quiet=True))


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A head without CPUs and two nodes with two each, so that there is room for the workers that are lost."""
    pytest.importorskip("ray")
    from ray.cluster_utils import Cluster

    lean = {"object_store_memory": 100_000_000, "no_monitor": True, "include_log_monitor": False}
    found = Cluster(initialize_head=True, head_node_args={**lean, "num_cpus": 0, "include_dashboard": False})
    for _ in range(2):
        found.add_node(**lean, num_cpus=2)
    found.wait_for_nodes()
    monkeypatch.setenv("RAY_ADDRESS", found.address)
    yield found
    found.shutdown()


def workers(node: Any) -> list[int]:
    """The processes of a node that hold an actor of the pool."""
    raylet = node.all_processes["raylet"][0].process.pid
    children = Path(f"/proc/{raylet}/task/{raylet}/children").read_text().split()
    return [int(pid) for pid in children if b"GroundwireUDF" in Path(f"/proc/{pid}/cmdline").read_bytes()]


def lose(cluster: Any, what: str) -> None:
    """Kill all workers, or the node that the only worker is on."""
    nodes = [node for node in cluster.worker_nodes if workers(node)]
    if what == "node":
        cluster.remove_node(nodes[0], allow_graceful=False)
    else:
        for pid in [pid for node in nodes for pid in workers(node)]:
            os.kill(pid, signal.SIGKILL)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("what", "size"), [("workers", 2), ("node", 1)])
def test_workers_killed_half_way_lose_and_double_nothing(
    cluster: Any, loopback: Loopback, tmp_path: Path, what: str, size: int
) -> None:
    def answer(request: Request) -> Reply:
        if len(loopback.requests) == KILL_AT:  # the answers wait meanwhile
            lose(cluster, what)
        return ANSWERS[TOWER in request.body["context"]]

    loopback.script(answer)
    config = Config.load(
        overrides={"hallucination.backend.type": "external", "external.url": loopback.url, "bits": False}
    )
    sample = [{"id": str(n), "response": f"The tower number {n} is tall.", "context": TOWER} for n in range(ROWS)]
    rows = write(tmp_path / "rows.jsonl", sample)
    assert run(rows, tmp_path / "out.jsonl", "ray", config, workers=size) == 0
    asked = [json.dumps(request.body) for request in loopback.requests]
    if what == "workers":  # the rows in hand were asked about again; those of a lost node may be in the cache
        assert len(asked) > len(set(asked))
    assert run(rows, tmp_path / "local.jsonl", "local", config) == 0
    assert (tmp_path / "out.jsonl").read_bytes() == (tmp_path / "local.jsonl").read_bytes()


@pytest.mark.filterwarnings("ignore")
def test_ray_output_equals_local_output_and_resumes(cluster: Any, tmp_path: Path) -> None:
    rows = tmp_path / "rows.jsonl"
    rows.write_text(write(rows, many(12)).read_text() + '{"id": "broken", "response": 7}\n{broken\n')
    gates = {name: Gate(0.5, tmp_path / f"{name}.xml", tmp_path / f"{name}.md") for name in ("ray", "local")}
    codes = {name: run(rows, tmp_path / f"{name}.jsonl", name, Config(), gate=gate) for name, gate in gates.items()}
    assert codes["ray"] == codes["local"]
    local = (tmp_path / "local.jsonl").read_bytes()
    assert (tmp_path / "ray.jsonl").read_bytes() == local
    assert [a.read_bytes() for a in gates["ray"].files] == [b.read_bytes() for b in gates["local"].files]
    (tmp_path / "ray.jsonl").write_bytes(local[: len(local) // 2])
    run(rows, tmp_path / "ray.jsonl", "ray", Config(), resume=True)
    assert (tmp_path / "ray.jsonl").read_bytes() == local


@pytest.mark.filterwarnings("ignore")
def test_ray_reads_and_writes_parquet(cluster: Any, tmp_path: Path) -> None:
    import ray.data

    ray.init(log_to_driver=False)
    ray.data.from_items(many(5)).to_pandas().to_parquet(tmp_path / "rows.parquet")
    ray.shutdown()
    run(tmp_path / "rows.parquet", tmp_path / "out.parquet", "ray", Config())
    found = [json.loads(line) for line in read_reports(tmp_path / "out.parquet")]
    assert [row["id"] for row in found] == list(labels(5))


@pytest.mark.filterwarnings("ignore")
def test_the_udf_runs_under_ray_data(cluster: Any) -> None:
    import ray.data

    ray.init(log_to_driver=False)
    try:
        found = ray.data.from_items(many(10)).map_batches(
            GroundwireUDF,
            fn_constructor_kwargs={"profile": "strict"},
            batch_format="pyarrow",
            batch_size=8,
            compute=ray.data.ActorPoolStrategy(size=2),
        )
        assert {row["id"]: row["label"] for row in found.take_all()} == labels(10)
    finally:
        ray.shutdown()


def test_missing_ray_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "ray", None)
    with pytest.raises(MissingExtra, match=r"pip install 'groundwire\[ray\]'"):
        run(write(tmp_path / "rows.jsonl", many(1)), tmp_path / "out.jsonl", "ray", Config())
