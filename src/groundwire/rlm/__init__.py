"""A small recursive language-model loop that verifies its own answers."""

from groundwire.rlm.cost import Cost, Usage
from groundwire.rlm.functions import Function, functions_for, namespace
from groundwire.rlm.orchestrator import Orchestrator, Outcome
from groundwire.rlm.sandbox import Output, Sandbox
from groundwire.rlm.trajectory import Event, Kind, Recorder, read_trajectory

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
