"""A server on loopback that speaks the part of Pinecone's HTTP API that the official SDK calls for us.

It keeps vectors in memory and ranks them by the dot product of dense and sparse parts, as an index with that
metric does, and refuses what Pinecone refuses.
"""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

Json = dict[str, Any]
KEY = "pc-test-key"
PAGE = 2  # small, so that listing needs several pages


class PineconeServer:
    def __init__(self) -> None:
        self.namespaces: dict[str, dict[str, Json]] = {}
        self.requests: list[str] = []
        self.fail: tuple[int, str] | None = None  # status, and the path's end it is for
        self.lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def answer(self, path: str, search_query: dict[str, list[str]], body: Json) -> tuple[int, Json]:
        if self.fail and path.endswith(self.fail[1]):
            return self.fail[0], {"code": 8, "message": "no more today", "details": []}
        routes = {
            "/vectors/upsert": lambda: self._upsert(body),
            "/vectors/delete": lambda: self._delete(body),
            "/vectors/fetch": lambda: self._fetch(search_query),
            "/vectors/list": lambda: self._list(search_query),
            "/query": lambda: self._query(body),
        }
        return routes[path]() if path in routes else (404, {"code": 5, "message": f"no {path}"})

    def _upsert(self, body: Json) -> tuple[int, Json]:
        for vector in body["vectors"]:
            if not any(vector["values"]):
                return 400, {"code": 3, "message": "Dense vectors must contain at least one non-zero value."}
            if not vector["id"].isascii() or len(vector["id"]) > 512:
                return 400, {"code": 3, "message": "Vector ID must be ASCII"}
            if len(json.dumps(vector.get("metadata", {}))) > 40_960 * 4:
                return 400, {"code": 3, "message": "metadata size exceeds the limit"}
            self.namespaces.setdefault(body.get("namespace", ""), {})[vector["id"]] = vector
        return 200, {"upsertedCount": len(body["vectors"])}

    def _delete(self, body: Json) -> tuple[int, Json]:
        if body.get("namespace", "") not in self.namespaces:
            return 404, {"code": 5, "message": "Namespace not found", "details": []}
        for name in body["ids"]:
            self.namespaces[body["namespace"]].pop(name, None)
        return 200, {}

    def _fetch(self, search_query: dict[str, list[str]]) -> tuple[int, Json]:
        space = self.namespaces.get(search_query.get("namespace", [""])[0], {})
        return 200, {
            "vectors": {name: space[name] for name in search_query["ids"] if name in space},
            "namespace": search_query.get("namespace", [""])[0],
            "usage": {"readUnits": 1},
        }

    def _list(self, search_query: dict[str, list[str]]) -> tuple[int, Json]:
        name = search_query.get("namespace", [""])[0]
        prefix, after = search_query.get("prefix", [""])[0], search_query.get("paginationToken", [""])[0]
        ids = sorted(i for i in self.namespaces.get(name, {}) if i.startswith(prefix) and i > after)
        page = ids[:PAGE]
        found: Json = {"vectors": [{"id": i} for i in page], "namespace": name, "usage": {"readUnits": 1}}
        if len(ids) > PAGE:
            found["pagination"] = {"next": page[-1]}
        return 200, found

    def _query(self, body: Json) -> tuple[int, Json]:
        if not any(body["vector"]):
            return 400, {"code": 3, "message": "Dense vectors must contain at least one non-zero value."}
        wanted = body.get("sparseVector") or {"indices": [], "values": []}
        asked = dict(zip(wanted["indices"], wanted["values"], strict=True))
        matches = [
            {**vector, "score": _score(vector, body["vector"], asked)}
            for vector in self.namespaces.get(body.get("namespace", ""), {}).values()
        ]
        matches.sort(key=lambda match: -match["score"])
        return 200, {
            "matches": matches[: body["topK"]],
            "namespace": body.get("namespace", ""),
            "usage": {"readUnits": 1},
        }


def _score(vector: Json, dense: list[float], asked: dict[int, float]) -> float:
    words = vector.get("sparseValues") or {"indices": [], "values": []}
    both = sum(a * b for a, b in zip(vector["values"], dense, strict=True))
    shared = zip(words["indices"], words["values"], strict=True)
    return float(both + sum(weight * asked.get(number, 0.0) for number, weight in shared))


def _handler(server: PineconeServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_POST(self) -> None:
            length = int(self.headers.get("content-length", 0))
            self._answer(json.loads(self.rfile.read(length) or b"{}"))

        def do_GET(self) -> None:
            self._answer({})

        def _answer(self, body: Json) -> None:
            place = urlsplit(self.path)
            if self.headers.get("api-key") != KEY:
                status, found = 401, {"code": 16, "message": "Invalid API Key"}
            else:
                with server.lock:
                    server.requests.append(f"{self.command} {place.path}")
                    status, found = server.answer(unquote(place.path), parse_qs(place.query), body)
            content = json.dumps(found).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: object) -> None:
            pass

    return Handler
