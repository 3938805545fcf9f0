"""Whatever a user names becomes sources, or one line that says what to do."""

from __future__ import annotations

import contextlib
import io
import json
import os
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from groundwire.errors import InputError
from groundwire.retrieval.load import load_answer, load_sources
from groundwire.retrieval.select import units
from groundwire.types import Source

LIMIT = 1_000_000


def load(
    *specs: str, stdin: str | bytes = "", limit: int = LIMIT, report: Callable[[str], None] | None = None
) -> list[Source]:
    stream = io.StringIO(stdin) if isinstance(stdin, str) else io.BytesIO(stdin)
    if report:
        return load_sources(specs, stdin=stream, max_bytes=limit, report=report)
    return load_sources(specs, stdin=stream, max_bytes=limit)


def error(*specs: str, stdin: str | bytes = "", limit: int = LIMIT) -> str:
    with pytest.raises(InputError) as caught:
        load(*specs, stdin=stdin, limit=limit)
    assert caught.value.hint
    assert "\n" not in str(caught.value)
    assert caught.value.exit_code == 2
    return str(caught.value)


def put(folder: Path, name: str, content: str | bytes) -> str:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return str(path)


def test_files_text_and_stdin_are_numbered_in_order(tmp_path: Path) -> None:
    path = put(tmp_path, "a.txt", "The tower is tall.")
    assert load(path, "-", "Lyon is a city.", stdin="It opened in 1889.") == [
        Source("S0", "The tower is tall.", "a.txt"),
        Source("S1", "It opened in 1889."),
        Source("S2", "Lyon is a city."),
    ]


def test_a_folder_is_read_by_name_without_hidden_files(tmp_path: Path) -> None:
    for name in ("b.md", "a.txt", "sub/c.txt", ".hidden", ".git/d.txt"):
        put(tmp_path, name, f"text of {name}")
    assert [(s.id, s.origin) for s in load(str(tmp_path))] == [("S0", "a.txt"), ("S1", "b.md"), ("S2", "sub/c.txt")]


def test_unreadable_files_of_a_folder_are_reported_and_left_out(tmp_path: Path) -> None:
    put(tmp_path, "good.txt", "fine")
    put(tmp_path, "bad.png", b"\x89PNG\r\n\x1a\n\x00\x00")
    put(tmp_path, "broken.json", "{")
    put(tmp_path, "empty.txt", "")
    heard: list[str] = []
    assert [s.origin for s in load(str(tmp_path), report=heard.append)] == ["good.txt"]
    assert len(heard) == 3


@pytest.mark.parametrize(
    "content",
    [
        {"S0": "one", "S1": "two"},
        {"sources": {"S0": "one", "S1": "two"}},
        [{"id": "S0", "text": "one"}, {"sid": "S1", "text": "two", "score": 0.3}],
    ],
)
def test_json_may_name_its_sources(tmp_path: Path, content: object) -> None:
    path = put(tmp_path, "s.json", json.dumps(content))
    wanted = [Source("S0", "one", "s.json"), Source("S1", "two", "s.json")]
    assert load(path) == wanted
    assert [(s.id, s.text) for s in load(json.dumps(content))] == [("S0", "one"), ("S1", "two")]
    assert [(s.id, s.text) for s in load("-", stdin=json.dumps(content))] == [("S0", "one"), ("S1", "two")]


def test_a_record_is_one_source_as_it_stands(tmp_path: Path) -> None:
    text = '{"name": "Finch", "city": "Lyon"}'
    assert load(put(tmp_path, "r.json", text)) == [Source("S0", text, "r.json")]


def test_jsonl_rows_with_ids_and_without(tmp_path: Path) -> None:
    named = put(tmp_path, "a.jsonl", '{"id": 7, "text": "one"}\n\n{"sid": "x", "text": "two"}\n')
    assert [(s.id, s.text) for s in load(named)] == [("7", "one"), ("x", "two")]
    records = put(tmp_path, "b.jsonl", '{"a": 1}\n{"a": 2}\n')
    assert [unit.text for s in load(records) for unit in units(s)] == ["a: 1", "a: 2"]


def test_numbers_pass_over_ids_that_are_taken(tmp_path: Path) -> None:
    path = put(tmp_path, "s.json", '{"S0": "named"}')
    assert [s.id for s in load("first text", path, "second text")] == ["S1", "S0", "S2"]


