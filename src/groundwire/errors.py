"""Every error groundwire raises on purpose.

GroundwireError            hint, retryable, exit_code
├── InputError             what was given cannot be used                     exit 2
│   └── ConfigError        a key or value of the configuration is wrong      exit 2
├── MissingExtra           a feature needs `pip install groundwire[extra]`   exit 2
├── StoreError             the store failed: full, missing, newer release    exit 3
├── Overloaded             no capacity left; try again after `retry_after`   exit 3, retryable
├── FactNotGrounded        the memory gate refused a fact                    exit 1
└── BackendError           the verifier or model behind it failed            exit 3
    ├── BackendTimeout     it did not answer in time                         retryable
    ├── RateLimited        it asked us to come back later (retry_after)      retryable
    ├── BackendDown        it cannot be reached, or answers nonsense
    └── QueryRefused       it works, but refuses to judge this query
"""

from __future__ import annotations


class GroundwireError(Exception):
    """Base of the tree. `str(error)` is one line that a user can act on."""

    exit_code = 3
    retryable = False

    def __init__(self, message: str, *, hint: str = "") -> None:
        self.message = " ".join(message.split())
        self.hint = " ".join(hint.split())
        super().__init__(f"{self.message}: {self.hint}" if hint else self.message)


class InputError(GroundwireError):
    exit_code = 2


class ConfigError(InputError):
    pass


class MissingExtra(GroundwireError):
    exit_code = 2

    def __init__(self, feature: str, extra: str, *, install: str = "") -> None:
        command = f"pip install {install}" if install else f"pip install 'groundwire[{extra}]'"
        super().__init__(f"{feature} needs the extra '{extra}'", hint=command)
        self.extra = extra


class StoreError(GroundwireError):
    pass


class Overloaded(GroundwireError):
    """`retry_after` is the number of seconds until there is likely to be capacity."""

    retryable = True

    def __init__(self, message: str, *, retry_after: float, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.retry_after = retry_after


class FactNotGrounded(GroundwireError):
    """The evidence does not support the fact; `gap_bits` is how many bits are missing."""

    exit_code = 1
    status = "ErrFactNotGrounded"

    def __init__(self, message: str, *, gap_bits: float | None = None, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.gap_bits = gap_bits

    def __str__(self) -> str:
        return f"{self.status}: {super().__str__()}"


class BackendError(GroundwireError):
    def __init__(self, message: str, *, hint: str = "", retryable: bool | None = None) -> None:
        super().__init__(message, hint=hint)
        if retryable is not None:
            self.retryable = retryable


class BackendTimeout(BackendError):
    retryable = True


class RateLimited(BackendError):
    retryable = True

    def __init__(self, message: str, *, retry_after: float | None = None, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.retry_after = retry_after


class BackendDown(BackendError):
    pass


class QueryRefused(BackendError):
    pass
