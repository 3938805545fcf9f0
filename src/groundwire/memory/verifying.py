"""Asking the engine about a candidate: a verdict or an error of ours comes out, and nothing else."""

from __future__ import annotations

import logging

from groundwire.config import Config
from groundwire.engine import Groundwire
from groundwire.errors import BackendError, GroundwireError, InputError
from groundwire.memory.keep import Candidate
from groundwire.types import ClaimVerification, Query

_log = logging.getLogger("groundwire.memory")
_TRIES = 5


async def verified(engine: Groundwire, candidate: Candidate) -> ClaimVerification:
    """The verdict on the fact's sentence. What is wrong with the input is the caller's to hear."""
    try:
        return await engine.verify_claim(candidate.text, candidate.sources, candidate.confidence)
    except (InputError, BackendError):
        raise
    except GroundwireError as error:
        raise BackendError(str(error)) from error
    except Exception as bug:  # memory must go on working when verification does not
        _log.exception("a bug in verification: %s", type(bug).__name__)
        raise BackendError(f"verification broke ({type(bug).__name__})") from bug


async def warmed(engine: Groundwire) -> None:
    """Have the embedded model loaded: that takes a second or two once, which no fact should have to pay."""
    if not engine.backend.free:
        return
    for _ in range(_TRIES):  # each has the gate's time; the loading goes on between them
        (estimate,) = await engine.backend.verifier.estimate([Query("The sky is blue.", "The sky is blue.")])
        if estimate.error is None:
            return


def patient(config: Config) -> Config:
    """The configuration of whoever verifies later, and has all the time that one check may take."""
    settings = config.hallucination
    gate = settings.memory_gate.model_copy(update={"timeout": settings.timeout})
    return config.model_copy(update={"hallucination": settings.model_copy(update={"memory_gate": gate})})
