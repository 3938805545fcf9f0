"""OpenAI Agents adapter: an output guardrail that sees the results of the run's tools."""

from __future__ import annotations

from typing import Any, Unpack
from weakref import WeakKeyDictionary

from groundwire._loop import run_on_shared_loop
from groundwire._optional import load
from groundwire.integrations.evaluator import EngineKwargs, judge_report, open_engine
from groundwire.integrations.guardrail import AnswerGuard, GuardSettings
from groundwire.proxy.evidence import RequestEvidence, read_request

_FEATURE = "groundwire for OpenAI Agents"
RunHooks: Any = load("agents:RunHooks", feature=_FEATURE, extra="openai-agents")
OutputGuardrail: Any = load("agents:OutputGuardrail", feature=_FEATURE, extra="openai-agents")
Output: Any = load("agents:GuardrailFunctionOutput", feature=_FEATURE, extra="openai-agents")


class GroundednessGuard(RunHooks):  # type: ignore[misc]
    """A guardrail for agents, and the hooks by which it learns what the model was given.

    `Agent(…, output_guardrails=[guard.guardrail])` and `Runner.run(agent, …, hooks=guard)`. An output
    guardrail alone is not shown the results of tools; without the hooks it knows the run's input only.

    The tripwire is triggered where `GuardSettings` say "block". `output_info` has label, score, error, spans
    and claims.
    """

    def __init__(self, settings: GuardSettings | None = None, **options: Unpack[EngineKwargs]) -> None:
        self._settings = settings or GuardSettings()
        self._engine = open_engine(**options)
        # By run: the context object of a run is the same in hooks and guardrails.
        self._evidence: WeakKeyDictionary[Any, RequestEvidence] = WeakKeyDictionary()
        self.guardrail = OutputGuardrail(guardrail_function=self._check, name="groundedness")

    async def on_llm_start(self, context: Any, agent: Any, system_prompt: Any, input_items: Any) -> None:  # noqa: ARG002
        """Remember what the model is about to be given; the last call of a run has all tool results."""
        body = {"instructions": system_prompt, "input": input_items}
        self._evidence[context] = read_request(body)

    async def _check(self, context: Any, agent: Any, output: Any) -> Any:  # noqa: ARG002
        evidence = self._evidence.get(context) or read_request({"input": context.turn_input})
        guard = AnswerGuard(self._engine, evidence, self._settings)
        decision = await run_on_shared_loop(guard.decide(output if isinstance(output, str) else str(output)))
        info: dict[str, Any] = {"blocked": decision.blocked or None}
        if decision.report is not None:
            found = judge_report(decision.report)
            info |= {**found.details, "score": found.score}
        return Output(output_info=info, tripwire_triggered=bool(decision.blocked))
