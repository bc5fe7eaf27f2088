"""The HTTP side: reads requests, orders faults, cuts pages, judges both ways, keeps a log."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from .description import Description, Operation
from .faults import Fault
from .routes import ROUTES, Answer, Refused, Request
from .state import State

DESCRIPTION = Description()
"""Read once; nothing changes it."""


@dataclass(frozen=True, slots=True)
class Logged:
    """One request as it came and the status it got (0: the connection was cut)."""

    method: str
    path: str
    query: dict[str, str]
    body: Any
    headers: dict[str, str]
    status: int


@dataclass
class GitHubServer:
    """A running server. `url` is what a client takes for the API's address."""

    state: State = field(default_factory=State)
    prefix: str = ""
    """Path before every operation: "/api/v3" as on an Enterprise server."""
    url: str = ""
    faults: list[Fault] = field(default_factory=list)
    log: list[Logged] = field(default_factory=list)
    violations: list[str] = field(default_factory=list)
    lock: threading.RLock = field(default_factory=threading.RLock)

    def requests(self, method: str | None = None, path: str = "") -> list[Logged]:
        """The logged requests with that method (None: any) and that text in their path."""
        with self.lock:
            return [each for each in self.log if method in {None, each.method} and path in each.path]

    def fault_for(self, method: str, path: str) -> Fault | None:
        """The first fault that fits, used up once; None if there is none."""
        with self.lock:
            for fault in self.faults:
                if fault.fits(method, path):
                    fault.times -= 1
                    return fault
        return None


@contextmanager
def running(server: GitHubServer | None = None, *, host: str = "127.0.0.1", port: int = 0) -> Iterator[GitHubServer]:
    """Serve on a free port until the block ends."""
    server = server or GitHubServer()
    web = ThreadingHTTPServer((host, port), type("Handler", (_Handler,), {"server_state": server}))
    web.daemon_threads = True
    web.block_on_close = False
    server.url = f"http://{host}:{web.server_address[1]}{server.prefix}"
    thread = threading.Thread(target=web.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        web.shutdown()
        web.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Headers and body leave in two writes; waiting for each other's acknowledgement would cost 40 ms an answer.
    disable_nagle_algorithm = True
    server_state: GitHubServer

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing: tests read the log."""

    def do_GET(self) -> None:
        self._serve()

    do_POST = do_PATCH = do_PUT = do_DELETE = do_GET  # noqa: N815

    def _serve(self) -> None:
        server = self.server_state
        url = urlsplit(self.path)
        query = dict(parse_qsl(url.query, keep_blank_values=True))
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        body, path = (json.loads(raw) if raw else None), url.path.removeprefix(server.prefix)
        fault = server.fault_for(self.command, path)
        if fault is not None and fault.delay:
            time.sleep(fault.delay)
        answer = self._answer(path, query, body, fault)
        with server.lock:
            status = answer.status if answer else 0
            server.log.append(Logged(self.command, path, query, body, dict(self.headers), status))
        if answer is None:
            self.close_connection = True
            return
        self._send(answer)

    def _answer(self, path: str, query: dict[str, str], body: Any, fault: Fault | None) -> Answer | None:
        server = self.server_state
        if path.startswith("/storage/"):
            if "Authorization" in self.headers:
                self._violation("the token was sent to the storage's address")
            return Answer(200, server.state.archives[int(path.rsplit("/", 1)[1])])
        operation = DESCRIPTION.operation(self.command, path)
        if operation is None:
            if not (fault and fault.status >= 400):
                self._violation(f"{self.command} {path}: no such operation")
            return Answer(404, {"message": "Not Found"})
        for found in DESCRIPTION.request_faults(operation, query, body):
            self._violation(f"{self.command} {path}: request: {found}")
        if fault is None or fault.act or (fault.status < 300 and not fault.cut):
            answer = self._act(operation, path, query, body)
        if fault is not None and fault.cut:
            return None
        if fault is not None and fault.status >= 300:
            answer = Answer(fault.status, {"message": fault.message, **fault.more}, fault.headers)
        filled = self._filled(operation, answer)
        for found in DESCRIPTION.answer_faults(operation, filled.status, filled.body):
            self._violation(f"{self.command} {path}: {found}")
        return filled

    def _act(self, operation: Operation, path: str, query: dict[str, str], body: Any) -> Answer:
        server = self.server_state
        base = f"http://{self.headers['Host']}"
        with server.lock:
            try:
                self._check_rights(operation)
                request = Request(base, operation.parameters, query, body)
                answer = ROUTES[operation.method, operation.template](server.state, request)
                return self._page(answer, base + server.prefix + path, query) if answer.pages else answer
            except Refused as refused:
                return Answer(refused.status, refused.body)
            except KeyError as missing:
                # A body without what its operation requires was noted above; GitHub says 422 as well.
                return Answer(422, {"message": f"Invalid request. {missing} wasn't supplied."})

    def _check_rights(self, operation: Operation) -> None:
        state = self.server_state.state
        sent = self.headers.get("Authorization")
        if sent is not None and sent.split()[-1] != state.token:
            raise Refused(401, "Bad credentials")
        if sent is None and (operation.method != "GET" or operation.template == "/user"):
            raise Refused(401, "Requires authentication")
        given = operation.parameters
        if "repo" in given and f"{given['owner']}/{given['repo']}".lower() != state.repository.lower():
            raise Refused(404, "Not Found")

    def _page(self, answer: Answer, address: str, query: dict[str, str]) -> Answer:
        size = min(int(query.get("per_page", 30)), 100)
        number = int(query.get("page", 1))
        last = max(1, -(-len(answer.body) // size))
        items = answer.body[(number - 1) * size : number * size]

        def link(page: int, rel: str) -> str:
            return f'<{address}?{urlencode({**query, "page": page})}>; rel="{rel}"'

        links = [link(number + 1, "next"), link(last, "last")] if number < last else []
        links += [link(number - 1, "prev"), link(1, "first")] if number > 1 else []
        headers = {"Link": ", ".join(links)} if links else {}
        body = items if answer.key is None else {"total_count": len(answer.body), answer.key: items}
        return Answer(answer.status, body, headers)

    def _filled(self, operation: Operation, answer: Answer) -> Answer:
        described = DESCRIPTION.resolve(operation.body["responses"].get(str(answer.status), {}))
        schema = described.get("content", {}).get("application/json", {}).get("schema")
        if answer.status >= 400 or schema is None:
            return answer
        base = self.server_state.url
        return Answer(answer.status, DESCRIPTION.filled(schema, base, answer.body), answer.headers)

    def _send(self, answer: Answer) -> None:
        payload = answer.body if isinstance(answer.body, bytes) else b""
        kind = "application/zip"
        if answer.body is not None and not isinstance(answer.body, bytes):
            payload, kind = json.dumps(answer.body).encode(), "application/json; charset=utf-8"
        headers = {
            "X-RateLimit-Limit": "5000",
            "X-RateLimit-Remaining": "4900",
            "X-RateLimit-Reset": str(int(time.time() + 3600)),
            **answer.headers,
        }
        try:
            self.send_response(answer.status)
            for name, value in headers.items():
                self.send_header(name, value)
            if answer.status != 204:
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(payload)))
            self.end_headers()
            self.wfile.write(payload)
        except OSError:  # The client gave up, as it should on a slow answer.
            self.close_connection = True

    def _violation(self, text: str) -> None:
        with self.server_state.lock:
            self.server_state.violations.append(text)
