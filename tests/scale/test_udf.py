"""`GroundwireUDF` on pandas and Arrow batches, and Parquet files of `groundwire batch`. `make test-scale` runs this."""

from __future__ import annotations

import json
import pickle
import re
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from tests.scale.samples import LABELS, ROWS, TOWER

from groundwire.cli.batch import BatchArgs, read_run, run_batch
from groundwire.config import Config
from groundwire.errors import BackendDown, ConfigError, InputError
from groundwire.integrations.udf import GroundwireUDF, process_engine

pa = pytest.importorskip("pyarrow")
pd = pytest.importorskip("pandas")


def checked(batch: Any) -> list[dict[str, Any]]:
    found = GroundwireUDF()(batch)
    assert type(found) is type(batch)
    rows: list[dict[str, Any]] = found.to_pylist() if hasattr(found, "to_pylist") else found.to_dict("records")
    return rows


@pytest.mark.parametrize(
    "batch",
    [pd.DataFrame(ROWS), pa.Table.from_pylist(ROWS), pa.RecordBatch.from_pylist(ROWS)],
    ids=["pandas", "table", "record batch"],
)
def test_a_batch_gives_one_verdict_per_row_in_the_same_order(batch: Any) -> None:
    found = checked(batch)
    assert [(row["id"], row["label"]) for row in found] == list(LABELS.items())
    assert found[0]["score"] == 1.0
    assert found[2]["error"] == "the answer is empty"
    assert json.loads(found[0]["report"])["claims"][0]["text"] == TOWER


@pytest.mark.parametrize(
    "sources",
    [
        pa.array([{"a": TOWER, "b": None}], pa.struct([("a", pa.string()), ("b", pa.string())])),
        pa.array([[("a", TOWER)]], pa.map_(pa.string(), pa.string())),
        pa.array([[{"id": "a", "text": TOWER}]]),
    ],
    ids=["struct", "map", "list of structs"],
)
def test_sources_come_in_every_nested_type_of_arrow(sources: Any) -> None:
    table = pa.table({"id": ["x"], "response": [TOWER], "sources": sources})
    for batch in (table, table.to_pandas()):
        (row,) = checked(batch)
        assert row["label"] == "grounded"
        assert json.loads(row["report"])["claims"][0]["evidence"][0]["source"] == "a"


def test_a_missing_optional_cell_is_no_error() -> None:
    frame = pd.DataFrame({"response": [TOWER] * 3, "context": TOWER, "question": [None, float("nan"), pd.NA]})
    assert [row["error"] for row in checked(frame)] == [None] * 3


def test_rows_without_an_id_have_the_same_name_in_any_batch() -> None:
    rows = [{"response": TOWER, "context": TOWER}, {"response": TOWER, "context": f"{TOWER} It is red."}]
    together = [row["id"] for row in checked(pa.Table.from_pylist(rows))]
    alone = [row["id"] for one in rows for row in checked(pa.Table.from_pylist([one]))]
    assert together == alone
    assert len(set(together)) == 2


def test_a_copy_in_the_same_process_shares_the_loaded_engine() -> None:
    udf = GroundwireUDF(target=0.9)
    copy = pickle.loads(pickle.dumps(udf))
    assert process_engine(udf._settings) is process_engine(copy._settings)
    assert process_engine(copy._settings).config.target == 0.9


def test_a_wrong_setting_is_refused_where_the_udf_is_made() -> None:
    with pytest.raises(ConfigError):
        GroundwireUDF(target=7.0)


def test_other_batches_are_refused_with_the_setting_to_change() -> None:
    with pytest.raises(InputError, match='batch_format="pyarrow"'):
        GroundwireUDF()({"response": [TOWER]})


def test_an_empty_batch_has_the_columns_of_a_verdict() -> None:
    udf = GroundwireUDF()
    assert list(udf.meta.columns) == list(udf(pd.DataFrame(ROWS)).columns)
    assert udf.schema.split(", ")[0] == "id string"


def test_the_example_on_the_page_runs() -> None:
    page = Path(__file__).resolve().parents[2] / "docs" / "scale.md"
    (code,) = re.findall(r"^```py\n(.*?)^```$", page.read_text(encoding="utf-8"), re.M | re.S)
    exec(compile(code, page.name, "exec"), {"__name__": "__page__"})


@pytest.mark.parametrize("package", ["ray", "pyspark", "dask"])
def test_the_page_names_the_versions_that_are_tested(package: str) -> None:
    pytest.importorskip(package)
    page = Path(__file__).resolve().parents[2] / "docs" / "integrations.md"
    assert f"{package} {version(package)}" in page.read_text(encoding="utf-8")


def run(rows: Path, out: Path, *, resume: bool = False) -> int:
    return run_batch(BatchArgs(rows, out, resume=resume), Config(), Console(quiet=True))


@pytest.fixture
def parquet(tmp_path: Path) -> Path:
    import pyarrow.parquet

    path = tmp_path / "rows.parquet"
    pyarrow.parquet.write_table(pa.Table.from_pylist(ROWS), path)
    return path


def test_batch_reads_and_writes_parquet(parquet: Path, tmp_path: Path) -> None:
    assert run(parquet, tmp_path / "out.parquet") == 3
    frame = pd.read_parquet(tmp_path / "out.parquet")
    assert dict(zip(frame["id"], frame["label"], strict=True)) == LABELS
    run(parquet, tmp_path / "out.jsonl")
    assert read_run(tmp_path / "out.parquet") == read_run(tmp_path / "out.jsonl")
    assert {path.name for path in tmp_path.iterdir()} == {"rows.parquet", "out.parquet", "out.jsonl"}


def test_a_stopped_run_into_parquet_resumes_after_the_reports_it_has(
    parquet: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out.parquet"
    run(parquet, out)
    whole = pd.read_parquet(out)
    out.unlink()
    with monkeypatch.context() as patched:
        patched.setattr("groundwire.cli.batch.judge_rows", stop_after_one(whole["report"][0]))
        with pytest.raises(BackendDown):
            run(parquet, out)
    assert not out.exists()
    run(parquet, out, resume=True)
    pd.testing.assert_frame_equal(pd.read_parquet(out), whole)


def test_resuming_a_finished_run_into_parquet_checks_nothing_again(
    parquet: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out.parquet"
    run(parquet, out)
    whole = pd.read_parquet(out)
    monkeypatch.setattr("groundwire.cli.batch.judge_rows", lambda engine, rows: iter([None for _ in rows]))
    run(parquet, out, resume=True)
    pd.testing.assert_frame_equal(pd.read_parquet(out), whole)


def stop_after_one(line: str) -> Any:
    def judge(_: object, rows: Any) -> Any:
        next(rows)
        yield line
        raise BackendDown("the model is gone")

    return judge


def test_a_file_that_is_not_parquet_is_named(tmp_path: Path) -> None:
    (tmp_path / "rows.parquet").write_text("{}")
    with pytest.raises(InputError, match=r"rows\.parquet is not a Parquet file"):
        run(tmp_path / "rows.parquet", tmp_path / "out.jsonl")
