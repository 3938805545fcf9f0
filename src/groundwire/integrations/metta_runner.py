"""MeTTa runners: `new_metta` makes one whose programs reach no Python and no other files; `evaluate` runs,
`in_child` in a process that the interpreter may crash.

A program gets the operations of `ALLOWED` and nothing else. One token matches every word of a program, so an
operation that a later version of MeTTa adds is refused until it is listed here. The library's own definitions
hold further operations, which a program could fetch with `match`; those definitions are removed.
"""

from __future__ import annotations

import multiprocessing
import re
from collections.abc import Callable
from inspect import signature
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from groundwire._optional import load
from groundwire.errors import GroundwireError, InputError
from groundwire.integrations import metta_atoms as atoms
from groundwire.retrieval.load import read_file

if TYPE_CHECKING:
    from hyperon import Atom, MeTTa

T = TypeVar("T")

_LOGIC = ("and", "or", "not", "xor", "<", ">", "<=", ">=", "==", "=alpha", "if-equal")
_ARITHMETIC = ("+", "-", "*", "/", "%")
_MATHS = (
    *("abs-math", "acos-math", "asin-math", "atan-math", "ceil-math", "cos-math", "floor-math", "isinf-math"),
    *("isnan-math", "log-math", "pow-math", "round-math", "sin-math", "sqrt-math", "tan-math", "trunc-math"),
)
_LISTS = (
    *("intersection-atom", "subtraction-atom", "union-atom", "unique-atom", "index-atom", "max-atom"),
    *("min-atom", "size-atom", "superpose", "py-dict", "py-list", "py-tuple", "_minimal-foldl-atom"),
    "_collapse-add-next-atom-from-collapse-bind-result",
)
_SPACES = ("&self", "match", "add-atom", "get-atoms", "new-space", "remove-atom", "module-space-no-deps")
_STATE = ("_new-state", "get-state", "change-state!", "bind!", "pragma!")
_TEXT = (*("repr", "parse", "stringToChars", "charsToString", "format-args", "sort-strings"), *("println!", "trace!"))
_EVALUATION = ("capture", "sealed", "nop", "get-metatype", "get-type", "get-type-space")
_ASSERTIONS = (
    *("_assert-results-are-alpha-equal", "_assert-results-are-alpha-equal-msg"),
    *("_assert-results-are-equal", "_assert-results-are-equal-msg"),
)
ALLOWED = frozenset((*_LOGIC, *_ARITHMETIC, *_MATHS, *_LISTS, *_SPACES, *_STATE, *_TEXT, *_EVALUATION, *_ASSERTIONS))
"""The operations of MeTTa's library that a program may use: none of them touches files, network or Python."""

_REPLACED = ("parse",)
"""Operations of `ALLOWED` that are our own."""
_LITERALS = ("Number", "Bool", "String", "Char")
_MAX_FILE_BYTES = 10_000_000  # of a program or imported file, which is held in memory
_MAX_DEPTH = 500
"""Expressions within each other. The interpreter recurses: some 10,000 levels end the whole process."""
_SPACE = r" \t\n\v\f\r\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"  # what Rust calls whitespace
_TOKEN = re.compile(rf'"(?:[^"\\]|\\.)*+"|;[^\n]*|[()]|\$[^{_SPACE}()]*|[^{_SPACE}();"$][^{_SPACE}();]*', re.DOTALL)
"""As the interpreter reads: a quote within a word begins no string, a semicolon in a variable no comment."""


def new_metta(*, allow_python: bool = False, folder: Path | None = None, steps: int = 1_000_000) -> MeTTa:
    """Create a runner whose programs can use only `ALLOWED`, unless `allow_python` is set.

    `import!` and `include` read MeTTa files below `folder`, each for at most `steps` steps; without a folder
    they are refused too.
    """
    make = load("hyperon:MeTTa", feature="MeTTa", extra="metta")
    if allow_python:
        return make()
    metta, reference = _without_python(make), _without_python(make)
    _remove_refused_definitions(metta)
    allowed = {name: metta.parse_single(name) for name in ALLOWED}
    allowed["parse"] = operation("parse", lambda text: _parsed(metta, text))
    # Strings are literals and may span lines; every other word is a single line without a quote in front.
    metta.register_token('[^"].*', lambda word: _admit(word, allowed, reference))
    if folder is not None:
        files = _Files(metta, folder.resolve(), steps)
        metta.register_atom("import!", operation("import!", files.import_into))
        metta.register_atom("include", operation("include", files.include))
    return metta


def _without_python(make: Callable[..., MeTTa]) -> MeTTa:
    """A runner that does not load Python files as modules."""
    import hyperonpy
    from hyperon.base import GroundingSpaceRef
    from hyperon.runner import _priv_load_module_stdlib

    builder, space = hyperonpy.env_builder_start(), GroundingSpaceRef()
    metta = hyperonpy.metta_new_with_stdlib_loader(_priv_load_module_stdlib, space.cspace, builder)
    return make(cmetta=metta)


def _admit(word: str, allowed: dict[str, Atom], reference: MeTTa) -> Atom:
    """The atom for a word of a program: an allowed operation, a literal, a symbol, or a refusal."""
    if word in allowed:
        return allowed[word]
    atom = reference.parse_single(word)
    return refusal(word) if is_operation(atom) else atom


def _parsed(metta: MeTTa, text: Atom) -> Atom:
    """What MeTTa's own `parse` does, for text that does not nest too deeply."""
    code = atoms.text_of(text)
    require_shallow(code)
    try:
        return metta.parse_single(code)
    except (SyntaxError, StopIteration) as error:
        raise InputError(f"cannot be parsed: {str(error) or 'it is empty'}") from None


