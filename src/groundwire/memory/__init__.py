"""The memory gate: a fact is verified before it is kept."""

from groundwire.memory.gate import MemoryGate
from groundwire.memory.worker import Outcome, Settled, Worker

__all__ = ["MemoryGate", "Outcome", "Settled", "Worker"]
