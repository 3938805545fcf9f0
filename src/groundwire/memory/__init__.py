"""The memory gate: facts are verified before they are stored."""

from groundwire.memory.gate import JobOutcome, JobResult, MemoryGate, Worker

__all__ = ["JobOutcome", "JobResult", "MemoryGate", "Worker"]
