"""A private repository over HTTP on loopback, as github.com serves it: git's smart protocol, for holders of the token.

git's own program for web servers (`git http-backend`) does the work; this hands requests to it and answers back.
"""

from __future__ import annotations

import base64
import contextlib
import gzip
import os
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit


def _lines(body: bytes) -> Iterator[str]:
    """The lines of a request in git's own framing: four digits of length, then the line; below 4 is a mark."""
    place = 0
    while place + 4 <= len(body):
        length = int(body[place : place + 4], 16)
        yield body[place + 4 : place + length].decode("utf-8", "replace").strip()
        place += max(length, 4)


@dataclass(frozen=True, slots=True)
class Fetch:
    """One fetch: the commits it asked for, and how many commits of history (None: all)."""

    wants: tuple[str, ...]
    depth: int | None


@dataclass
class GitServer:
    """A running server. `url` is what stands for https://github.com; below it are the bare repositories of `root`."""

    root: Path
    token: str
    url: str = ""
    fetches: list[Fetch] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    """Paths that were asked for without the token."""

    @property
    def secret(self) -> str:
        """The header that opens it, as actions/checkout and the action send it."""
        return "Basic " + base64.b64encode(f"x-access-token:{self.token}".encode()).decode()


@contextlib.contextmanager
def serving(root: Path, token: str) -> Iterator[GitServer]:
    """Serve the bare repositories below `root` on a free port until the block ends."""
    server = GitServer(root, token)
    web = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"git": server}))
    web.daemon_threads = True
    server.url = f"http://127.0.0.1:{web.server_address[1]}"
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
    git: GitServer

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: tests read what was fetched."""

    def do_GET(self) -> None:
        self._serve(b"")

    def do_POST(self) -> None:
        self._serve(self.rfile.read(int(self.headers.get("Content-Length") or 0)))

    def _serve(self, body: bytes) -> None:
        url = urlsplit(self.path)
        if self.headers.get("Authorization") != self.git.secret:
            self.git.refused.append(url.path)
            self._send(401, {"WWW-Authenticate": 'Basic realm="GitHub"'}, b"")
            return
        plain = gzip.decompress(body) if self.headers.get("Content-Encoding") == "gzip" else body
        told = [line.split() for line in _lines(plain)]
        if wants := tuple(dict.fromkeys(words[1] for words in told if words[:1] == ["want"])):
            depth = next((int(words[1]) for words in told if words[:1] == ["deepen"]), None)
            self.git.fetches.append(Fetch(wants, depth))
        head, _, content = self._backend(url.path, url.query, body).partition(b"\r\n\r\n")
        headers = dict(line.split(": ", 1) for line in head.decode("latin-1").split("\r\n") if ": " in line)
        self._send(int(headers.pop("Status", "200").split()[0]), headers, content)

    def _backend(self, path: str, query: str, body: bytes) -> bytes:
        given = {
            "GIT_PROJECT_ROOT": str(self.git.root),
            "GIT_HTTP_EXPORT_ALL": "1",
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "PATH": os.environ["PATH"],
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "REQUEST_METHOD": self.command,
            "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "CONTENT_LENGTH": str(len(body)),
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
            "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
            "REMOTE_ADDR": "127.0.0.1",
        }
        return subprocess.run(
            ["git", "http-backend"], input=body, env=given, stdout=subprocess.PIPE, check=True, timeout=60
        ).stdout

    def _send(self, status: int, headers: dict[str, str], content: bytes) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)
