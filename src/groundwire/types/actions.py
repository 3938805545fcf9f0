"""What an agent did and what it says it did: calls, messages and verdicts on statements."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class ActionStatus(StrEnum):
    """`UNPERFORMED`: no such call. `FAILED`: the call failed. `CONTRADICTED`: its result says otherwise."""

    PERFORMED = "performed"
    UNPERFORMED = "unperformed"
    FAILED = "failed"
    CONTRADICTED = "contradicted"


@dataclass(frozen=True, slots=True)
class CallRecord:
    """One tool call with its result; `failed` is None if the format does not say."""

    name: str
    arguments: str
    result: str = ""
    failed: bool | None = None


@dataclass(frozen=True, slots=True)
class AgentMessage:
    """What the agent said, and the number of calls it had made by then (those of the same message count)."""

    text: str
    calls: int


@dataclass(frozen=True, slots=True)
class ActionLedger:
    """The calls of a conversation in order, its last request, and the agent's messages after it."""

    calls: tuple[CallRecord, ...] = ()
    messages: tuple[AgentMessage, ...] = ()
    request: str = ""


@dataclass(frozen=True, slots=True)
class ActionVerdict:
    """A statement of an agent about its own action. `start` and `end` are offsets into its message."""

    text: str
    start: int
    end: int
    status: ActionStatus
    reason: str = ""
    call: str = ""

    @property
    def is_flagged(self) -> bool:
        return self.status is not ActionStatus.PERFORMED
