"""`assert_grounded`: fail a test if the sources do not support an answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime

    from groundwire.config import BackendName, Config, ProfileName
    from groundwire.engine import Sources
    from groundwire.retrieval.load import History
    from groundwire.types import HallucinationReport, KnowledgeBase

__all__ = ["assert_grounded"]


def assert_grounded(
    answer: str,
    sources: Sources = (),
    *,
    question: str = "",
    max_flagged: int = 0,
    history: History = (),
    kb: KnowledgeBase | str | None = None,
    now: datetime | None = None,
    config: Config | None = None,
    backend: BackendName | None = None,
    profile: ProfileName | None = None,
    target: float | None = None,
) -> HallucinationReport:
    """Fail if more than `max_flagged` claims of an answer are flagged; returns the report.

    The other parameters are those of `groundwire.check`. Raises `BackendError` if a claim could not be
    checked, so that the test does not pass.
    """
    __tracebackhide__ = True  # pytest shows the caller's line
    from groundwire.api import check
    from groundwire.errors import BackendError
    from groundwire.reports.plaintext import explain_failure, ungrounded

    report = check(
        answer, sources, question=question, history=history, kb=kb, now=now,
        config=config, backend=backend, profile=profile, target=target,
    )  # fmt: skip
    claims, flags = ungrounded(report)
    if len(claims) + len(flags) > max_flagged:
        raise AssertionError(explain_failure(report, f"allowed: {max_flagged}"))
    if report.error:
        raise BackendError(f"not everything could be checked: {report.error}")
    return report
