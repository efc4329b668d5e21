"""A receiver of webhooks on this machine that answers as a test wants, and keeps what came.

receiver = Receiver()
receiver.script("/a", "500", "429:120", "301", "410", "drop", "hang", "200")   # then always 200
receiver.came("/a")                     # what came to a path, oldest first
"""

from __future__ import annotations

import json
import socket
import ssl
import threading
from collections import defaultdict, deque
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Came:
    """One request."""

    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def message_id(self) -> str:
        return self.headers["webhook-id"]

    @property
    def content(self) -> dict[str, Any]:
        return json.loads(self.body)

    @property
    def kind(self) -> str:
        """The kind of event: `opened` of `crucible.alert.opened`."""
        return str(self.content["type"]).rpartition(".")[2]

    @property
    def seq(self) -> tuple[str, int, int]:
        """Alert, episode and number of the event."""
        data = self.content["data"]
        return data["alert"], data["episode"], data["seq"]


class Receiver:
    """Listens on a port of its own until it is closed."""

    def __init__(self, context: ssl.SSLContext | None = None) -> None:
        self._scripts: dict[str, deque[str]] = defaultdict(deque)
        self.always: dict[str, str] = {}
        self._came: list[Came] = []
        self._lock = threading.Lock()
        self._closing = threading.Event()
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                receiver._handle(self)

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._server.handle_error = lambda *_: None  # type: ignore[method-assign]
        if context is not None:
            self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self.port = self._server.server_port
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.01,), daemon=True
        )
        self._thread.start()

    def close(self) -> None:
        """Stop listening."""
        self._closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def forget(self) -> None:
        """Begin anew: nothing came, every request gets 200."""
        with self._lock:
            self._came.clear()
            self._scripts.clear()
            self.always.clear()

    def url(self, path: str, host: str = "127.0.0.1", scheme: str = "http") -> str:
        """The address of a path."""
        return f"{scheme}://{host}:{self.port}{path}"

    def script(self, path: str, *steps: str) -> None:
        """What the next requests to a path get, in order."""
        self._scripts[path] = deque(steps)

    def came(self, path: str | None = None) -> list[Came]:
        """What came, to a path or to all."""
        with self._lock:
            return [one for one in self._came if path in {None, one.path}]

    def _handle(self, request: BaseHTTPRequestHandler) -> None:
        length = int(request.headers["content-length"])
        body = request.rfile.read(length)
        if len(body) < length:
            return  # the sender was killed in the middle of it: nothing came
        headers = {name.lower(): value for name, value in request.headers.items()}
        with self._lock:
            self._came.append(Came(request.path, headers, body))
            script = self._scripts[request.path]
            step = script.popleft() if script else self.always.get(request.path, "200")
        what, _, value = step.partition(":")
        if what == "hang":
            self._closing.wait(10)
        elif what == "drop":
            request.connection.shutdown(socket.SHUT_RDWR)
        elif what == "endless":
            self._endless(request)
        else:
            request.send_response(int(what))
            if what.startswith("3"):
                request.send_header("location", self.url("/elsewhere"))
            elif value:
                request.send_header("retry-after", value)
            request.send_header("content-length", "2")
            request.end_headers()
            request.wfile.write(b"ok")

    def _endless(self, request: BaseHTTPRequestHandler) -> None:
        """A good answer whose body does not end."""
        request.send_response(200)
        request.end_headers()
        while not self._closing.is_set():
            request.wfile.write(b"x" * 65_536)
