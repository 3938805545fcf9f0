"""Files of knowledge: what each format says, what is wrong with a row, and that nothing is lost on the way."""

from __future__ import annotations

import io
import shutil
from collections.abc import Iterator
from datetime import UTC, date, datetime
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.knowledge import all_facts

from groundwire.errors import InputError
from groundwire.stores.import_export import (
    READERS,
    ImportResult,
    StrictImportError,
    entities_to_csv,
    facts_to_csv,
    format_of,
    import_rows,
    open_text,
    to_jsonl,
    to_triples,
)
from groundwire.stores.knowledge_base import Knowledge
from groundwire.stores.values import value_of
from groundwire.types import Attribute, Entity, Fact, FactStatus, Provenance, Record, Role, Value, ValueKind


@pytest.fixture
def kb(tmp_path: Path, sqlite_template: Path) -> Iterator[Knowledge]:
    shutil.copyfile(sqlite_template, tmp_path / "kb.db")
    with Knowledge.open(str(tmp_path / "kb.db")) as knowledge:
        yield knowledge


def bring(kb: Knowledge, text: str | bytes, form: str = "csv", *, strict: bool = False) -> ImportResult:
    raw = text.encode() if isinstance(text, str) else text
    with open_text(io.BufferedReader(io.BytesIO(raw)), "utf-8") as file:
        return import_rows(kb, READERS[form](file, "file"), strict=strict)


def said(kb: Knowledge, identity: str) -> list[tuple[str, str]]:
    about = kb.facts_about([identity])
    return [(fact.predicate, value.text) for fact in about if (value := fact.role("object"))]


def test_entities_from_csv(kb: Knowledge) -> None:
    done = bring(
        kb,
        "name,type,aliases,founded:date,height (cm),speaks*,boss:ref,employees\n"
        "Ann Lee,person,Annie; A. Lee,,172,German; Hebrew,Bob,\n"
        "Acme,company,,1976,,,Ann Lee,1500\n",
    )
    assert (done.entities, done.failed) == (2, 0)
    ann, acme = kb.entities(["ann-lee"])["ann-lee"], kb.entities(["acme"])["acme"]
    assert ann.aliases == ("Annie", "A. Lee")
    assert [(a.name, a.value.text, a.many) for a in ann.attributes] == [
        ("height", "172 cm", False),
        ("speaks", "German", True),
        ("speaks", "Hebrew", True),
        ("boss", "Bob", False),
    ]
    assert ann.values_of("height")[0].value.number == pytest.approx(1.72)
    assert acme.values_of("founded")[0].value.day == date(1976, 1, 1)
    assert acme.values_of("boss")[0].value.entity == "ann-lee"
    assert acme.values_of("employees")[0].value.kind is ValueKind.NUMBER


def test_facts_from_csv(kb: Knowledge) -> None:
    bring(
        kb,
        "subject,predicate,object,confidence,source,place,valid_from,status\n"
        "Acme,sold,rockets,0.5,news,Paris,2020-01-01,verified\n",
    )
    (fact,) = all_facts(kb)
    assert (fact.confidence, fact.provenance.source, fact.status) == (0.5, "news", FactStatus.VERIFIED)
    assert [role.name for role in fact.roles] == ["subject", "object", "place"]
    assert fact.valid_from == date(2020, 1, 1)


def test_a_file_does_not_contradict_itself_but_a_later_one_may(kb: Knowledge) -> None:
    both = "subject,predicate,object\nAcme,sells,rockets\nAcme,ceo,Bob\nAcme,sells,traps\n"
    bring(kb, both)
    bring(kb, both)
    assert said(kb, "acme") == [("sells", "rockets"), ("ceo", "Bob"), ("sells", "traps")]
    bring(kb, "subject,predicate,object\nAcme,ceo,Carol\nAcme,sells,anvils\n")
    assert said(kb, "acme") == [("sells", "rockets"), ("sells", "traps"), ("ceo", "Carol"), ("sells", "anvils")]