def test_the_same_id_twice_is_an_error(tmp_path: Path) -> None:
    path = put(tmp_path, "s.json", '{"S0": "a"}')
    assert "two sources have the id 'S0'" in error(path, path)
    assert "same source twice" in error('{"S0": "a", "S0": "b"}')


def test_csv_rows_have_their_column_names(tmp_path: Path) -> None:
    (source,) = load(put(tmp_path, "t.csv", "City,People\nLyon,522\nNice,342\n"))
    assert [unit.text for unit in units(source)] == ["City: Lyon; People: 522", "City: Nice; People: 342"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_marked_encodings_are_read(tmp_path: Path, encoding: str) -> None:
    assert load(put(tmp_path, "a.txt", "שלום, Zürich".encode(encoding)))[0].text == "שלום, Zürich"


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("empty.txt", b"", "is empty"),
        ("blank.txt", b" \n\t", "is empty"),
        ("image.png", b"\x89PNG\r\n\x1a\n\x00\x01", "binary"),
        ("latin.txt", b"caf\xe9 au lait", "not valid UTF-8 at byte 3"),
        ("broken.json", b'{\n  "a": 1,\n}', "line 3, column 1"),
        ("broken.jsonl", b'{"a": 1}\n{"a": }\n', "line 2, column 7"),
        ("deep.json", b"[" * 100_000, "not valid JSON"),
        ("broken.pdf", b"%PDF-1.4\n garbage", "not a readable PDF"),
        ("broken.docx", b"PK\x03\x04 garbage", "not a readable docx"),
        ("old.docx", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "encrypted or old"),
    ],
)
def test_bad_files_are_one_clear_line(tmp_path: Path, name: str, content: bytes, said: str) -> None:
    message = error(put(tmp_path, name, content))
    assert said in message
    assert name in message


def test_a_large_file_is_refused_before_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "huge.txt"
    with path.open("wb") as file:
        file.truncate(50_000_000)  # sparse: takes no room, and reading it would take a while
    assert "larger than 1,000,000 bytes" in error(str(path))
    assert "larger" in error("-", stdin="x" * 2000, limit=1000)
    assert "larger" in error("word " * 400, limit=1000)


def test_a_folder_without_readable_files(tmp_path: Path) -> None:
    assert "no readable files" in error(str(tmp_path))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_no_permission(tmp_path: Path) -> None:
    path = put(tmp_path, "secret.txt", "x")
    Path(path).chmod(0)
    assert "permission denied" in error(path)


def test_a_pipe_or_device_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert "not a regular file" in error(str(tmp_path / "pipe"))
    assert "not a regular file" in error("/dev/zero")


@pytest.mark.parametrize(
    "spec", ["sources/x.txt", "./x", "/no/such/place", "x.md", "my sources/x.txt", "~/nothing-here", "nowhere/"]
)
def test_a_path_that_leads_nowhere_is_no_text(spec: str) -> None:
    assert "does not exist" in error(spec)


@pytest.mark.parametrize(
    "text",
    [
        "TCP/IP",
        "and/or",
        "3.5",
        "Paris is the capital.",
        "See the annual report.pdf",
        "Lyon",
        "a/b testing works",
        "one\nx.txt",
    ],
)
def test_text_is_taken_as_text(text: str) -> None:
    assert load(text) == [Source("S0", text)]


def test_an_address_is_not_fetched() -> None:
    assert "does not download" in error("https://example.org/page.html")


def test_nothing_given() -> None:
    assert "no sources" in error()
    assert "empty" in error("")
    assert "stdin is empty" in error("-")


def test_answers_follow_the_same_rules(tmp_path: Path) -> None:
    stdin = io.StringIO("from stdin")
    assert load_answer("-", stdin=stdin, max_bytes=LIMIT) == "from stdin"
    assert load_answer("The answer is 42.", stdin=stdin, max_bytes=LIMIT) == "The answer is 42."
    assert load_answer(put(tmp_path, "a.md", "# Answer"), stdin=stdin, max_bytes=LIMIT) == "# Answer"
    for bad in (str(tmp_path), "", "missing.md", put(tmp_path, "e.txt", "")):
        with pytest.raises(InputError):
            load_answer(bad, stdin=stdin, max_bytes=LIMIT)


