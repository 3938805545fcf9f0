"""Files sent to be read: converted as the command line does, hostile ones refused one by one."""

from __future__ import annotations

import io
from typing import Any

import docx
from tests.serving import Served

from groundwire.server.routes.sources import _name


def send(server: Served, *files: tuple[str, bytes]) -> Any:
    answer = server.client.post("/v1/sources", files=[("files", file) for file in files])
    assert answer.status_code == 200, answer.text
    return answer.json()


def word(text: str) -> bytes:
    document = docx.Document()
    document.add_paragraph(text)
    out = io.BytesIO()
    document.save(out)
    return out.getvalue()


def test_files_become_texts(plain: Served) -> None:
    found = send(
        plain,
        ("notes.docx", word("It has 40 employees.")),
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
    assert [(s["origin"], s["text"]) for s in found["sources"]] == [
        ("passwd", "mine"),
        ("hosts.txt", "mine too"),
    ]


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
