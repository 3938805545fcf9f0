"""Reasoning traces in the database: nodes and edges, read one tree at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, Row, delete, insert, select
from sqlalchemy.exc import IntegrityError

from groundwire.errors import InputError
from groundwire.stores.database import Database, storable_text
from groundwire.stores.tables import trace_edges, trace_nodes
from groundwire.types import EdgeLabel, NodeKind, Status, TraceEdge, TraceGraph, TraceNode

MAX_NAME = 200
_INSERT_BATCH = 400


class TraceStore:
    """All traces of one database."""

    def __init__(self, database: Database) -> None:
        self.database = database

    def write(self, nodes: Sequence[TraceNode], edges: Sequence[TraceEdge] = ()) -> None:
        """Write nodes and edges in one transaction. Raises `InputError` if a name or an id is taken."""
        for node in nodes:
            if max(len(node.id), len(node.name or "")) > MAX_NAME:
                raise InputError(f"a node's name is longer than {MAX_NAME} characters")
        for edge in edges:
            if len(edge.target) > MAX_NAME:
                raise InputError(f"a citation is longer than {MAX_NAME} characters")
        try:
            with self.database.write() as connection:
                _insert(connection, nodes, edges)
        except IntegrityError as error:
            raise InputError(_clash(error)) from None

    def node(self, identity: str) -> TraceNode:
        """One node. Raises `InputError` if it does not exist."""
        with self.database.read() as connection:
            row = connection.execute(select(trace_nodes).where(trace_nodes.c.id == storable_text(identity))).first()
        if row is None:
            raise InputError(f"no trace has a node '{identity}'")
        return _node(row)

    def goals(self) -> list[TraceNode]:
        """The roots of all trees, oldest first."""
        wanted = select(trace_nodes).where(trace_nodes.c.id == trace_nodes.c.root)
        with self.database.read() as connection:
            return [_node(row) for row in connection.execute(wanted.order_by(trace_nodes.c.number))]

    def tree(self, root: str) -> TraceGraph:
        """A consistent snapshot of the tree below a root."""
        of_tree = select(trace_nodes).where(trace_nodes.c.root == storable_text(root)).order_by(trace_nodes.c.number)
        of_edges = (
            select(trace_edges)
            .join(trace_nodes, trace_nodes.c.id == trace_edges.c.source)
            .where(trace_nodes.c.root == storable_text(root))
            .order_by(trace_edges.c.number)
        )
        with self.database.read() as connection:
            nodes = tuple(_node(row) for row in connection.execute(of_tree))
            edges = tuple(
                TraceEdge(row.source, EdgeLabel(row.label), row.target) for row in connection.execute(of_edges)
            )
        return TraceGraph(nodes, edges)

    def forget(self, root: str) -> None:
        """Delete a whole tree."""
        with self.database.write() as connection:
            connection.execute(delete(trace_nodes).where(trace_nodes.c.root == storable_text(root)))


def _insert(connection: Connection, nodes: Sequence[TraceNode], edges: Sequence[TraceEdge]) -> None:
    rows = [_row(node) for node in nodes]
    links = [
        {"source": storable_text(e.source), "label": e.label.value, "target": storable_text(e.target)}
        for e in dict.fromkeys(edges)
    ]
    for table, values in ((trace_nodes, rows), (trace_edges, links)):
        for start in range(0, len(values), _INSERT_BATCH):
            connection.execute(insert(table), values[start : start + _INSERT_BATCH])


def _row(node: TraceNode) -> dict[str, Any]:
    return {
        "id": storable_text(node.id),
        "root": storable_text(node.root),
        "kind": node.kind.value,
        "name": storable_text(node.name) if node.name is not None else None,
        "text": storable_text(node.text),
        "confidence": node.confidence,
        "status": node.status.value if node.status else None,
        "detail": _storable(node.detail),
        "created": node.created,
    }


def _storable(value: Any) -> Any:
    if isinstance(value, str):
        return storable_text(value)
    if isinstance(value, Mapping):
        return {storable_text(str(key)): _storable(item) for key, item in value.items()}
    return [_storable(item) for item in value] if isinstance(value, list | tuple) else value


def _node(row: Row[Any]) -> TraceNode:
    made: datetime = row.created
    return TraceNode(
        row.id,
        row.root,
        NodeKind(row.kind),
        row.text,
        made if made.tzinfo else made.replace(tzinfo=UTC),  # SQLite does not store time zones; all are UTC
        row.name,
        row.confidence,
        Status(row.status) if row.status else None,
        row.detail,
    )


def _clash(error: IntegrityError) -> str:
    message = str(error.orig)
    if "root" in message and "name" in message:
        return "two nodes of one trace cannot have the same name"
    return "the trace exists already, or its parent node does not exist"
