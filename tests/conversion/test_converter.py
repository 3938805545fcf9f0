"""A file that a parser cannot cope with costs one process, one line and no more than its limits."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator

import pytest
from tests.conversion.parsers import replace_parser

from groundwire.conversion import converter
from groundwire.conversion.converter import Conversion, needs_process
from groundwire.conversion.formats import FileInput
from groundwire.errors import InputError

PAGE = FileInput("page.html", ".html", 1_000_000, "page.html")


def read(data: bytes = b"<p>x", file: FileInput = PAGE) -> str:
    (found,) = Conversion().run(data, file)
    return found.text


def error(data: bytes = b"<p>x", file: FileInput = PAGE) -> str:
    with pytest.raises(InputError) as caught:
        Conversion().run(data, file)
    assert caught.value.hint
    return caught.value.message


@pytest.fixture(autouse=True)
def no_process_stays() -> Iterator[None]:
    yield
    converter._workers.close()


def test_a_parser_that_does_not_end_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    replace_parser(monkeypatch, "while True: pass")
    assert error() == "page.html takes too long to read"


def test_a_parser_cannot_take_all_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    replace_parser(monkeypatch, "bytearray(10**9)")
    assert error() == "page.html takes too much memory to read"


def test_a_parser_that_crashes_takes_nothing_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    replace_parser(monkeypatch, "os.abort()")
    assert "page.html cannot be read" in error()


def test_a_parser_that_raises_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    replace_parser(monkeypatch, "raise KeyError('/Root')")
    assert error() == "page.html is not a readable HTML file ('/Root')"


def test_what_a_library_prints_is_no_result(monkeypatch: pytest.MonkeyPatch) -> None:
    replace_parser(monkeypatch, "os.write(1, b'5 warnings'); return [Named('text', '')]")
    assert read() == "text"


def test_a_stopped_conversion_ends_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    replace_parser(monkeypatch, "signal.pause()")  # takes no CPU time, so no limit ends it
    conversion = Conversion()
    stop = threading.Timer(0.05, conversion.stop)
    stop.start()
    with pytest.raises(InputError, match="takes too long"):
        conversion.run(b"<p>x", PAGE)
    stop.join()


def test_a_conversion_may_be_stopped_before_it_runs() -> None:
    conversion = Conversion()
    conversion.stop()
    with pytest.raises(InputError, match="takes too long"):
        conversion.run(b"<p>x", PAGE)


def test_the_time_limit_ends_what_takes_no_cpu_time(monkeypatch: pytest.MonkeyPatch) -> None:
    replace_parser(monkeypatch, "signal.pause()")
    monkeypatch.setattr(converter, "_START_SECONDS", 0.05)
    monkeypatch.setattr(converter, "_WAIT_FACTOR", 0)
    assert error() == "page.html takes too long to read"


def test_each_file_has_a_process_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    replace_parser(monkeypatch, "return [Named(f'{os.getppid()} {os.getpid()}', '')]")
    (parent, first), (same, second) = read().split(), read().split()
    assert parent == same  # started once
    assert first != second
    assert str(os.getpid()) not in (parent, first)


def test_a_process_that_died_while_it_waited_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    replace_parser(monkeypatch, "return [Named(str(os.getppid()), '')]")
    first = read()
    os.kill(int(first), 9)
    converter._workers._idle[0]._process.wait()
    assert read() != first


def test_a_process_knows_no_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    replace_parser(monkeypatch, "import json; return [Named(json.dumps(dict(os.environ)), '')]")
    assert "PYTHONPATH" in json.loads(read())
    assert "sk-secret" not in read()


def test_a_process_cannot_write_files(monkeypatch: pytest.MonkeyPatch, tmp_path: os.PathLike[str]) -> None:
    target = os.path.join(tmp_path, "x")  # noqa: PTH118
    replace_parser(monkeypatch, f"open({target!r}, 'w').write('x' * 100_000); return [Named('written', '')]")
    assert "File too large" in error()


@pytest.mark.parametrize(
    ("data", "suffix", "expected"),
    [
        (b"<html><p>x", "", True),
        (b"%PDF-1.4", ".txt", True),
        (b"x" * 500_000, ".txt", False),
        (b"a,b\n", ".csv", False),
        (b"a,b\n" * 50_000, ".csv", True),
        (b'{"S0": "x"}', ".json", False),
        (b" [" + b"{}," * 50_000, "", True),
    ],
)
def test_plain_text_and_small_data_need_no_process(data: bytes, suffix: str, expected: bool) -> None:
    assert needs_process(data, suffix) is expected


def test_large_json_names_its_sources_through_the_process() -> None:
    rows = [{"id": f"r{number}", "text": f"text {number} שלום \ud800"} for number in range(5000)]
    found = Conversion().run(json.dumps(rows).encode(), FileInput("a.json", ".json", 10**6, "a.json"))
    assert [(one.id, one.text, one.origin) for one in found[:2]] == [
        ("r0", "text 0 שלום \ud800", "a.json"),
        ("r1", "text 1 שלום \ud800", "a.json"),
    ]
    assert len(found) == 5000
