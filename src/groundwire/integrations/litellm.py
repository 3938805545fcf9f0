"""LiteLLM adapter: a guardrail that runs inside LiteLLM's proxy.

In its configuration: `guardrail: groundwire.integrations.litellm.GroundwireGuardrail`, `mode: post_call`. The
service offers the same without installing anything beside LiteLLM (`server/routes/outputs.py`).
"""

from __future__ import annotations

from typing import Any

from groundwire._loop import run_on_shared_loop
from groundwire._optional import load
from groundwire.config import BackendName, Config
from groundwire.engine import Groundwire
from groundwire.integrations.guardrail import AnswerGuard, BlockOn, GuardMode, GuardSettings, OnUnchecked
from groundwire.proxy.evidence import from_chat, from_responses

_FEATURE = "groundwire for LiteLLM"
CustomGuardrail: Any = load("litellm.integrations.custom_guardrail:CustomGuardrail", feature=_FEATURE, extra="litellm")
Blocked: Any = load("litellm.exceptions:GuardrailRaisedException", feature=_FEATURE, extra="litellm")
_GUARDS = "groundwire_guards"


class GroundwireGuardrail(CustomGuardrail):  # type: ignore[misc]
    """Checks answers against the sources in their requests, also while they are streamed.

    `guard_mode`, `block_on` and `on_unchecked` are the `GuardSettings`; LiteLLM has meanings of its own for
    `mode` and `action`. In mode "block" a stream sends a sentence once it is verified.
    """

    def __init__(
        self,
        guard_mode: GuardMode = "block",
        block_on: BlockOn = "contradiction",
        on_unchecked: OnUnchecked = "allow",
        backend: BackendName | None = None,
        config: Config | None = None,
        **kwargs: Any,
    ) -> None:
        self.settings = GuardSettings(guard_mode, block_on, on_unchecked)
        self._engine = Groundwire(config, backend=backend)
        # How LiteLLM feeds a stream: with what it may still change withheld, or as a whole at its end.
        self.streaming_transform_mode = "block_only" if guard_mode == "observe" else "incremental_diff"
        self.streaming_end_of_stream_only = guard_mode == "observe"
        self.streaming_sampling_rate = 5
        super().__init__(**kwargs)

    async def apply_guardrail(
        self, inputs: Any, request_data: dict[str, Any], input_type: str, logging_obj: Any = None
    ) -> Any:
        """Decide on the texts of a response; LiteLLM calls this for requests and growing streams too."""
        if input_type != "response":
            return inputs
        guard = self._guard(request_data, logging_obj)
        # A whole response comes without chunks, and a stream has ended once its last chunk has come.
        chunks = request_data.get("responses")
        choices = (choice for chunk in chunks or () for choice in chunk.choices or ())
        complete = chunks is None or any(getattr(choice, "finish_reason", None) for choice in choices)
        decisions = [
            await run_on_shared_loop(guard.decide(text, complete=complete)) for text in inputs.get("texts", ())
        ]
        reason = next((decision.blocked for decision in decisions if decision.blocked), "")
        if reason:
            raise Blocked(
                guardrail_name=self.guardrail_name,
                message=reason,
                should_wrap_with_default_message=False,
                blocked_content=True,
            )
        return {
            **inputs,
            "texts": [decision.text for decision in decisions],
            "stream_holdback_chars": [decision.holdback for decision in decisions],
        }

    def _guard(self, request_data: dict[str, Any], logging_obj: Any) -> AnswerGuard:
        """The guard of this request, kept with it so that the rounds of a stream share their estimates."""
        guards: dict[int, AnswerGuard] = {} if logging_obj is None else logging_obj.__dict__.setdefault(_GUARDS, {})
        if id(self) not in guards:
            read = from_chat if request_data.get("messages") is not None else from_responses
            guards[id(self)] = AnswerGuard(self._engine, read(request_data), self.settings)
        return guards[id(self)]
