"""A trace API of a few lines for the tests, with the failures that a test asks for."""

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Stub:
    """Stores what it is sent. `fate(number, method, path)` may give (status, headers, body), "drop" or "hang"."""

    def __init__(self, fate=None):
        self.fate = fate or (lambda number, method, path: None)
        self.lock = threading.Lock()
        self.requests = []
        self.bodies = []
        self.traces = {}
        self.spans = {}
        self.keys = {}
        stub = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def log_message(self, *args):
                pass

            def handle_any(self):
                stub.handle(self)

            do_POST = do_PATCH = handle_any

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 128

            def handle_error(self, request, client_address):
                pass

        self.server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def handle(self, handler):
        body = handler.rfile.read(int(handler.headers.get("Content-Length", 0)))
        key, path = handler.headers.get("Idempotency-Key"), handler.path
        with self.lock:
            self.requests.append((handler.command, path, key))
            self.bodies.append(body)
            number = len(self.requests)
        fate = self.fate(number, handler.command, path)
        if fate == "hang":
            time.sleep(30)
        if isinstance(fate, tuple):
            return self.answer(handler, *fate)
        with self.lock:
            status, answer = self.store(handler.command, path, key, json.loads(body))
        if fate == "drop":
            handler.close_connection = True
            return handler.connection.close()
        self.answer(handler, status, {}, answer)

    def store(self, method, path, key, body):
        if key in self.keys:
            return self.keys[key]
        parts = path.split("/")[4:]
        if method == "POST" and not parts:
            trace_id = f"t{len(self.traces)}"
            self.traces[trace_id] = body
            answer = {"trace_id": trace_id}
        elif method == "POST":
            ids = [f"s{len(self.spans) + index}" for index in range(len(body["spans"]))]
            refs = {span["ref"]: span_id for span, span_id in zip(body["spans"], ids) if "ref" in span}
            for span, span_id in zip(body["spans"], ids):
                parent = refs.get(span.pop("parent_ref", None), span.pop("parent_span_id", None))
                span.pop("ref", None)
                assert parent is None or parent in self.spans or parent in ids
                self.spans[span_id] = {**span, "parent": parent, "trace": parts[0]}
            answer = {"span_ids": ids}
        else:
            stored = self.traces[parts[0]] if len(parts) == 1 else self.spans[parts[2]]
            attributes = {**stored.get("attributes", {}), **body.pop("attributes", {})}
            stored.update(body, **({"attributes": attributes} if attributes else {}))
            return 200, {"ok": True}
        if key:
            self.keys[key] = 201, answer
        return 201, answer

    @staticmethod
    def answer(handler, status, headers, body):
        data = json.dumps(body).encode()
        handler.send_response(status)
        for name, value in {**headers, "Content-Type": "application/json", "Content-Length": str(len(data))}.items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(data)

    def named(self, name):
        """The stored spans of a name."""
        return [span for span in self.spans.values() if span["name"] == name]

    def close(self):
        self.server.shutdown()
        self.server.server_close()
