"""Why a claim could not be checked: one line that begins with a stable code.

`Estimate.error` is `"<code>: <what happened>"`, where the code is one of
    rate_limited   the backend asked us to come back later: worth queueing ("… (in 30 s)" where it said when)
    timeout        no answer in time
    error          anything else
so that a caller can tell "ask again later" from "broken" without reading prose.
"""

from __future__ import annotations

import re
from typing import Literal, TypeVar

from groundwire.errors import BackendDown, BackendError, BackendTimeout, GroundwireError, RateLimited
from groundwire.types import Estimate

T = TypeVar("T")
FailureCode = Literal["rate_limited", "timeout", "error"]
_CODES: tuple[FailureCode, ...] = ("rate_limited", "timeout", "error")
_LATER = re.compile(r" \(in (\d+(?:\.\d+)?) s\)$")


def failure(error: GroundwireError) -> str:
    """The one line for an exception."""
    match error:
        case RateLimited():
            when = "" if error.retry_after is None else f" (in {error.retry_after:.1f} s)"
            return f"rate_limited: {error}{when}"
        case BackendTimeout():
            return f"timeout: {error}"
        case _:
            return f"error: {error}"


def brief(error: str) -> str:
    """A failure's line fit for a log: without what a server or a model said, which may quote a source.

    >>> brief("error: host refused the request (400): 'The patient …' is too long")
    'error: host refused the request (400)'
    >>> brief("error: the model answered none of YES, NO, UNSURE, but 'The patient'")
    "error: the model answered none of YES, NO, UNSURE, but '…'"
    """
    return re.sub(r"'.*'", "'…'", ": ".join(error.split(": ")[:2]))


def failure_code(estimate: Estimate) -> FailureCode | None:
    """None where the estimate is good; a line without a code of ours counts as `error`."""
    if estimate.error is None:
        return None
    code = estimate.error.partition(":")[0]
    return code if code in _CODES else "error"


def all_failed(count: int, error: GroundwireError) -> list[Estimate]:
    return [Estimate.failed(failure(error))] * count


def as_error(estimate: Estimate) -> BackendError:
    """The way back: a failed estimate as the exception it stands for.

    >>> as_error(Estimate.failed(failure(RateLimited("host is busy", retry_after=30)))).retry_after
    30.0
    """
    code, message = failure_code(estimate), estimate.error or "no estimate"
    message = message.removeprefix(f"{code}: ")
    match code:
        case "rate_limited":
            later = _LATER.search(message)
            wait = float(later[1]) if later else None
            return RateLimited(_LATER.sub("", message), retry_after=wait)
        case "timeout":
            return BackendTimeout(message)
        case _:
            return BackendError(message)


def matched(estimates: list[T], count: int) -> list[T]:
    """One estimate per query, or the verifier answers nonsense."""
    if len(estimates) != count:
        raise BackendDown(f"the verifier gave {len(estimates)} estimates for {count} queries")
    return estimates
