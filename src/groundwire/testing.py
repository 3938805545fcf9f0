"""`assert_grounded`: a test that fails when an answer says what its sources do not carry."""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

if TYPE_CHECKING:
    from groundwire.api import Further
    from groundwire.engine import Sources
    from groundwire.types import HallucinationReport

__all__ = ["assert_grounded"]


def assert_grounded(
    answer: str,
    sources: Sources = (),
    *,
    question: str = "",
    max_flagged: int = 0,
    **options: Unpack[Further],
) -> HallucinationReport:
    """Fail where more than `max_flagged` claims of an answer are not carried by its sources.

    `options` are those of `groundwire.check` (target, profile, backend, config, history, kb, now). Where a
    claim could not be checked at all, that is a `BackendError` and no passed test. Returns the report.
    """
    __tracebackhide__ = True  # the failure is the caller's line, not ours
    from groundwire.api import check
    from groundwire.errors import BackendError
    from groundwire.reports.plaintext import explain_failure, ungrounded

    report = check(answer, sources, question=question, **options)
    claims, flags = ungrounded(report)
    if len(claims) + len(flags) > max_flagged:
        raise AssertionError(explain_failure(report, f"allowed: {max_flagged}"))
    if report.error:
        raise BackendError(f"not everything could be checked: {report.error}")
    return report
