"""Programs in MeTTa, run by the real interpreter."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from groundwire._loop import run
from groundwire.cli import main
from groundwire.config import Config
from groundwire.engine import Groundwire
from groundwire.errors import GroundwireError, InputError
from groundwire.integrations.metta import TYPES, MettaPredicates, predicates, register
from groundwire.integrations.metta_runner import ALLOWED, _operations, evaluate, is_operation, new_metta
from groundwire.stores.knowledge_base import Knowledge
from groundwire.types import Attribute, Entity, Turn, Value

NOW = datetime(2026, 11, 16)
SEED = [
    "detect-hallucinations",
    "hallucination-confidence",
    "hallucination-severity",
    "detect-fabricated-facts",
    "detect-nonexistent-entities",
    "detect-wrong-attributes",
    "detect-kb-contradictions",
    "detect-history-contradictions",
    "detect-unsupported-claims",
    "detect-temporal-errors",
    "detect-logical-inconsistencies",
    "segment-response",
    "extract-claims",
    "extract-entities",
    "extract-temporals",
    "entity-exists",
    "attribute-matches",
    "contradicts-kb",
    "contradicts-history",
    "mitigate-hallucination",
    "find-correction",
    "generate-regeneration-guidance",
    "score-hallucination-confidence",
    "linguistic-signals",
    "evidence-strength",
]
WRONG = "John Smith works in the Marketing department."


@pytest.fixture(scope="module")
def company(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("metta") / "company.db"
    kb = Knowledge.open(str(path))
    kb.put_entity(Entity("john", "John Smith", "person", attributes=(Attribute("department", Value("Engineering")),)))
    kb.close()
    return path


@pytest.fixture(scope="module")
def own(company: Path) -> Iterator[tuple[Any, MettaPredicates]]:
    metta, kb, engine = new_metta(), Knowledge.open(str(company), create=False), Groundwire(Config())
    turns = [Turn(1, "assistant", "The meeting is on Monday.")]
    found = register(metta, engine, kb=kb, history=turns, now=NOW)
    yield metta, found
    found.close()
    kb.close()
    run(engine.aclose())


def result(own: tuple[Any, MettaPredicates], program: str) -> str:
    return " ".join(str(atom) for found in evaluate(own[0], program, 100_000) for atom in found)


def test_every_predicate_is_registered(own: tuple[Any, MettaPredicates]) -> None:
    assert set(SEED) <= set(predicates(own[1]))
    for name in SEED:
        assert name not in result(own, f"!(get-metatype {name})")  # a symbol would stand for itself
        assert "Grounded" in result(own, f"!(get-metatype {name})")


@pytest.mark.parametrize("name", SEED)
def test_get_type_answers_for_every_predicate(own: tuple[Any, MettaPredicates], name: str) -> None:
    assert result(own, f"!(get-type {name})") == TYPES[name]


def test_an_argument_of_another_type_is_refused_by_its_type(own: tuple[Any, MettaPredicates]) -> None:
    assert "BadArgType 1 String Number" in result(own, "!(entity-exists 3 &kb)")


def test_a_confidence_can_be_compared_in_place(own: tuple[Any, MettaPredicates]) -> None:
    flag = '(HallucinationFlag WrongAttribute 0 4 "This" 0.625)'
    assert result(own, f"!(> (hallucination-confidence {flag}) 0.5)") == "True"


def test_flags_can_be_matched(own: tuple[Any, MettaPredicates]) -> None:
    assert "WrongAttribute" in result(own, f'!(detect-hallucinations "{WRONG}" &dialogue &kb)')
    program = f"""
    !(let $flags (detect-hallucinations "{WRONG}" &dialogue &kb)
       (let (HallucinationFlag $type $start $end $content $confidence $said $evidence $handle) (car-atom $flags)
         ($type (> $confidence 0.5))))
    """
    assert result(own, program) == "(WrongAttribute True)"


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        ("!(hallucination-severity FabricatedFact)", "0.95"),
        ('!(entity-exists "John Smith" &kb)', "True"),
        ('!(entity-exists "Jane Doe" &kb)', "False"),
        ('!(attribute-matches "John Smith" "department" "Engineering" &kb)', "True"),
        ('!(attribute-matches "John Smith" "department" "Marketing" &kb)', "False"),
        ('!(attribute-matches "Jane Doe" "department" "Marketing" &kb)', "False"),
        (f'!(let $c (extract-claims "{WRONG}") (contradicts-kb (car-atom $c) &kb))', "True"),
        ('!(let $c (extract-claims "The meeting is on Friday.") (contradicts-history (car-atom $c) &dialogue))', "True"),
        ('!(let $c (extract-claims "The meeting is on Monday.") (contradicts-history (car-atom $c) &dialogue))', "False"),
        ('!(detect-temporal-errors (segment-response "The event happened last year in 2026."))', "TemporalError"),
        ('!(detect-logical-inconsistencies (segment-response "The system is both running and not running."))', "LogicalInconsistency"),
        (f'!(detect-wrong-attributes (segment-response "{WRONG}") &kb)', "WrongAttribute"),
        ('!(detect-temporal-errors (segment-response "The project was completed before the deadline."))', "()"),
        ('!(detect-history-contradictions (segment-response "The meeting is on Friday.") &dialogue)', "ContradictsPrior"),
        (f'!(let $f (detect-wrong-attributes (segment-response "{WRONG}") &kb) (find-correction (car-atom $f) &kb))', '(Just "Engineering")'),
        ('!(find-correction (HallucinationFlag FabricatedFact 0 4 "This" 0.9) &kb)', "Nothing"),
        ('!(mitigate-hallucination (HallucinationFlag FabricatedFact 0 5 "This." 0.9) &kb)', "(Remove 0 5"),
        ('!(generate-regeneration-guidance ((HallucinationFlag FabricatedFact 0 4 "This" 0.9)))', "1. Verify the fact: 'This'"),
        ('!(extract-entities "Ann met Bo Larsen.")', '"Bo Larsen" ProperName'),
        ('!(extract-temporals "It opened on 3 May 2024.")', '"2024-05-03"'),
        ('!(linguistic-signals "It is definitely true.")', "LinguisticSignal"),
        ("!(evidence-strength (KBEvidence True False 0.8))", "0.8"),
        ("!(evidence-strength Nothing)", "0.0"),
        ('!(score-hallucination-confidence (HallucinationFlag WrongAttribute 0 4 "This" 0.9) Nothing Nothing () ())', "0.75"),
        ('!(hallucination-confidence (HallucinationFlag WrongAttribute 0 4 "This" 0.625))', "0.625"),
    ],
)  # fmt: skip
def test_predicate_results(own: tuple[Any, MettaPredicates], program: str, expected: str) -> None:
    assert expected in result(own, program)


@pytest.mark.parametrize(
    "program",
    [
        "!(entity-exists 3 &kb)",
        '!(entity-exists "Ann")',
        '!(knowledge-base "/nowhere/at/all.db")',
        "!(hallucination-severity Nonsense)",
        '!(detect-temporal-errors "no segments")',
        "!(evidence-strength 7)",
        '!(dialogue-state ((says "user" "x")))',
    ],
)
def test_invalid_argument_is_an_error_atom(own: tuple[Any, MettaPredicates], program: str) -> None:
    assert result(own, program).startswith("(Error")
    assert "Traceback" not in result(own, program)


@pytest.mark.parametrize(
    "program",
    [
        "!(py-atom os.system)",
        '!(py-dot "abc" upper)',
        '!((py-atom eval) "1")',
        "!(load-ascii &self /etc/passwd)",
        "!(register-module! /etc/passwd)",
        '!(git-module! "https://localhost/x.git")',
        "!(mod-space! fileio)",
        "!(include /etc/passwd)",
        "!(import! &self fileio)",
        '!(let $call (parse "(register-module! /etc/passwd)") $call)',
        '!(bind! mine register-module!) !(mine "/etc/passwd")',
    ],
)
def test_python_and_files_are_blocked(own: tuple[Any, MettaPredicates], program: str) -> None:
    assert "is blocked" in result(own, program)


def test_library_holds_no_operation_that_is_not_allowed() -> None:
    metta = new_metta()
    found = [atom for result in evaluate(metta, "!(match &self $x (quote $x))", 100_000) for atom in result]
    assert len(found) > 200
    assert {str(atom) for one in found for atom in _operations(one)} <= ALLOWED


def test_allowed_operations_exist() -> None:
    unguarded = new_metta(allow_python=True)
    assert [name for name in sorted(ALLOWED) if not is_operation(unguarded.parse_single(name))] == []


def test_files_below_the_folder_are_imported(tmp_path: Path) -> None:
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "double.metta").write_text("!(import! &self main)\n(= (double $x) (* $x 2))")
    (tmp_path / "main.metta").write_text("!(import! &self lib:double)\n!(include lib:double)\n!(double 21)")
    metta = new_metta(folder=tmp_path)
    program = (tmp_path / "main.metta").read_text()
    assert str(evaluate(metta, program, 10_000)[-1]) == "[42]"


def test_imported_files_are_blocked_too(tmp_path: Path) -> None:
    (tmp_path / "lib.metta").write_text("!(register-module! /etc/passwd)")
    assert "is blocked" in str(evaluate(new_metta(folder=tmp_path), "!(import! &self lib)", 10_000))


def test_imported_files_have_a_step_limit(tmp_path: Path) -> None:
    (tmp_path / "lib.metta").write_text("(= (loop $x) (loop (+ $x 1))) !(loop 0)")
    metta = new_metta(folder=tmp_path, steps=500)
    assert "stopped after 500 steps" in str(evaluate(metta, "!(import! &self lib)", 10_000))


@pytest.mark.parametrize("name", ["../secret", "inner:..:..:secret", "link", "{outside}/secret"])
def test_files_outside_the_folder_are_not_imported(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "folder"
    (folder / "inner").mkdir(parents=True)
    (tmp_path / "secret.metta").write_text("(secret password)")
    (folder / "link.metta").symlink_to(tmp_path / "secret.metta")
    metta = new_metta(folder=folder)
    found = evaluate(metta, f"!(import! &self {name.format(outside=tmp_path)})", 1000)
    assert "outside the program's folder" in str(found)
    assert evaluate(metta, "!(match &self (secret $x) $x)", 1000) == [[]]


def test_python_modules_are_not_imported(tmp_path: Path) -> None:
    (tmp_path / "evil.py").write_text("raise SystemExit")
    found = evaluate(new_metta(folder=tmp_path), "!(import! &self evil)", 1000)
    assert "evil.metta does not exist" in str(found)


def test_command_opens_stores_below_the_program_only(company: Path, tmp_path: Path) -> None:
    ask = f'!(entity-exists "John Smith" (knowledge-base "{company.name}"))'
    program = company.parent / "ask.metta"
    program.write_text(ask)
    assert CliRunner().invoke(main.app, ["metta", str(program)]).stdout == "[True]\n"
    program.write_text(ask.replace(company.name, str(tmp_path / "other.db")))
    found = CliRunner().invoke(main.app, ["metta", str(program)])
    assert found.exit_code == 2
    assert "outside the program's folder" in found.stdout


def test_allow_python() -> None:
    found = evaluate(new_metta(allow_python=True), '!((py-dot "abc" upper))', 1000)
    assert '"ABC"' in str(found)


def test_step_limit() -> None:
    with pytest.raises(GroundwireError, match="stopped after 5,000 steps"):
        evaluate(new_metta(), "(= (loop $x) (loop (+ $x 1))) !(loop 0)", 5000)


@pytest.mark.parametrize(
    "program",
    [
        "!" + "(" * 20_000,
        "!" + "(a " * 5_000 + ")" * 5_000,
        '(a x" ")" ' * 5_000,  # a quote within a word does not begin a string
        "$x;" + "(" * 20_000,  # nor does a semicolon within a variable begin a comment
        '!(parse "' + "(" * 20_000 + '")',
    ],
)
def test_deep_nesting_is_an_error_and_no_crash(program: str) -> None:
    script = f"from tests.integrations.test_metta import evaluated; print(evaluated({program!r}))"
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (found.returncode, "more than 500 levels deep" in found.stdout) == (0, True)


def evaluated(program: str) -> str:
    try:
        return str(evaluate(new_metta(), program, 1000))
    except InputError as error:
        return str(error)


def test_parse_reads_an_expression() -> None:
    assert evaluated('!(let $x (parse "(+ 1 2)") $x)') == "[[3]]"
    assert "cannot be parsed" in evaluated('!(parse "(")')
    assert "it is empty" in evaluated('!(parse "")')


def test_invalid_program_is_a_one_line_error() -> None:
    with pytest.raises(InputError):
        evaluate(new_metta(), "!(+ 1", 100)


def test_command_runs_a_file(company: Path, tmp_path: Path) -> None:
    program = tmp_path / "ask.metta"
    program.write_text('!(entity-exists "John Smith" &kb)\n!(+ 1 1)\n')
    found = CliRunner().invoke(main.app, ["metta", str(program), "--kb", str(company), "--json"])
    assert found.exit_code == 0
    assert json.loads(found.stdout) == [["True"], ["2"]]


@pytest.mark.parametrize(
    "program", ["&self !(a b)", "!(add-atom &self &self) !(a b)", "!(bind! me &self) me !(match &self a 1)"]
)
def test_a_program_that_crashes_the_interpreter_is_a_one_line_error(tmp_path: Path, program: str) -> None:
    path = tmp_path / "crash.metta"
    path.write_text(program)
    command = [sys.executable, "-m", "groundwire.cli.main", "metta", str(path)]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    assert found.returncode == 2
    assert found.stderr == "groundwire: the program crashed the MeTTa interpreter\n"


def test_missing_program_file() -> None:
    found = CliRunner().invoke(main.app, ["metta", "nosuch.metta"])
    assert isinstance(found.exception, InputError)
    assert "nosuch.metta does not exist" in str(found.exception)


def test_results_before_an_error_are_kept(own: tuple[Any, MettaPredicates]) -> None:
    found = evaluate(own[0], "!(+ 1 1)\n!(hallucination-severity Rumour)\n!(+ 2 2)", 10_000)
    assert [str(result[0])[:6] for result in found] == ["2", "(Error"]
