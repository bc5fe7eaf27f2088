"""The HTTP side: reads requests, keeps a log of them, answers at once or as a stream, breaks off if told so."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from . import wires
from .asked import Asked, faults, read
from .behaviours import Answerer, Bucket, always
from .replies import Reply, refuse, say


@dataclass
class ModelServer:
    """A running provider.

    Attributes:
        answer: how it answers; tests may set it at any time.
        embed: how a text becomes a vector.
        key: the key that it wants, sent either provider's way; None takes every key and none.
        limit: lets so many requests a second through and answers 429 to the others; None lets all through.
        origin: scheme, host and port. `url` is what OpenAI's clients take for the base URL.
        log: every request in the order in which it came, the refused ones as well.
        statuses: the status of every answer, in the order in which they were sent; 0 for a cut connection.
        violations: requests that a provider would refuse with status 400, in words.
        most_at_once: the most requests that it was working on at the same time.
    """

    answer: Answerer = field(default_factory=lambda: always(say("Hello.")))
    embed: Callable[[str], Sequence[float]] = wires.bag_of_words
    key: str | None = None
    limit: Bucket | None = None
    origin: str = ""
    log: list[Asked] = field(default_factory=list)
    statuses: list[int] = field(default_factory=list)
    violations: list[str] = field(default_factory=list)
    most_at_once: int = 0
    lock: threading.RLock = field(default_factory=threading.RLock)
    stopping: threading.Event = field(default_factory=threading.Event)
    at_work: int = 0
    seen: Counter[str] = field(default_factory=Counter)

    @property
    def url(self) -> str:
        return f"{self.origin}/v1"

    @property
    def calls(self) -> int:
        """How many requests came, whatever was answered."""
        with self.lock:
            return len(self.log)

    def forget(self) -> None:
        """Empty the log and start counting again; the same questions then get the same answers again."""
        with self.lock:
            self.log.clear()
            self.statuses.clear()
            self.seen.clear()
            self.most_at_once = 0

    def reply_to(self, asked: Asked) -> tuple[Asked, Reply]:
        """Log a request and decide what is answered; the request comes back with its count."""
        if self.limit is not None and (wait := self.limit.wait_for()) > 0:
            with self.lock:
                self.log.append(asked)
            return asked, refuse(429, "Rate limit reached for requests").but(headers=self.limit.headers(wait))
        with self.lock:
            # Only what was let through counts: a refused request is asked again.
            self.seen[asked.digest] += 1
            asked = replace(asked, nth=self.seen[asked.digest])
            self.log.append(asked)
            found = list(faults(asked))
            self.violations += found
        if self.key is not None and asked.key != self.key:
            return asked, refuse(401, f"Incorrect API key provided: {asked.key}.")
        if found:
            return asked, refuse(400, "; ".join(found))
        return asked, say("") if asked.wire == "embeddings" else self.answer(asked)


@contextmanager
def running(server: ModelServer | None = None, *, host: str = "127.0.0.1", port: int = 0) -> Iterator[ModelServer]:
    """Serve on a free port until the block ends; requests in the middle of a delay are cut then."""
    server = server or ModelServer()
    web = _Web((host, port), type("Handler", (_Handler,), {"server_state": server}))
    server.origin = f"http://{host}:{web.server_address[1]}"
    thread = threading.Thread(target=web.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.stopping.set()
        web.shutdown()
        web.server_close()
        thread.join()
        # Kept-alive connections have threads of their own, which would go on answering.
        for connection in list(web.connections):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)


class _Web(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 256

    def __init__(self, *arguments: Any) -> None:
        self.connections: set[socket.socket] = set()
        super().__init__(*arguments)

    def process_request(self, request: Any, client_address: Any) -> None:
        self.connections.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self.connections.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of clients that went away; a fault of the server itself is one of the log's violations."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Headers and body leave in two writes; waiting for each other's acknowledgement would cost 40 ms an answer.
    disable_nagle_algorithm = True
    server_state: ModelServer

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing: tests read the log."""

    def do_POST(self) -> None:
        server = self.server_state
        with server.lock:
            server.at_work += 1
            server.most_at_once = max(server.most_at_once, server.at_work)
        try:
            self._serve()
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True
        except Exception as error:
            server.violations.append(f"the server itself failed: {error!r}")
            raise
        finally:
            with server.lock:
                server.at_work -= 1

    def _serve(self) -> None:
        server = self.server_state
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        asked = read(self.path.split("?", 1)[0], dict(self.headers), json.loads(raw))
        if asked is None:
            self._send(404, {}, b'{"error": {"message": "Not found", "type": "not_found_error"}}')
            return
        asked, reply = server.reply_to(asked)
        if reply.delay and server.stopping.wait(reply.delay):
            self.close_connection = True
            return
        with server.lock:
            server.statuses.append(0 if reply.cut else reply.status)
        if reply.cut == "before":
            self.close_connection = True
        elif reply.raw is not None:
            kind = "text/event-stream" if asked.streams else "application/json"
            raw = b"data: " + reply.raw + b"\n\n" if asked.streams else reply.raw
            self._send(reply.status, {**reply.headers, "Content-Type": kind}, raw)
        elif asked.wire == "embeddings" and reply.status < 400:
            body = wires.embeddings_of(asked, [server.embed(text) for text in asked.texts])
            self._send(200, {}, json.dumps(body).encode())
        elif asked.streams and reply.status < 400:
            self._stream(asked, reply)
        else:
            body = wires.body_of(asked, reply)
            self._send(reply.status, reply.headers, json.dumps(body).encode(), half=reply.cut == "middle")

    def _send(self, status: int, headers: dict[str, str], payload: bytes, *, half: bool = False) -> None:
        self.send_response(status)
        for name, text in {"Content-Type": "application/json", **headers, "Content-Length": str(len(payload))}.items():
            self.send_header(name, text)
        self.end_headers()
        self.wfile.write(payload[: len(payload) // 2] if half else payload)
        self.close_connection = self.close_connection or half

    def _stream(self, asked: Asked, reply: Reply) -> None:
        events = list(wires.events_of(asked, reply))
        self.send_response(reply.status)
        for name, text in {
            **reply.headers,
            "Content-Type": "text/event-stream",
            "Transfer-Encoding": "chunked",
        }.items():
            self.send_header(name, text)
        self.end_headers()
        for name, data in events[: len(events) // 2] if reply.cut else events:
            line = data if isinstance(data, str) else json.dumps(data)
            payload = (f"event: {name}\n" * (name is not None) + f"data: {line}\n\n").encode()
            self.wfile.write(b"%x\r\n%s\r\n" % (len(payload), payload))
            if reply.pause and self.server_state.stopping.wait(reply.pause):
                break
        else:
            if not reply.cut:
                self.wfile.write(b"0\r\n\r\n")
                return
        self.close_connection = True
