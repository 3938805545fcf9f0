"""An agent loop that answers questions about files and verifies its own answers."""

from groundwire.agent.orchestrator import AgentResult, Orchestrator
from groundwire.agent.sandbox import Function, Sandbox, SandboxOutput, functions_for, namespace
from groundwire.agent.trajectory import Cost, Event, EventKind, Recorder, Usage, read_trajectory

__all__ = [
    "AgentResult", "Cost", "Event", "EventKind", "Function", "Orchestrator", "Recorder", "Sandbox",
    "SandboxOutput", "Usage", "functions_for", "namespace", "read_trajectory",
]  # fmt: skip
