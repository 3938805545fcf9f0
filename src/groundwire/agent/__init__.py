"""An agent loop that answers questions about files and verifies its own answers."""

from groundwire.agent.cost import Cost, Usage
from groundwire.agent.functions import Function, functions_for, namespace
from groundwire.agent.orchestrator import AgentResult, Orchestrator
from groundwire.agent.sandbox import Sandbox, SandboxOutput
from groundwire.agent.trajectory import Event, EventKind, Recorder, read_trajectory

__all__ = [
    "AgentResult", "Cost", "Event", "EventKind", "Function", "Orchestrator", "Recorder", "Sandbox",
    "SandboxOutput", "Usage", "functions_for", "namespace", "read_trajectory",
]  # fmt: skip
