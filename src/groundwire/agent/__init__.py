"""A small recursive language-model loop that verifies its own answers."""

from groundwire.agent.cost import Cost, Usage
from groundwire.agent.functions import Function, functions_for, namespace
from groundwire.agent.orchestrator import Orchestrator, Outcome
from groundwire.agent.sandbox import Output, Sandbox
from groundwire.agent.trajectory import Event, Kind, Recorder, read_trajectory

__all__ = [
    "Cost",
    "Event",
    "Function",
    "Kind",
    "Orchestrator",
    "Outcome",
    "Output",
    "Recorder",
    "Sandbox",
    "Usage",
    "functions_for",
    "namespace",
    "read_trajectory",
]
