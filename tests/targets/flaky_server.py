"""A real HTTP server on loopback that answers as it is told: well, badly, slowly, or not at all."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Request:
    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True)
class Reply:
    """What to answer. `announced` is the Content-Length when it shall differ from the body's; `hang` never answers."""

    status: int = 200
    body: bytes = b""
    headers: tuple[tuple[str, str], ...] = ()
    announced: int | None = None
    hang: bool = False
    raw: bytes | None = None


def ok(value: Any) -> Reply:
    return Reply(200, json.dumps(value).encode(), (("Content-Type", "application/json"),))


@dataclass
class Server:
    url: str = ""
    requests: list[Request] = field(default_factory=list)
    connections: int = 0


@contextlib.asynccontextmanager
async def flaky_server(*replies: Reply) -> AsyncIterator[Server]:
    """Serve the replies one after another, then the last one for ever."""
    waiting = list(replies)
    server = Server()
    stop = asyncio.Event()
    open_connections: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        server.connections += 1
        task = asyncio.current_task()
        assert task is not None
        open_connections.add(task)
        # Idle connections are cancelled at the end; the stream library would complain of a cancelled task.
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            while await _serve_one(reader, writer):
                pass
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()
        open_connections.discard(task)

    async def _serve_one(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        method, path, _ = head[0].split(" ")
        headers = _headers(head[1:])
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        server.requests.append(Request(method, path, headers, body))
        reply = waiting.pop(0) if len(waiting) > 1 else waiting[0]
        if reply.hang:
            await stop.wait()
            return False
        if reply.raw is not None:
            writer.write(reply.raw)
            await writer.drain()
            return False
        length = len(reply.body) if reply.announced is None else reply.announced
        lines = [f"HTTP/1.1 {reply.status} Whatever", f"Content-Length: {length}"]
        lines += [f"{name}: {value}" for name, value in reply.headers]
        writer.write("\r\n".join([*lines, "", ""]).encode() + reply.body)
        await writer.drain()
        return length == len(reply.body)

    listening = await asyncio.start_server(serve, "127.0.0.1", 0)
    host, port = listening.sockets[0].getsockname()[:2]
    server.url = f"http://{host}:{port}"
    try:
        yield server
    finally:
        stop.set()
        listening.close()
        await listening.wait_closed()
        for task in list(open_connections):
            task.cancel()
        await asyncio.gather(*open_connections, return_exceptions=True)


def _headers(lines: Iterable[str]) -> dict[str, str]:
    return {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines) if name}
