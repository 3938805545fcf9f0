"""The memory gate: facts are verified before they are stored."""

from groundwire.memory.gate import MemoryGate
from groundwire.memory.worker import JobOutcome, JobResult, Worker

__all__ = ["JobOutcome", "JobResult", "MemoryGate", "Worker"]