def test_two_people_of_one_name_are_not_mixed_up(kb: Knowledge) -> None:
    done = bring(kb, "name,team\nJohn Smith,Sales\nJohn Smith,Marketing\n")
    assert [(row.line, "give two things" in row.error) for row in done.bad] == [(3, True)]
    done = bring(kb, "id,name,team\nj1,John Smith,Sales\nj2,John Smith,Marketing\n")
    assert done.failed == 0


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        ("name,founded:date\nAcme,soon\nBob,1970\n", 2, "is not a valid date"),
        ('name,text\nBob,"two\nlines"\n,nameless\n', 4, "has no name"),
        ("name\nBob\nAnn,too,many\n", 3, "has 3 cells"),
        (b"name\nBob\nCaf\xe9\n", 3, "not in the encoding"),
        ("name\nBob\nnul\0\n", 3, "NUL or surrogate"),
        (f"name\nBob\n{'x' * 3000}\n", 3, "3,000 characters"),
        (f'name\nBob\n"{"x" * 200_000}"\n', 3, "is not valid CSV"),
        ("subject,predicate,object,confidence\nBob,is,x,1\nAnn,is,x,high\n", 3, "is not a valid confidence"),
        ("subject,predicate,object\nBob,is,x\nAnn,,x\n", 3, "has no predicate"),
    ],
)
def test_a_bad_row_is_told_by_its_line(kb: Knowledge, text: str | bytes, line: int, reason: str) -> None:
    done = bring(kb, text)
    assert [row.line for row in done.bad] == [line]
    assert reason in done.bad[0].error
    assert kb.find(["Bob"])
    before = list(to_jsonl(kb))
    with pytest.raises(StrictImportError):
        bring(kb, text if isinstance(text, bytes) else text.replace("Bob", "New One"), strict=True)
    assert list(to_jsonl(kb)) == before


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "empty"),
        ("\n", "empty"),
        ("name,Name\n", "duplicate column"),
        ("name,x:colour\n", "unknown kind"),
        ("a,b\n1,2\n", "names no column"),
        (b"\xff\xfen\x00", "names no column"),
    ],
)
def test_a_header_that_cannot_be_used_is_an_error(kb: Knowledge, text: str | bytes, reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        bring(kb, text)


@pytest.mark.parametrize(
    "text",
    [
        b"\xef\xbb\xbfname,type\r\nBob,person\r\n",
        "name;type\nBob;person\n",
        "name\ttype\t\nBob\tperson\t\n",
        "name,type\nBob,person".encode("utf-16"),
        b'"name","type"\n"Bob","person"\n\n',
    ],
)
def test_spreadsheets_write_csv_in_many_ways(kb: Knowledge, text: str | bytes) -> None:
    assert bring(kb, text).failed == 0
    assert kb.find(["Bob"])["Bob"].entity.type == "person"


def test_triples(kb: Knowledge) -> None:
    done = bring(kb, "Acme\tfounded\t1976\nAcme\tsells*\trockets\nno tabs here\n", "triples")
    assert said(kb, "acme") == [("founded", "1976"), ("sells", "rockets")]
    assert [(row.line, row.error[:6]) for row in done.bad] == [(3, "is not")]
    assert list(to_triples(kb)) == ["Acme\tfounded\t1976\n", "Acme\tsells*\trockets\n"]


def test_short_json_lines(kb: Knowledge) -> None:
    done = bring(
        kb,
        '{"name": "Ann", "attributes": {"age": 40, "speaks": ["German", "Hebrew"]}}\n'
        '{"subject": "Ann", "predicate": "born", "object": "1980"}\n'
        '[1]\n{"name": 5}\n{"kind": "dog", "name": "x"}\nnot json\n'
        '{"predicate": "p", "roles": [{"name": "a", "value": {"text": "x", "kind": "colour"}}]}\n'
        '{"predicate": "p", "subject": "x", "confidence": NaN}\n'
        '{"predicate": "p", "subject": "x", "start": 99999999999999999999}\n',
        "jsonl",
    )
    assert [row.line for row in done.bad] == [3, 4, 5, 6, 7, 8, 9]
    ann = kb.find(["Ann"])["Ann"].entity
    assert [(a.name, a.value.text, a.many) for a in ann.attributes] == [
        ("age", "40", False),
        ("speaks", "German", True),
        ("speaks", "Hebrew", True),
    ]
    assert said(kb, "ann") == [("born", "1980")]


def test_csv_can_be_written_and_read_again(kb: Knowledge, tmp_path: Path) -> None:
    bring(kb, "name,type,speaks*,boss:ref,born\nAnn,person,Old; German\\; Low,Bob,1980\nBob,person,,,\n")
    bring(kb, "subject,predicate,object,place\nAnn,likes,tea,Paris\n")
    with Knowledge.open(str(tmp_path / "again.db")) as again:
        for export in (entities_to_csv, facts_to_csv):
            assert bring(again, "".join(export(kb))).failed == 0
        assert set(again.entities(["ann"])["ann"].attributes) == set(kb.entities(["ann"])["ann"].attributes)
        assert list(entities_to_csv(again)) == list(entities_to_csv(kb))
        assert list(facts_to_csv(again)) == list(facts_to_csv(kb))


def test_an_export_holds_no_formula_and_no_escape(kb: Knowledge, tmp_path: Path) -> None:
    bring(kb, 'name,type,motto\n=1+1,person,"\'=HYPERLINK(1)"\nBob,person,a\x9b31m\n')
    bring(kb, "subject,predicate,object\nBob,likes,@SUM(1)\nBob,weighs,-5\n")
    rows = [cell for export in (entities_to_csv, facts_to_csv) for line in export(kb) for cell in line.split(",")]
    assert not [cell for cell in rows if cell.startswith(("=", "@")) or "\x9b" in cell]
    assert "-5" in rows
    assert "\x9b" not in "".join((*to_jsonl(kb), *to_triples(kb)))
    with Knowledge.open(str(tmp_path / "again.db")) as again:
        for export in (entities_to_csv, facts_to_csv):
            assert bring(again, "".join(export(kb))).failed == 0
        assert list(entities_to_csv(again)) == list(entities_to_csv(kb))


def test_what_a_file_holds_is_told_by_its_name() -> None:
    assert [format_of(Path(f"x.{end}")) for end in ("CSV", "tsv", "jsonl")] == ["csv", "csv", "jsonl"]
    assert format_of(Path("x.txt"), "triples") == "triples"
    for path, given_ in (("x.txt", ""), ("x.csv", "pdf")):
        with pytest.raises(InputError, match="--format"):
            format_of(Path(path), given_)


texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=12)
words = texts.filter(str.strip)
values = st.one_of(
    words.map(Value),
    words.map(value_of),
    st.floats(allow_nan=False, allow_infinity=False).map(lambda n: Value(str(n), ValueKind.NUMBER, n, "m")),
    st.dates().map(lambda d: Value(d.isoformat(), ValueKind.DATE, day=d)),
    st.tuples(words, st.sampled_from("abc")).map(lambda p: Value(p[0], ValueKind.REFERENCE, entity=p[1])),
)
days = st.none() | st.dates()
attributes = st.builds(Attribute, words, values, st.booleans(), days, days)
entities = st.builds(
    Entity, st.sampled_from("abcdef"), words, st.just("") | texts, st.lists(words, max_size=3).map(tuple),
    st.lists(attributes, max_size=3).map(tuple),
)  # fmt: skip
chances = st.floats(0, 1)
facts = st.builds(
    Fact,
    st.just(""),
    st.sampled_from(["is", "has", "worksIn"]),
    st.lists(st.builds(Role, st.sampled_from(["subject", "object", "place"]), values), min_size=1).map(tuple),
    chances,
    st.sampled_from(FactStatus),
    st.builds(
        Provenance,
        texts,
        st.none() | st.integers(0, 2**31 - 1),
        st.none(),
        st.datetimes(min_value=datetime(1990, 1, 1), timezones=st.just(UTC)),
    ),
    st.none() | st.builds(Record, chances, chances, st.floats(-9, 9), texts),
    st.just("") | words,
    st.booleans(),
    st.just(""),
    days,
    days,
)


@given(st.lists(entities, max_size=6), st.lists(facts, max_size=6))
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_an_export_makes_the_same_store(
    tmp_path_factory: pytest.TempPathFactory, sqlite_template: Path, some: list[Entity], told: list[Fact]
) -> None:
    folder = tmp_path_factory.mktemp("round")
    for name in ("a.db", "b.db"):
        shutil.copyfile(sqlite_template, folder / name)
    with Knowledge.open(str(folder / "a.db")) as first, Knowledge.open(str(folder / "b.db")) as second:
        first.put_entities(some)
        first.put_many(told)
        written = list(to_jsonl(first))
        assert bring(second, "".join(written), "jsonl").bad == []
        assert list(to_jsonl(second)) == written


def test_a_reader_broken_off_leaves_the_file_to_its_owner() -> None:
    """What reads a file must not close it when somebody stops half-way: its owner does."""
    file = io.StringIO("name,type\nAnn,person\nBo,person\n")
    rows = READERS["csv"](file, "people.csv")
    next(iter(rows))
    del rows
    assert not file.closed
