"""promptfoo adapter: a Python assertion, for `type: python`, `value: file://groundwire_assert.py`.

That file holds `from groundwire.integrations.promptfoo import get_assert`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from groundwire.errors import BackendError
from groundwire.integrations.evaluator import GroundednessChecker, read_record

_ENGINE_KEYS = ("backend", "profile", "target")


def get_assert(output: str, context: Mapping[str, Any]) -> dict[str, Any]:
    """Grade an output against the sources in the test's `vars` (`context`, `sources`, `documents`, …).

    The assertion's `config` may set `threshold` (default: no claim may be flagged), `backend`, `profile` and
    `target`. One component result per claim. An output that could not be checked raises `BackendError`, so
    that promptfoo reports an error of the grader and not a low score.
    """
    config = dict(context.get("config") or {})
    options = tuple((key, config[key]) for key in _ENGINE_KEYS if key in config)
    found = _checker(options).check(*read_record(context.get("vars") or {}, output))
    if found.grounded is None or found.score is None:
        raise BackendError(f"could not be checked: {found.error}")
    threshold = config.get("threshold")
    return {
        "pass": found.grounded if threshold is None else found.score >= float(threshold),
        "score": found.score,
        "reason": found.reasoning,
        "namedScores": {"groundedness": found.score},
        "componentResults": [_component(claim) for claim in found.claims],
    }


@cache
def _checker(options: tuple[tuple[str, Any], ...]) -> GroundednessChecker:
    """Return one checker per set of options: promptfoo may call the assertion many times in a process."""
    return GroundednessChecker(**dict(options))


def _component(claim: Mapping[str, Any]) -> dict[str, Any]:
    passed = not claim["flagged"]
    reason = f"{claim['status']}: {claim['text']} ({claim['reason']})"
    return {"pass": passed, "score": 1.0 if passed else 0.0, "reason": reason}
