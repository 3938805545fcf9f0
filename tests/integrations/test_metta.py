"""Programs in MeTTa, run by the real interpreter."""

from __future__ import annotations

import json
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
from groundwire.integrations.metta import MettaPredicates, evaluate, new_metta, predicates, register
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
    kb.put_entity(
        Entity("john", "John Smith", "person", attributes=(Attribute("department", Value("Engineering")),))
    )
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
    "program", ["!(py-atom os.system)", '!(py-dot "abc" upper)', '!((py-atom eval) "1")']
)
def test_python_is_blocked(own: tuple[Any, MettaPredicates], program: str) -> None:
    assert "is blocked" in result(own, program)


def test_python_modules_are_not_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "evil.py").write_text("open('owned', 'w')")
    monkeypatch.chdir(tmp_path)
    found = evaluate(new_metta(), "!(import! &self evil)", 1000)
    assert "Error" in str(found)
    assert not (tmp_path / "owned").exists()


def test_allow_python() -> None:
    found = evaluate(new_metta(allow_python=True), '!((py-dot "abc" upper))', 1000)
    assert '"ABC"' in str(found)


def test_step_limit() -> None:
    with pytest.raises(GroundwireError, match="stopped after 5,000 steps"):
        evaluate(new_metta(), "(= (loop $x) (loop (+ $x 1))) !(loop 0)", 5000)


def test_invalid_program_is_a_one_line_error() -> None:
    with pytest.raises(InputError):
        evaluate(new_metta(), "!(+ 1", 100)


def test_command_runs_a_file(company: Path, tmp_path: Path) -> None:
    program = tmp_path / "ask.metta"
    program.write_text('!(entity-exists "John Smith" &kb)\n!(+ 1 1)\n')
    found = CliRunner().invoke(main.app, ["metta", str(program), "--kb", str(company), "--json"])
    assert found.exit_code == 0
    assert json.loads(found.stdout) == [["True"], ["2"]]


def test_missing_program_file() -> None:
    found = CliRunner().invoke(main.app, ["metta", "nosuch.metta"])
    assert isinstance(found.exception, InputError)
    assert "nosuch.metta does not exist" in str(found.exception)


def test_results_before_an_error_are_kept(own: tuple[Any, MettaPredicates]) -> None:
    found = evaluate(own[0], "!(+ 1 1)\n!(hallucination-severity Rumour)\n!(+ 2 2)", 10_000)
    assert [str(result[0])[:6] for result in found] == ["2", "(Error"]