def test_html_is_what_a_reader_sees(tmp_path: Path) -> None:
    page = """<!doctype html><html><head><title>t</title><style>p{}</style></head><body><script>evil()</script>
    <h1>Sights</h1><p>The tower<br>is <b>tall</b>.</p><ul><li>one</li><li>two</li></ul><!-- hidden -->
    <table><tr><th>City</th><th>People</th></tr><tr><td><p>Lyon</p></td><td>522</td></tr></table><p hidden>no</p>
    <pre>x = 1\n  y = 2</pre></body></html>"""
    (source,) = load(put(tmp_path, "p.html", page))
    assert (
        source.text
        == "# Sights\n\nThe tower\nis tall.\n\n- one\n- two\n\nCity | People\nLyon | 522\n\n```\nx = 1\n  y = 2\n```"
    )
    assert load("-", stdin=page)[0].text == source.text


def test_html_in_the_encoding_it_declares(tmp_path: Path) -> None:
    page = '<html><head><meta charset="windows-1255"></head><body><p>שלום</p></body></html>'
    assert load(put(tmp_path, "p.html", page.encode("windows-1255")))[0].text == "שלום"


def test_entities_are_not_expanded(tmp_path: Path) -> None:
    secret = put(tmp_path, "secret.txt", "SECRET")
    page = f'<?xml version="1.0"?><!DOCTYPE html [<!ENTITY x SYSTEM "file://{secret}"><!ENTITY a "{"A" * 99}"><!ENTITY b "&a;&a;&a;">]>'
    page += "<html><body><p>text &x; &b;</p></body></html>"
    text = load(put(tmp_path, "x.xhtml", page))[0].text
    assert "SECRET" not in text
    assert "AAAA" not in text.rpartition("text")[2]


def test_pdf_and_word(tmp_path: Path, pdf: Callable[[str], bytes], word: bytes) -> None:
    first, second = load(put(tmp_path, "a.pdf", pdf("The tower is 330 m tall.")), put(tmp_path, "b.docx", word))
    assert first.text == "The tower is 330 m tall."
    assert [unit.text for unit in units(second)] == [
        "Sights",
        "The tower is 330 m tall.",
        "It opened in 1889.",
        "one point",
        "City: Lyon; People: 522,000",
    ]
    assert load("-", stdin=pdf("From a pipe."))[0].text == "From a pipe."


def test_pdfs_that_cannot_be_read(tmp_path: Path, pdf: Callable[[str], bytes], encrypted_pdf: bytes) -> None:
    assert "encrypted" in error(put(tmp_path, "e.pdf", encrypted_pdf))
    assert "without text" in error(put(tmp_path, "scan.pdf", pdf("")))


def test_a_zip_bomb_is_not_unpacked(tmp_path: Path, word: bytes) -> None:
    out = io.BytesIO(word)
    with zipfile.ZipFile(out, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("word/bomb.xml", b"0" * 3_000_000)
    assert "unpacks to more" in error(put(tmp_path, "b.docx", out.getvalue()), limit=100_000)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=200), st.sampled_from([".txt", ".json", ".jsonl", ".html", ".pdf", ".docx", ".csv", ""]))
def test_no_bytes_make_it_fall_over(tmp_path: Path, data: bytes, suffix: str) -> None:
    magic = {".pdf": b"%PDF-1.4\n", ".docx": b"PK\x03\x04"}.get(suffix, b"")
    with contextlib.suppress(InputError):
        sources = load(put(tmp_path, f"f{suffix}", magic + data))
        assert all(source.text.strip() for source in sources)


def test_half_characters_do_not_survive(tmp_path: Path) -> None:
    assert load(put(tmp_path, "s.json", '{"S0": "tall \\ud800!"}'))[0].text == "tall \ufffd!"
    assert load_answer("so tall \udce9", stdin=io.StringIO(), max_bytes=LIMIT) == "so tall \ufffd"


def test_a_broken_pdf_says_its_one_line_only(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    error(put(tmp_path, "b.pdf", b"%PDF-1.4\n garbage"))
    assert capfd.readouterr().err == ""


def test_a_table_s_cell_may_hold_several_lines(tmp_path: Path) -> None:
    path = tmp_path / "faq.csv"
    rows = ["question,answer", 'How long?,"Two\r\nyears, at ""most"""', '5" pipes,no', 'And then?,"It ends"']
    path.write_bytes("\r\n".join(rows).encode())
    (source,) = load(str(path))
    assert [unit.text for unit in units(source)] == [
        'question: How long?; answer: Two years, at "most"',
        'question: 5" pipes; answer: no',
        "question: And then?; answer: It ends",
    ]
