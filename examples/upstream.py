"""A stand-in for a language model: an OpenAI-compatible server that says the same to everybody.

python examples/upstream.py "Paris has 9.7 million inhabitants."
"""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

TEXT = sys.argv[1]
HEAD = {"id": "chatcmpl-1", "created": 1, "model": "stand-in"}


class Model(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.send_response(200)
        self.stream() if asked.get("stream") else self.whole()

    def whole(self) -> None:
        message = {"role": "assistant", "content": TEXT}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        body = json.dumps({**HEAD, "object": "chat.completion", "choices": [choice]}).encode()
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def stream(self) -> None:
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for word in TEXT.split(" "):
            self.event({"content": f"{word} "}, None)
        self.event({}, "stop")
        self.chunk("data: [DONE]\n\n")
        self.chunk("")

    def event(self, delta: dict[str, str], finish: str | None) -> None:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        event = {**HEAD, "object": "chat.completion.chunk", "choices": [choice]}
        self.chunk(f"data: {json.dumps(event)}\n\n")

    def chunk(self, text: str) -> None:
        self.wfile.write(f"{len(text):x}\r\n{text}\r\n".encode())

    def log_message(self, format: str, *args: object) -> None:
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
print(f"http://127.0.0.1:{server.server_address[1]}/v1", flush=True)
server.serve_forever()
