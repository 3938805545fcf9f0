"""A reasoning trace as JSON, and as a picture: Graphviz's DOT, or Mermaid."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from groundwire.errors import InputError
from groundwire.reports.marks import clean
from groundwire.types import EdgeLabel, NodeKind, Status, TraceEdge, TraceGraph, TraceNode

FORMAT = "groundwire.trace/1"
_MAX_LABEL = 120
_SHAPES = {
    NodeKind.GOAL: ("doubleoctagon", ("([", "])")),
    NodeKind.DECISION: ("diamond", ("{{", "}}")),
    NodeKind.OPTION: ("box", ("[", "]")),
    NodeKind.ACTION: ("cds", ("[/", "/]")),
    NodeKind.OUTCOME: ("note", ("[\\", "\\]")),
    NodeKind.OBSERVATION: ("folder", ("[(", ")]")),
    NodeKind.CLAIM: ("ellipse", ("(", ")")),
    NodeKind.VERIFICATION: ("plaintext", (">", "]")),
}
_COLOURS = {EdgeLabel.VERIFIES: "#1a7f37", EdgeLabel.REFUTES: "#cf222e", EdgeLabel.CITES: "#0969da"}


def graph_object(graph: TraceGraph) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "nodes": [_node_object(node) for node in graph.nodes],
        "edges": [{"source": e.source, "label": e.label.value, "target": e.target} for e in graph.edges],
    }


def _node_object(node: TraceNode) -> dict[str, Any]:
    return {
        "id": node.id,
        "kind": node.kind.value,
        "text": node.text,
        "name": node.name,
        "confidence": node.confidence,
        "status": node.status.value if node.status else None,
        "detail": dict(node.detail),
        "created": node.created.isoformat(),
    }


def read_graph(data: object) -> TraceGraph:
    """What `graph_object` wrote; anything else is an `InputError` of one line."""
    if not isinstance(data, Mapping) or data.get("format") != FORMAT:
        raise InputError("this is no exported trace", hint=f'its "format" is "{FORMAT}"')
    nodes, edges = data.get("nodes"), data.get("edges")
    if not isinstance(nodes, Sequence) or not nodes or not isinstance(edges, Sequence):
        raise InputError("the exported trace has no nodes")
    try:
        root = str(nodes[0]["id"])
        return TraceGraph(
            tuple(_read_node(node, root) for node in nodes),
            tuple(TraceEdge(str(e["source"]), EdgeLabel(e["label"]), str(e["target"])) for e in edges),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"the exported trace cannot be read: {error!r}") from None


def _read_node(node: Mapping[str, Any], root: str) -> TraceNode:
    return TraceNode(
        str(node["id"]),
        root,
        NodeKind(node["kind"]),
        str(node["text"]),
        datetime.fromisoformat(node["created"]),
        node.get("name") and str(node["name"]),
        None if node.get("confidence") is None else float(node["confidence"]),
        Status(node["status"]) if node.get("status") else None,
        dict(node.get("detail") or {}),
    )


def to_dot(graph: TraceGraph) -> str:
    """For `dot -Tsvg`."""
    lines = ["digraph trace {", "  rankdir=TB;", '  node [fontname="sans-serif"];']
    places = _places(graph)
    for node in graph.nodes:
        shape = _SHAPES[node.kind][0]
        colour = _colour(node)
        lines.append(f'  {places[node.id]} [shape={shape}, label="{_dot(_label(node))}"{colour}];')
    lines += [
        f'  {places[name]} [shape=box, style=dashed, label="{_dot(_short(name))}"];'
        for name in _missing(graph)
    ]
    for edge in graph.edges:
        tint = f', color="{_COLOURS[edge.label]}"' if edge.label in _COLOURS else ""
        lines.append(f'  {places[edge.source]} -> {places[edge.target]} [label="{edge.label.value}"{tint}];')
    return "\n".join([*lines, "}", ""])


def to_mermaid(graph: TraceGraph) -> str:
    """For Markdown pages and editors that draw Mermaid."""
    places = _places(graph)
    lines = ["flowchart TD"]
    for node in graph.nodes:
        left, right = _SHAPES[node.kind][1]
        lines.append(f'  {places[node.id]}{left}"{_mermaid(_label(node))}"{right}')
    lines += [f'  {places[name]}["{_mermaid(_short(name))} (does not exist)"]' for name in _missing(graph)]
    for edge in graph.edges:
        lines.append(f"  {places[edge.source]} -->|{edge.label.value}| {places[edge.target]}")
    return "\n".join([*lines, ""])


def _places(graph: TraceGraph) -> dict[str, str]:
    """Names that no drawing program can misread, whatever the ids are."""
    ids = dict.fromkeys((*(node.id for node in graph.nodes), *(e.target for e in graph.edges)))
    return {identity: f"n{number}" for number, identity in enumerate(ids)}


def _missing(graph: TraceGraph) -> list[str]:
    known = {node.id for node in graph.nodes}
    return list(dict.fromkeys(edge.target for edge in graph.edges if edge.target not in known))


def _label(node: TraceNode) -> str:
    name = f" {node.name}" if node.name else ""
    status = f" {node.status.value}" if node.status else ""
    return f"{node.kind.value}{name}{status}: {_short(node.text)}"


def _short(text: str) -> str:
    line = " ".join(clean(text).split())
    return line if len(line) <= _MAX_LABEL else line[: _MAX_LABEL - 1] + "…"


def _colour(node: TraceNode) -> str:
    if node.kind is not NodeKind.VERIFICATION or node.status is None:
        return ""
    good = node.status is Status.ENTAILED
    return f', fontcolor="{_COLOURS[EdgeLabel.VERIFIES if good else EdgeLabel.REFUTES]}"'


def _dot(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


def _mermaid(text: str) -> str:
    """Mermaid knows entities by number; all that could end a label or become markup is written as one."""
    return "".join(f"#{ord(c)};" if c in '"#;<>&|`[]{}()\\' else c for c in text)
