"""Files sent to be read: converted as the command line does, hostile ones refused one by one."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from tests.conversion.documents import cell, docx, paragraph, table
from tests.conversion.parsers import replace_parser
from tests.serving import Served, served

from groundwire.conversion import converter
from groundwire.server.routes.check import _name


def send(server: Served, *files: tuple[str, bytes]) -> Any:
    answer = server.client.post("/v1/sources", files=[("files", file) for file in files])
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_files_become_texts(plain: Served) -> None:
    found = send(
        plain,
        ("notes.docx", docx(paragraph("It has 40 employees."))),
        ("page.html", b"<html><script>alert(1)</script><p>Ann &amp; Ben</p>"),
        ("rows.csv", b'a,"two\nlines"\n'),
        ("plain.txt", "שלום 🙂".encode()),
    )
    assert found["errors"] == []
    assert [(s["origin"], s["text"].strip()) for s in found["sources"]] == [
        ("notes.docx", "It has 40 employees."),
        ("page.html", "Ann & Ben"),
        ("rows.csv", 'a,"two lines"'),
        ("plain.txt", "שלום 🙂"),
    ]


def test_a_file_may_name_its_sources(plain: Served) -> None:
    found = send(plain, ("sources.json", b'{"S0": "one", "S1": "two"}'))
    assert [(s["id"], s["text"]) for s in found["sources"]] == [("S0", "one"), ("S1", "two")]


def test_half_a_character_does_not_break_the_answer(plain: Served) -> None:
    found = send(plain, ("sources.json", b'{"S0": "a \\ud800 b"}'))
    assert found["sources"][0]["text"] == "a \ufffd b"


def test_one_bad_file_does_not_spoil_the_others(plain: Served) -> None:
    found = send(
        plain,
        ("scan.pdf", b"%PDF-1.4 broken"),
        ("empty.txt", b""),
        ("binary.txt", b"\x00\x01\x02"),
        ("latin.txt", "für".encode("latin-1")),
        ("bomb.docx", b"PK\x03\x04word/ nonsense"),
        ("fine.txt", b"fine"),
    )
    assert [s["text"] for s in found["sources"]] == ["fine"]
    assert [e["origin"] for e in found["errors"]] == [
        "scan.pdf", "empty.txt", "binary.txt", "latin.txt", "bomb.docx",
    ]  # fmt: skip
    assert all(e["detail"] for e in found["errors"])


def test_no_file_of_the_server_is_ever_opened(plain: Served) -> None:
    found = send(plain, ("/etc/passwd", b"mine"), ("../../etc/hosts.txt", b"mine too"))
    assert [(s["origin"], s["text"]) for s in found["sources"]] == [("passwd", "mine"), ("hosts.txt", "mine too")]


def test_a_name_is_only_its_last_part() -> None:
    assert _name("C:\\Users\\ann\\secret\\a.pdf") == "a.pdf"
    assert _name("<img src=x onerror=1>.txt") == "<img src=x onerror=1>.txt"
    assert _name("a\r\nb\x00.txt") == "ab.txt"
    assert _name("") == "file"
    assert len(_name("x" * 1000 + ".txt")) == 200


def test_too_much_at_once_is_refused(plain: Served) -> None:
    answer = plain.client.post("/v1/sources", files=[("files", ("a.txt", b"x" * 300_000))])
    assert answer.status_code == 413
    many = [("files", (f"{number}.txt", b"x")) for number in range(60)]
    assert plain.client.post("/v1/sources", files=many).status_code == 422
    assert plain.client.post("/v1/sources").status_code == 422


def test_a_word_file_with_wide_cells_is_read(plain: Served) -> None:
    wide = [cell("a", '<w:gridSpan w:val="3000"/>')]
    found = send(plain, ("wide.docx", docx(table(*[wide] * 3000))))
    assert found["errors"] == []
    assert found["sources"][0]["text"].count("a") == 3000


def test_an_unknown_encoding_is_an_error_of_its_file(plain: Served) -> None:
    found = send(plain, ("page.html", b"<html><meta charset=undefined><p>text"))
    assert "unknown encoding 'undefined'" in found["errors"][0]["detail"]


def test_files_that_take_long_disturb_nobody_and_end_with_their_request(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    started: list[converter._Worker] = []
    both = threading.Event()

    class RecordedWorker(converter._Worker):
        def __init__(self) -> None:
            super().__init__()
            started.append(self)
            if len(started) == 2:
                both.set()

    replace_parser(monkeypatch, "signal.pause()")
    monkeypatch.setattr(converter, "_Worker", RecordedWorker)
    settings = {
        "hallucination.backend.type": "fake",
        "store.url": str(tmp_path / "store.db"),
        "store.cache_path": "",
        "server.request_timeout": "4s",
    }
    page = [("files", ("page.html", b"<p>x"))]
    with served(settings) as running, ThreadPoolExecutor(8) as clients:
        running.client.get("/readyz")  # opens the store, which takes a while
        uploads = [clients.submit(running.client.post, "/v1/sources", files=page) for _ in range(8)]
        assert both.wait(30)
        assert running.client.get("/readyz").status_code == 200
        assert {upload.result().status_code for upload in uploads} == {504}
        assert running.service.file_admission.inside == 0
        assert {worker.exit_code for worker in started} == {-9}


def test_files_that_fill_the_server_leave_room_for_checks(plain: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plain.service.file_admission, "inside", plain.service.file_admission.capacity)
    answer = plain.client.post("/v1/sources", files=[("files", ("a.txt", b"text"))])
    assert answer.status_code == 429
    body = {"response": "It has 40 employees.", "context": "It has 40 employees."}
    assert plain.client.post("/v1/check", json=body).status_code == 200
    assert int(answer.headers["retry-after"]) >= 1
