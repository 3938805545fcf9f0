"""The seed's predicates in MeTTa: `register` for programs of their own, `run_metta` for a file."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from inspect import signature
from typing import TYPE_CHECKING, Any

from groundwire._loop import run
from groundwire._optional import load
from groundwire.cli.streams import delivered, stdin_bytes
from groundwire.config import Config
from groundwire.engine import Groundwire
from groundwire.errors import GroundwireError, InputError
from groundwire.integrations import metta_atoms as atoms
from groundwire.integrations.metta_predicates import History, Predicates, predicates
from groundwire.retrieval.history import parse_history
from groundwire.retrieval.load import load_answer
from groundwire.stores.knowledge import Knowledge
from groundwire.types import KnowledgeBase, Turn

if TYPE_CHECKING:
    from hyperon import Atom, MeTTa

_BLOCKED = ("py-atom", "py-dot", "load-ascii")


def register(
    metta: MeTTa,
    engine: Groundwire | None = None,
    *,
    kb: KnowledgeBase | None = None,
    history: Sequence[Turn] = (),
    now: datetime | None = None,
) -> Predicates:
    """Teach a MeTTa runner every predicate; `&kb` and `&dialogue` stand for what is given here.

    Close what is returned when the runner is done with.
    """
    own = Predicates(engine or Groundwire(), now or datetime.now(UTC).replace(tzinfo=None))
    for name, function in predicates(own).items():
        metta.register_atom(name, _operation(name, function))
    if kb is not None:
        metta.register_atom("&kb", atoms.value_atom(atoms.Handle(kb), "KnowledgeBase"))
    state = atoms.value_atom(atoms.Handle(History(tuple(history))), "DialogueState")
    metta.register_atom("&dialogue", state)
    return own


def _operation(name: str, function: Callable[..., Atom]) -> Atom:
    """The function as an atom. What is wrong comes back as an Error atom, at which MeTTa ends the program."""
    make = load("hyperon:OperationAtom", feature="MeTTa", extra="metta")

    takes = len([p for p in signature(function).parameters.values() if p.default is p.empty])

    def call(*arguments: Atom) -> list[Atom]:
        if len(arguments) != takes:
            return [atoms.error_atom(name, f"{name} takes {takes} arguments, not {len(arguments)}")]
        try:
            return [function(*arguments)]
        except GroundwireError as error:
            return [atoms.error_atom(name, str(error))]

    return make(name, call, unwrap=False)


def new_metta(*, allow_python: bool = False) -> MeTTa:
    """A runner in which programs cannot reach Python, unless that is asked for."""
    make = load("hyperon:MeTTa", feature="MeTTa", extra="metta")
    if allow_python:
        return make()
    import hyperonpy
    from hyperon.base import GroundingSpaceRef

    builder, space = hyperonpy.env_builder_start(), GroundingSpaceRef()
    return make(cmetta=hyperonpy.metta_new_with_stdlib_loader(_load_guarded, space.cspace, builder))


def _load_guarded(tokenizer: Any, metta: Any) -> None:
    """MeTTa's Python library without the words that lead out of it; nor are Python modules found."""
    from hyperon import OperationAtom
    from hyperon.runner import _priv_register_module_tokens

    class Guarded:
        def register_token(self, pattern: str, make: Callable[[str], Atom]) -> None:
            if pattern in _BLOCKED:
                refusal = atoms.error_atom(pattern, f"{pattern} is blocked; --allow-python opens it")
                refuse = OperationAtom(pattern, lambda *_: [refusal], unwrap=False)
                tokenizer.register_token(pattern, lambda _: refuse)
            else:
                tokenizer.register_token(pattern, make)

    _priv_register_module_tokens("hyperon.stdlib", Guarded(), metta)


@dataclass(frozen=True, slots=True)
class Request:
    program: str
    kb: str | None = None
    history: str | None = None
    allow_python: bool = False
    steps: int = 1_000_000
    as_json: bool = False


def run_metta(request: Request, config: Config) -> int:
    """Run a file; print the results of each `!`. Exit code 2 where one is an error."""
    limit = config.limits.max_source_bytes
    program = load_answer(request.program, stdin=stdin_bytes(), max_bytes=limit)
    said = request.history and load_answer(request.history, stdin=stdin_bytes(), max_bytes=limit)
    turns = parse_history(said) if said else ()
    metta = new_metta(allow_python=request.allow_python)
    engine = Groundwire(config)
    kb = Knowledge.open(request.kb, create=False) if request.kb else None
    own = register(metta, engine, kb=kb, history=turns)
    try:
        results = evaluate(metta, program, request.steps)
    finally:
        own.close()
        if kb is not None:
            kb.close()
        run(engine.aclose())
    shown = [[str(atom) for atom in result] for result in results]
    plain = (f"[{', '.join(result)}]" for result in shown)
    with delivered():
        lines = [json.dumps(shown, ensure_ascii=False)] if request.as_json else plain
        sys.stdout.write("".join(f"{line}\n" for line in lines))
    return 2 if any(atoms.head_of(atom) == "Error" for result in results for atom in result) else 0


def evaluate(metta: MeTTa, program: str, steps: int) -> list[list[Atom]]:
    """The results of each `!`, within a budget of steps."""
    from hyperon.runner import RunnerState

    state = RunnerState(metta, program)
    try:
        for _ in range(steps):
            if state.is_complete():
                return [list(result) for result in state.current_results()]
            state.run_step()
    except RuntimeError as error:
        raise InputError(f"the program cannot be run: {error}") from None
    raise GroundwireError(f"the program was stopped after {steps:,} steps", hint="give more with --steps")
