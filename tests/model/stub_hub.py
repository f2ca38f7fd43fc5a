"""The little of the hub's protocol that huggingface_hub needs to fetch a model, on 127.0.0.1."""

import hashlib
import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

COMMIT = "0123456789abcdef0123456789abcdef01234567"


class StubHub:
    """Serves ``models``: by id, a folder whose files are the model's. ``gated`` ids have files that nobody may have.

    ``fetched`` are the files that were given away, in order.
    """

    def __init__(self) -> None:
        self.models: dict[str, Path] = {}
        self.gated: set[str] = set()
        self.fetched: list[str] = []
        hub = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                hub.answer(self, body=True)

            def do_HEAD(self) -> None:
                hub.answer(self, body=False)

            def log_message(self, *arguments: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()

    def stop(self) -> None:
        self.server.shutdown()
        self.server.server_close()

    def answer(self, request: BaseHTTPRequestHandler, body: bool) -> None:
        parts = request.path.partition("?")[0].strip("/").split("/")
        if parts[:2] == ["api", "models"]:
            self.tell(request, "/".join(parts[2:4]), body)
        elif len(parts) > 4 and parts[2] == "resolve":
            self.give(request, "/".join(parts[:2]), "/".join(parts[4:]), body)
        else:
            respond(request, 404, {}, b"", body)

    def tell(self, request: BaseHTTPRequestHandler, model: str, body: bool) -> None:
        if model not in self.models:
            return respond(request, 404, {"X-Error-Code": "RepoNotFound"}, b"", body)
        files = sorted(path for path in self.models[model].rglob("*") if path.is_file())
        told = {
            "_id": "1",
            "id": model,
            "modelId": model,
            "sha": COMMIT,
            "siblings": [
                {"rfilename": str(path.relative_to(self.models[model])), "size": path.stat().st_size}
                for path in files
            ],
        }
        return respond(request, 200, {"Content-Type": "application/json"}, json.dumps(told).encode(), body)

    def give(self, request: BaseHTTPRequestHandler, model: str, name: str, body: bool) -> None:
        path = self.models.get(model, Path("/nowhere")) / name
        if model in self.gated:
            respond(request, 403, {"X-Error-Code": "GatedRepo"}, b"", body)
        elif not path.is_file():
            headers = {"X-Error-Code": "EntryNotFound", "X-Repo-Commit": COMMIT}
            respond(request, 404, headers, b"", body)
        else:
            data = path.read_bytes()
            if body:
                self.fetched.append(name)
            etag = hashlib.sha256(data).hexdigest()
            respond(request, 200, {"X-Repo-Commit": COMMIT, "ETag": f'"{etag}"'}, data, body)


def respond(
    request: BaseHTTPRequestHandler, status: int, headers: dict[str, str], data: bytes, body: bool
) -> None:
    request.send_response(status)
    for name, value in headers.items():
        request.send_header(name, value)
    request.send_header("Content-Length", str(len(data)))
    request.end_headers()
    if body:
        request.wfile.write(data)
