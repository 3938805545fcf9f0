"""ARCHITECTURE.md: every file with its own first line, in the order the data flows."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent / "src" / "groundwire"

_HEAD = """# Architecture

```
text ──► claims ──► evidence ──► verifier ──► budget ──► verdict ──► report
        segment     select       p1: with     bits       status      JSON, terminal,
        cite        scrub        p0: without  (signed)   gap type    HTML
        kind
```

`pipeline.py` is exactly this. Everything else is one of its stages, a store that a stage reads, or a door
that calls it. Imports go downwards only (tests/test_layers.py proves it):

cli, server, proxy, mcp, integrations, bench, testing → api, client → agent, rag, streaming, traces,
memory → engine → pipeline, reading, voting, court, fixing → verdicts → detectors, verifiers, retrieval,
claims, openie → llm, stores, reports → text, config, metrics → _loop, _optional → types, budget, errors

Beside the budget stand the eight detectors (`detectors/`), which hold a response against a knowledge
base, the conversation, time and logic; the memory gate (`memory/`), through which facts enter the store;
the audit of reasoning (`traces/`); the orchestrator that verifies itself (`agent/`); and real time
(`streaming/`), which watches an answer while it is written. The service (`server/`) holds one engine for
all who ask over HTTP; the proxy (`proxy/`) stands in front of somebody else's model.

There is one protocol: `Verifier.estimate(queries) -> estimates`. Models, services, caches, limits and routers
all are one; a failure is an estimate with `error` set. LLM verifiers stand on a second one,
`Generator.complete(messages)`.

A line a file, in the order the data flows; each line is the file's own first one (`make docs` remakes this
page).
"""

FLOW: tuple[tuple[str, str], ...] = (
    (
        "The doors",
        "__main__ cli/main cli/options cli/check cli/batch cli/rows cli/doctor api testing pytest_plugin",
    ),
    (
        "The service",
        "cli/serve server/app server/service server/surround server/middleware/auth server/middleware/body"
        " server/admission server/lanes",
    ),
    ("The proxy", "proxy/proxy proxy/upstream proxy/wire proxy/evidence proxy/verifier"),
    ("MCP and other frameworks", "mcp/server mcp/tools mcp/arguments integrations/evaluator"),
    ("The client", "client/client client/calls"),
    ("The way through", "engine pipeline"),
    (
        "Claims",
        "claims/extractor claims/markup claims/citations claims/assertiveness claims/decompose",
    ),
    (
        "Evidence",
        "retrieval/load retrieval/formats retrieval/page retrieval/records retrieval/units retrieval/select",
    ),
    (
        "Verifiers",
        "verifiers/backends verifiers/route verifiers/guard verifiers/batch verifiers/wrap verifiers/cache"
        " verifiers/failure",
    ),
    (
        "Detectors",
        "detectors/registry detectors/context detectors/kb_lookup detectors/values",
    ),
    ("Triples", "openie/parser openie/grammar openie/predicates openie/tense"),
    ("Memory", "memory/gate memory/decision memory/writer memory/worker"),
    (
        "Reasoning",
        "traces/audit traces/steps traces/store agent/orchestrator agent/checkpoint agent/sandbox"
        " agent/functions",
    ),
    (
        "Real time",
        "streaming/guard streaming/session streaming/patterns streaming/incremental streaming/attribution"
        " streaming/coherence streaming/protocol streaming/output",
    ),
    ("The chatbot", "rag/ingest rag/passages rag/index rag/chatbot"),
    ("Language models", "llm/base llm/openai llm/anthropic llm/gguf"),
    ("Verdicts", "verdicts/profile verdicts/judge verdicts/vague verdicts/rag verdicts/summary"),
    ("Reports", "reports/json reports/terminal reports/html reports/marks"),
    (
        "Text",
        "text/sentences text/markdown text/structure text/literals text/tables",
    ),
    ("Stores", "stores/database stores/knowledge_base stores/entities stores/facts stores/cache"),
    ("Measuring", "bench/speed"),
    ("Underneath", "budget errors metrics _loop _optional version"),
)
HOMES = {
    "cli": "The doors", "claims": "Claims", "retrieval": "Evidence", "verifiers": "Verifiers",
    "llm": "Language models", "verdicts": "Verdicts", "reports": "Reports", "text": "Text",
    "stores": "Stores", "openie": "Triples", "bench": "Measuring", "mcp": "MCP and other frameworks",
    "integrations": "MCP and other frameworks", "models": "Verifiers", "detectors": "Detectors",
    "traces": "Reasoning",
    "server": "The service", "proxy": "The proxy", "client": "The client", "streaming": "Real time",
    "rag": "The chatbot", "agent": "Reasoning", "memory": "Memory", "types": "Underneath",
    "config": "Underneath",
}  # fmt: skip


def architecture() -> str:
    return _HEAD + "".join(_section(title, named.split()) for title, named in FLOW)


def _section(title: str, named: list[str]) -> str:
    """The files in the order given; those of the same folder that are not named come after, by name."""
    placed = {name for _, names in FLOW for name in names.split()}
    rest = sorted(name for name in _files() if _home(name) == title and name not in placed)
    return f"\n## {title}\n\n" + "".join(f"- `{name}.py` {_first_line(name)}\n" for name in [*named, *rest])


def _home(name: str) -> str | None:
    """By the deepest folder that has a section of its own."""
    folders = [folder for folder in HOMES if name.startswith(f"{folder}/")]
    return HOMES[max(folders, key=len)] if folders else None


def _files() -> Iterator[str]:
    for path in PACKAGE.rglob("*.py"):
        if path.name != "__init__.py":
            yield str(path.relative_to(PACKAGE).with_suffix(""))


def _first_line(name: str) -> str:
    text = ast.get_docstring(ast.parse((PACKAGE / f"{name}.py").read_text(encoding="utf-8"))) or ""
    return " ".join(text.split("\n\n")[0].split())
