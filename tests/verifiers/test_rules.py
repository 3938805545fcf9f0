"""The table of rules: who may speak, and how far a rule moves an estimate."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence

import pytest

from groundwire.types import Estimate, Query
from groundwire.verifiers.rules import RULES, Rule, RuleResult, RuleVerifier, detect, moved

LEANING = Estimate.point(0.6, 0.1, "test")
SUPPORTED = RuleResult("supported", "it is so")


class Leaning:
    async def estimate(self, queries: Sequence[Query]) -> list[Estimate]:
        return [LEANING for _ in queries]


@pytest.mark.parametrize("label", ["supported", "contradicted", "open"])
def test_a_rule_moves_its_precision_of_the_probability(label: str) -> None:
    found = moved(LEANING, 0.8, RuleResult(label, "because"))  # type: ignore[arg-type]
    side = {"supported": found.p_yes, "contradicted": found.p_no, "open": found.p_unsure}[label]
    assert side >= 0.8
    assert found.p_yes + found.p_no + found.p_unsure == pytest.approx(1.0)
    assert found.reason == "because"


async def test_the_first_rule_that_speaks_decides() -> None:
    silent = Rule("silent", lambda _: None, 0.9, 30, frozenset({"en"}))
    sure = Rule("sure", lambda _: SUPPORTED, 0.9, 30, frozenset({"en"}))
    against = Rule("against", lambda _: RuleResult("contradicted", "no"), 0.9, 30, frozenset({"en"}))
    (found,) = await RuleVerifier(Leaning(), (silent, sure, against)).estimate([Query("It is so.", "It is.")])
    assert found.p_yes > 0.9
    assert found.reason == "it is so"


async def test_what_could_not_be_checked_is_not_decided_by_a_rule() -> None:
    class Failed:
        async def estimate(self, queries: Sequence[Query]) -> list[Estimate]:
            return [Estimate.failed("down") for _ in queries]

    sure = Rule("sure", lambda _: SUPPORTED, 0.9, 30, frozenset({"en"}))
    (found,) = await RuleVerifier(Failed(), (sure,)).estimate([Query("It is so.", "It is.")])
    assert found.error == "down"


def test_a_rule_for_english_leaves_other_languages_alone() -> None:
    sure = Rule("sure", lambda _: SUPPORTED, 0.9, 30, frozenset({"en"}))
    assert detect(sure, Query("The door is locked.", "It is.")) == SUPPORTED
    assert detect(sure, Query("הדלת נעולה.", "הדלת נעולה.")) is None


@pytest.mark.parametrize(
    ("claim", "fires"),
    [
        ("The tower is 330 metres tall.", True),
        ("the tower is 330 metres tall", True),
        ("The tower is tall.", False),
        ("The old tower is 330 metres tall.", False),
        ("Is 330.", False),
    ],
)
def test_only_a_whole_sentence_of_the_source_is_verbatim(claim: str, fires: bool) -> None:
    context = "[S0] Rome is in Italy. The tower is 330 metres tall. It is old."
    assert (detect(RULES[1], Query(claim, context)) is not None) is fires


def test_every_rule_has_a_measurement_that_pays() -> None:
    assert all(rule.support >= 30 and rule.precision >= 0.9 for rule in RULES)


def test_the_prover_is_loaded_only_where_the_evidence_states_rules() -> None:
    code = (
        "import sys; from groundwire.types import Query; from groundwire.verifiers.rules import RULES, detect;"
        "detect(RULES[0], Query('The pump is red.', 'The pump is red. All is well.'));"
        "assert 'groundwire.verifiers.logic.prover' not in sys.modules;"
        "detect(RULES[0], Query('The pump is red.', 'If the lamp is on, the pump is red.'));"
        "assert 'groundwire.verifiers.logic.prover' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