def require_shallow(program: str) -> None:
    """Raise InputError if a program nests its expressions too deeply to be read."""
    depth = 0
    for token in _TOKEN.finditer(program):
        depth = max(0, depth + {"(": 1, ")": -1}.get(token[0], 0))
        if depth > _MAX_DEPTH:
            raise InputError(f"the program nests expressions more than {_MAX_DEPTH} levels deep")


def is_operation(atom: Atom) -> bool:
    """True for a grounded atom that is not a plain value."""
    from hyperon import GroundedAtom

    return isinstance(atom, GroundedAtom) and str(atom.get_grounded_type()) not in _LITERALS


def refusal(name: str) -> Atom:
    from hyperon import OperationAtom

    found = atoms.error_atom(name, f"{name} is blocked; use --allow-python to allow it")
    return OperationAtom(name, lambda *_: [found], unwrap=False)


def _remove_refused_definitions(metta: MeTTa) -> None:
    """Remove from the library what mentions a refused or replaced operation: documents, types, `help!`."""
    for module in ("corelib", "stdlib"):
        space: Any = metta.run(f"!(mod-space! {module})", flat=True)[0].get_object()
        for atom in space.get_atoms():
            if any(str(found) not in ALLOWED or str(found) in _REPLACED for found in _operations(atom)):
                space.remove_atom(atom)


def _operations(atom: Atom) -> list[Atom]:
    from hyperon import ExpressionAtom

    if isinstance(atom, ExpressionAtom):
        return [found for part in atom.get_children() for found in _operations(part)]
    return [atom] if is_operation(atom) else []


class _Files:
    """`import!` and `include`: the files run in the same runner, so the same operations are refused."""

    def __init__(self, metta: MeTTa, folder: Path, steps: int) -> None:
        self._metta = metta
        self._folder = folder
        self._steps = steps
        self._seen: set[Path] = set()

    def import_into(self, space: Atom, name: Atom) -> Atom:
        if str(space) != str(self._metta.parse_single("&self")):
            raise InputError("import! can only import into &self")
        return self.include(name)

    def include(self, name: Atom) -> Atom:
        """Run a file once; a second time does nothing, so that files can import each other."""
        from hyperon import E

        stem = str(name).strip('"').replace(":", "/").removesuffix(".metta")
        path = below(self._folder, f"{stem}.metta")
        if path not in self._seen:
            self._seen.add(path)
            text = read_file(path, _MAX_FILE_BYTES).decode("utf-8", "replace")
            for result in evaluate(self._metta, text, self._steps):
                if failed := next((atom for atom in result if atoms.head_of(atom) == "Error"), None):
                    return failed
        return E()


def below(folder: Path, name: str) -> Path:
    """The file that a program names, which must exist in the folder or below it; links are followed first."""
    path = (folder / name).resolve()
    if not path.is_relative_to(folder.resolve()):
        raise InputError(f"{name} is outside the program's folder", hint="use --allow-python to allow it")
    if not path.is_file():
        raise InputError(f"{name} does not exist in the program's folder")
    return path


def operation(name: str, function: Callable[..., Atom], type_atom: Atom | None = None) -> Atom:
    """Wrap a function as an atom. Failures become Error atoms, which end a MeTTa program.

    `type_atom` is what `get-type` answers, and what MeTTa checks arguments against.
    """
    make = load("hyperon:OperationAtom", feature="MeTTa", extra="metta")
    declared: Any = type_atom  # (-> argument … result)
    arity = len(signature(function).parameters) if declared is None else len(declared.get_children()) - 2

    def call(*arguments: Atom) -> list[Atom]:
        if len(arguments) != arity:
            return [atoms.error_atom(name, f"{name} takes {arity} arguments, got {len(arguments)}")]
        try:
            return [function(*arguments)]
        except GroundwireError as error:
            return [atoms.error_atom(name, str(error))]

    return make(name, call, type_atom, unwrap=False)


def evaluate(metta: MeTTa, program: str, steps: int) -> list[list[Atom]]:
    """Return the results of each `!`; raises an error after `steps` interpreter steps."""
    from hyperon.runner import RunnerState

    require_shallow(program)
    state = RunnerState(metta, program)
    try:
        for _ in range(steps):
            if state.is_complete():
                return [list(result) for result in state.current_results()]
            state.run_step()
    except RuntimeError as error:
        raise InputError(f"the program cannot be run: {error}") from None
    raise GroundwireError(f"the program was stopped after {steps:,} steps", hint="raise the limit with --steps")


def in_child(work: Callable[[], T]) -> T:
    """The result of `work`, which must be plain data, computed in a forked process.

    The interpreter overflows its stack for some programs, such as one that adds a space to itself. That ends
    the process it runs in, without an exception.
    """
    if "fork" not in multiprocessing.get_all_start_methods():
        return work()
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    child = context.Process(target=_send, args=(work, theirs))
    child.start()
    theirs.close()
    with ours:
        try:
            kind, found = ours.recv()
        except EOFError:
            kind, found = InputError, "the program crashed the MeTTa interpreter"
    child.join()
    if kind is not None:
        raise kind(found)
    return found  # type: ignore[no-any-return]


def _send(work: Callable[[], Any], to: Connection) -> None:
    try:
        to.send((None, work()))
    except GroundwireError as error:
        to.send((InputError if error.exit_code == InputError.exit_code else GroundwireError, str(error)))
    except Exception as error:  # it may not survive the way through the pipe
        to.send((RuntimeError, repr(error)))
