"""The synchronous functions of the package: one engine a configuration, kept loaded between calls."""

from __future__ import annotations

from functools import lru_cache
from typing import TypedDict, Unpack

from groundwire.bridge import run
from groundwire.config import BackendName, Config, ProfileName
from groundwire.engine import Groundwire, Sources
from groundwire.types import ClaimVerification, HallucinationReport


class Options(TypedDict, total=False):
    """What every function takes besides its own arguments."""

    config: Config
    backend: BackendName
    profile: ProfileName
    target: float


def check(
    answer: str, sources: Sources, *, question: str = "", response_id: str = "", **options: Unpack[Options]
) -> HallucinationReport:
    """Judge every claim of an answer by its sources."""
    return run(_engine(options).check(answer, sources, question=question, response_id=response_id))


def verify_claim(
    claim: str,
    evidence: Sources,
    confidence: float | None = None,
    *,
    threshold: float | None = None,
    **options: Unpack[Options],
) -> ClaimVerification:
    """Judge one claim; `threshold` is another name of `confidence`."""
    target = threshold if confidence is None else confidence
    return run(_engine(options).verify_claim(claim, evidence, target))


def verify_claims(text: str, context: Sources, **options: Unpack[Options]) -> list[ClaimVerification]:
    """Take a text apart and judge each claim."""
    return run(_engine(options).verify_claims(text, context))


def detect_hallucinations(response: str, context: Sources, **options: Unpack[Options]) -> HallucinationReport:
    """Everything found out about a response."""
    return run(_engine(options).detect_hallucinations(response, context))


def evidence_dependence(question: str, answer: str, evidence: Sources, **options: Unpack[Options]) -> float:
    """0.0: the answer stands without the evidence; 1.0: it hangs on it entirely."""
    return run(_engine(options).evidence_dependence(question, answer, evidence))


def _engine(options: Options) -> Groundwire:
    config = options.get("config") or Config.load()
    changes: dict[str, object] = {}
    if "profile" in options:
        changes["profile"] = options["profile"]
    if "target" in options:
        changes["target"] = options["target"]
    if changes:
        config = Config.model_validate({**config.model_dump(), **changes})
    return _loaded(_Key(config), options.get("backend"))


class _Key:
    """A configuration as a dictionary key: equal settings share one loaded engine."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self.text = repr(config.model_dump())

    def __hash__(self) -> int:
        return hash(self.text)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Key) and self.text == other.text


@lru_cache(maxsize=4)
def _loaded(key: _Key, backend: BackendName | None) -> Groundwire:
    return Groundwire(key.config, backend=backend)
