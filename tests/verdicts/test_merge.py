"""Detectors and budget in one report."""

from __future__ import annotations

from groundwire._loop import run
from groundwire.config import Config
from groundwire.engine import Groundwire
from groundwire.types import Detection, Flag, HallucinationReport, HallucinationType
from groundwire.verdicts.summary import budget_flags, with_detection

ANSWER = "The tower is 67 metres tall. It was painted by Ruth Okafor."
SOURCE = "The tower is 67 metres tall and stands in the harbour."


def report(answer: str = ANSWER, source: str = SOURCE) -> HallucinationReport:
    engine = Groundwire(Config())
    try:
        return run(engine.check(answer, source))
    finally:
        run(engine.aclose())


def flag(kind: HallucinationType, start: int, end: int) -> Flag:
    return Flag(kind, start, end, ANSWER[start:end], 0.85)


def test_what_a_source_carries_is_not_called_unknown() -> None:
    carried = flag(HallucinationType.FABRICATED_FACT, 0, 28)
    wrong = flag(HallucinationType.WRONG_ATTRIBUTE, 0, 28)
    elsewhere = flag(HallucinationType.NONEXISTENT_ENTITY, 47, 58)
    merged = with_detection(report(), Detection(flags=(carried, wrong, elsewhere)))
    assert merged.flags == (wrong, elsewhere)
    assert merged.flagged


def test_a_flag_raises_the_risk_and_marks_its_words() -> None:
    before = report(answer="The tower is 67 metres tall.")
    assert before.flagged is False
    merged = with_detection(before, Detection(flags=(flag(HallucinationType.TEMPORAL_ERROR, 4, 9),)))
    assert merged.flagged
    assert merged.risk == 0.85
    assert (merged.spans[0].start, merged.spans[0].end) == (4, 9)


def test_a_detector_that_failed_is_not_fine() -> None:
    merged = with_detection(report(answer="The tower is 67 metres tall."), Detection(errors=("the store is gone",)))
    assert merged.flagged is None
    assert merged.error == "the store is gone"


def test_the_budget_speaks_the_detectors_words() -> None:
    (contradicted,) = budget_flags(report(answer="The tower is 97 metres tall."))
    assert contradicted.type is HallucinationType.CONTRADICTS_FACT
    assert contradicted.correction == "67 metres"
    assert contradicted.fix is not None
    assert "97" in "The tower is 97 metres tall."[slice(*contradicted.fix)]
