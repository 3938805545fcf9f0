"""Runs in the peers' own environment: rows come in, a peer's verdicts go out, a JSON object a line.

It imports nothing of groundwire, and a peer only when asked for it: `python peer_worker.py PEER`.
"""

import json
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

Verdict = tuple[float, bool]
Judge = Callable[[dict[str, str]], Verdict]

DIRECTOR_THRESHOLD = 0.6
"""director-ai's own default, `DirectorConfig.coherence_threshold`: less coherent is not approved."""


def director_ai() -> Judge:
    """Its rules, the tier that needs no weights."""
    backend: Any = import_module("director_ai.core.scoring.rules_scorer").RulesBackend()

    def judge(row: dict[str, str]) -> Verdict:
        score = float(backend.score(row["context"], row["claim"]))
        return 1.0 - score, score < DIRECTOR_THRESHOLD

    return judge


def styxx() -> Judge:
    """Its guardrail without the encyclopaedia; anything but "pass" is a flag."""
    check: Any = import_module("styxx.guardrail").check

    def judge(row: dict[str, str]) -> Verdict:
        found = check(row["question"], row["claim"], reference=row["context"], use_entity_verify=False)
        return float(found.risk), found.action != "pass"

    return judge


PEERS: dict[str, Callable[[], Judge]] = {"director-ai": director_ai, "styxx": styxx}


def main() -> None:
    out, sys.stdout = sys.stdout, sys.stderr  # whatever a peer prints must not mix with its verdicts
    judge = PEERS[sys.argv[1]]()
    for line in sys.stdin:
        try:
            risk, flagged = judge(json.loads(line))
            answer: dict[str, object] = {"risk": risk, "flagged": flagged}
        except (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError) as error:
            answer = {"error": f"{type(error).__name__}: {error}"}
        out.write(json.dumps(answer) + "\n")


if __name__ == "__main__":
    main()
