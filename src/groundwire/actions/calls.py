"""What a tool call does, by its name, arguments and result: its groups of actions, and whether it failed."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cached_property

from groundwire.actions.words import (
    AMBIGUOUS,
    LIGHT_TOOLS,
    MAKING,
    SHELL_GROUPS,
    SHOWN,
    TOOL_GROUPS,
    any_groups,
    lemma,
    pattern,
)
from groundwire.types import CallRecord

EFFECTS = frozenset((
    "edit", "create", "change", "remove", "send", "pay", "refund", "book", "commit", "push", "merge", "pr",
    "deploy", "install", "start", "save", "upload", "migrate", "convert", "any",
))  # fmt: skip
_RUNS = frozenset(("test", "build", "lint", "types"))
_FILE_TOOL = re.compile(
    r"(?:multi_?|notebook_?)?(?:edit|write)|str_replace(?:_\w+)?|apply_(?:patch|diff)|create_file|(?:write|append)_(?:to_)?file"
    r"|(?:edit|update|save|modify)_file|replace_in_file|insert_edit\w*|search_replace|patch|write_text_file|replace"
    r"|create_or_update_file|push_files|text_editor",
    re.IGNORECASE,
)
_SHELL_TOOL = re.compile(
    r"bash|shell|terminal|run_(?:shell_|terminal_)?(?:command|cmd)|execute_(?:command|bash|shell)|run_in_terminal|local_shell"
    r"|exec(?:_command)?|run_bash|cmd|powershell|shell_command",
    re.IGNORECASE,
)
_PROGRAM = re.compile(r"kubectl|git|gh|docker|aws|gcloud|npm|terraform|helm|psql|make|curl", re.IGNORECASE)
# Tools that can do anything, so that any action may be theirs.
_ANY_TOOL = re.compile(
    r"computer|click|type_text|fill|python|code_interpreter|(?:execute|run)_code|^task$|agent|delegate|javascript|repl|workflow"
    r"|zapier|automation",
    re.IGNORECASE,
)
_WRITING_METHOD = re.compile(r'"method": ?"(?:POST|PUT|PATCH|DELETE)"', re.IGNORECASE)
_SQL_WORD = re.compile(r"\b(SELECT|INSERT|UPDATE|DELETE|DROP|CREATE|ALTER|TRUNCATE)\b", re.IGNORECASE)
_SQL_GROUPS = {
    "SELECT": ("read", "search"), "INSERT": ("create", "edit", "save"), "UPDATE": ("change", "edit"),
    "DELETE": ("remove",), "DROP": ("remove",), "TRUNCATE": ("remove",), "CREATE": ("create", "edit"),
    "ALTER": ("change", "create", "edit", "remove"),
}  # fmt: skip
_ACTION_KEYS = ("action", "operation", "op", "command", "state", "type", "event")
_READING_COMMAND = pattern("reading_command")
_ERROR_START = pattern("error_start")
ERROR_LINE = pattern("error_line")
_BAD_STATUS = pattern("bad_status")
FAILED_RUN = pattern("failed_run", re.RegexFlag(0))


@dataclass(frozen=True)
class LedgerCall:
    """A call with what the comparison needs of it. Not slotted: the properties are computed once."""

    record: CallRecord

    @cached_property
    def text(self) -> str:
        return f"{self.record.name} {self.record.arguments}".replace("\\n", "\n").replace('\\"', '"')

    @cached_property
    def all_text(self) -> str:
        return f"{self.text}\n{self.record.result}"

    @cached_property
    def data(self) -> object:
        try:
            return json.loads(self.record.arguments)
        except (ValueError, RecursionError):
            return None

    @cached_property
    def values(self) -> list[str]:
        """The strings and numbers of the arguments."""
        return list(_scalars(self.data))

    @cached_property
    def short_name(self) -> str:
        """The name without its server: `mcp__github__create_issue`, `functions.bash`."""
        return re.split(r"__|\.|/|:", self.record.name)[-1]

    @cached_property
    def name_words(self) -> list[str]:
        spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", self.record.name)
        return [lemma(word) for word in re.findall(r"[A-Za-z]+", spaced) if not word.endswith("ings")]

    @cached_property
    def is_file_tool(self) -> bool:
        """A tool that writes files; some show them too, by `"command": "view"`."""
        shows = isinstance(self.data, dict) and self.data.get("command") in ("view", "read", "open")
        return bool(_FILE_TOOL.fullmatch(self.short_name)) and not shows

    @cached_property
    def is_shell(self) -> bool:
        return bool(_SHELL_TOOL.fullmatch(self.short_name) or _PROGRAM.fullmatch(self.short_name))

    @cached_property
    def commands(self) -> list[str]:
        """The parts of a shell line that do more than read; `cat deploy.sh` deploys nothing."""
        line = " ".join(self.values) or self.record.arguments
        line = re.sub(r"^(?:bash|sh|zsh) -l?c ", "", line)
        if _PROGRAM.fullmatch(self.short_name):
            line = f"{self.short_name} {line.removeprefix(self.short_name)}"
        parts = (part.strip() for part in re.split(r"&&|;|\|\|?|\n", line))
        writes = re.compile(r"(?<![<>&\d-])>(?!&|\s*/dev/null)")
        return [part for part in parts if part and (writes.search(part) or not _READING_COMMAND.match(part))]

    @cached_property
    def command_words(self) -> set[str]:
        return {lemma(word) for word in re.findall(r"[A-Za-z]{2,}", " ".join(self.commands))}

    @cached_property
    def _sql(self) -> str:
        found = _SQL_WORD.search(self.record.arguments)
        is_database = re.search(r"sql|query|database|db", self.record.name, re.IGNORECASE)
        return found[1].upper() if found and is_database else ""

    @cached_property
    def verbs(self) -> list[str]:
        """The words of the name that say what the tool does."""
        known = [word for word in self.name_words if word in TOOL_GROUPS]
        found = [word for word in known if word not in AMBIGUOUS]
        found = found if any(word not in LIGHT_TOOLS for word in found) else known
        given = self.data if isinstance(self.data, dict) else {}
        actions = [lemma(str(given[key])) for key in _ACTION_KEYS if isinstance(given.get(key), str)]
        return [*found, *(word for word in actions if word in TOOL_GROUPS)]

    @cached_property
    def groups(self) -> frozenset[str]:
        if self.is_file_tool:
            return frozenset(("edit", "save", "create"))
        if self.is_shell:
            line = " && ".join(self.commands)
            found = {group for group, shell in SHELL_GROUPS.items() if shell.search(line)}
            return frozenset(found | {"run", "read"})
        if self._sql:
            return frozenset((*_SQL_GROUPS[self._sql], "run"))
        if _FILE_TOOL.fullmatch(self.short_name):
            return frozenset(("read",))
        found = set(any_groups(self.verbs, TOOL_GROUPS))
        can_do_all = _ANY_TOOL.search(self.record.name) and not self._is_named_reading
        if can_do_all or _WRITING_METHOD.search(self.record.arguments):
            found |= {"any", "run", "read"}
        return frozenset(found)

    @property
    def _is_named_reading(self) -> bool:
        """`list_users`, and names of things without a verb: `deploy_history`, `clinic_slots`."""
        groups = [TOOL_GROUPS[word] for word in self.verbs]
        if groups and all(group & {"read", "search", "web"} for group in groups):
            return True
        if not self.name_words or any(word in MAKING for word in self.name_words):
            return False
        plural = re.search(r"[a-z]{3}(?<!s)s$", self.short_name) and AMBIGUOUS.issuperset(self.verbs)
        return self.name_words[-1] in SHOWN or bool(plural)

    @cached_property
    def is_reading(self) -> bool:
        """True if it changes nothing; a tool without a known verb may do anything."""
        if self.is_file_tool:
            return False
        if self.is_shell:
            return not self.commands
        if self._sql:
            return self._sql == "SELECT"
        return self.groups == {"read"} or (self._is_named_reading and "any" not in self.groups)

    @cached_property
    def failed(self) -> bool:
        result = self.record.result
        if self.record.failed is not None:
            return self.record.failed
        starts_bad = _ERROR_START.match(result.lstrip(" \t\n\"'{[<*"))
        if self.is_shell or self.groups & _RUNS:
            return bool(ERROR_LINE.search(result) if self.commands else starts_bad)
        return bool(starts_bad or (not self.is_reading and _BAD_STATUS.search(result)))

    @property
    def failed_run(self) -> re.Match[str] | None:
        """Where the result of a test, build or linter says that it failed."""
        return FAILED_RUN.search(self.record.result) or (
            re.match("", self.record.result) if self.failed else None
        )

    def quote(self) -> str:
        """The failure in one line."""
        bad = ERROR_LINE.search(self.record.result)
        return f"the call failed: {self.line(bad.start() if bad else 0)}"

    def line(self, at: int) -> str:
        """The line of the result around a place, shortened."""
        text = self.record.result
        begin = max(text.rfind("\n", 0, at) + 1, at - 60)
        line = " ".join(text[begin:].split("\n", 1)[0].split())
        return line if len(line) <= 160 else f"{line[:159]}…"


def _scalars(data: object) -> list[str]:
    if isinstance(data, dict):
        return [found for value in data.values() for found in _scalars(value)]
    if isinstance(data, list):
        return [found for value in data for found in _scalars(value)]
    return [str(data)] if isinstance(data, str | int | float) and not isinstance(data, bool) else []
