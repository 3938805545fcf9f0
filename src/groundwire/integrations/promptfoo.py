"""promptfoo adapter: a Python assertion, for `type: python`, `value: file://groundwire_assert.py`.

That file holds `from groundwire.integrations.promptfoo import get_assert`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from groundwire.errors import BackendError
from groundwire.integrations.evaluator import CONTEXT_KEYS, QUESTION_KEYS, GroundednessChecker, read_record

_ENGINE_KEYS = ("backend", "profile", "target")


def get_assert(output: str | Mapping[str, Any], context: Mapping[str, Any]) -> dict[str, Any]:
    """Grade an output against the sources in the test's `vars` (`context`, `sources`, `documents`, …).

    The assertion's `config` may set `threshold` (default: no claim may be flagged), `backend`, `profile` and
    `target`. One component result per claim. An output that could not be checked fails without a score
    `groundedness` and is tagged `graderError`, as promptfoo tags failures of its own graders.

    Raises:
        BackendError: it could not be checked, and the test has a `not-python` assertion, which would turn a
            failed result into a passed one. promptfoo fails an assertion that raises.
    """
    config = dict(context.get("config") or {})
    options = {key: config[key] for key in _ENGINE_KEYS if key in config}
    found = GroundednessChecker(**options).check(*read_record(_evidence(context.get("vars") or {}), output))
    if found.grounded is None or found.score is None:
        reason = f"could not be checked: {found.error}"
        if "not-python" in _assertion_types(context.get("test")):
            raise BackendError(reason)
        return {"pass": False, "score": 0.0, "reason": reason, "metadata": {"graderError": True}}
    threshold = config.get("threshold")
    return {
        "pass": found.grounded if threshold is None else found.score >= float(threshold),
        "score": found.score,
        "reason": found.reasoning,
        "namedScores": {"groundedness": found.score},
        "componentResults": [_component(claim) for claim in found.claims],
    }


def _evidence(given: Mapping[str, Any]) -> dict[str, Any]:
    """The sources and the question among a test's variables: one called `answer` is what was expected, say.

    promptfoo makes a list of texts a test for each; `[[…]]` arrives whole, and is taken as the list inside.
    """
    known = {key: given[key] for key in (*CONTEXT_KEYS, *QUESTION_KEYS) if key in given}
    return {key: value[0] if _is_wrapped(value) else value for key, value in known.items()}


def _is_wrapped(value: object) -> bool:
    return isinstance(value, list) and len(value) == 1 and isinstance(value[0], list)


def _assertion_types(test: object) -> Iterator[str]:
    """The types of a test's assertions, those in an `assert-set` included."""
    for assertion in test.get("assert") or () if isinstance(test, Mapping) else ():
        yield str(assertion.get("type"))
        yield from _assertion_types(assertion)


def _component(claim: Mapping[str, Any]) -> dict[str, Any]:
    passed = not claim["flagged"]
    reason = f"{claim['status']}: {claim['text']} ({claim['reason']})"
    return {"pass": passed, "score": 1.0 if passed else 0.0, "reason": reason}
