"""A small local server for `dist/`: this machine only, right media types, nothing cached without asking again."""

from __future__ import annotations

import contextlib
import hashlib
import http.server
import socket
import threading
import urllib.parse
import webbrowser
from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

from .console import BuildError, say
from .dist import mime_of

HOST = "127.0.0.1"
USUAL_PORT = 8000


class Handler(http.server.SimpleHTTPRequestHandler):
    """Serves the folder of its server under the server's prefix, with an entity tag instead of a lifetime."""

    protocol_version = "HTTP/1.1"
    server: Server

    def do_GET(self) -> None:
        self.answer(body=True)

    def do_HEAD(self) -> None:
        self.answer(body=False)

    def answer(self, *, body: bool) -> None:
        path = urllib.parse.unquote(urllib.parse.urlsplit(self.path).path)
        if path + "/" == self.server.prefix:
            self.reply(301, b"", body, {"Location": self.server.prefix})
            return
        file = self.server.find(path)
        if file is None:
            self.reply(404, b"Not found.\n", body, {"Content-Type": "text/plain; charset=utf-8"})
            return
        content = file.read_bytes()
        tag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
        mime = mime_of(file.name)
        text = mime.startswith("text/") or mime.endswith("json")
        headers = {
            "Content-Type": f"{mime}; charset=utf-8" if text else mime,
            "ETag": tag,
            "Cache-Control": "no-cache",
            "X-Content-Type-Options": "nosniff",
            "Access-Control-Allow-Origin": "*",  # a frame with sandbox="allow-scripts" has no origin to load modules from
        }
        if self.headers.get("If-None-Match") == tag:
            self.reply(304, b"", body, headers)
        else:
            self.reply(200, content, body, headers)

    def reply(self, status: int, content: bytes, body: bool, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        if status != 304:
            self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if body and content:
            # the reader may have closed the page meanwhile
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:
        """Quiet: the address is all that a person needs to see."""


class Server(http.server.ThreadingHTTPServer):
    """One folder under one path prefix ('/' or '/some/course/')."""

    daemon_threads = True
    allow_reuse_address = False  # on some systems it would share a port that somebody else uses

    def __init__(self, folder: Path, port: int, prefix: str = "/") -> None:
        self.folder = folder.resolve()
        self.prefix = prefix
        super().__init__((HOST, port), Handler)

    @property
    def address(self) -> str:
        return f"http://{HOST}:{self.server_address[1]}{self.prefix}"

    def find(self, path: str) -> Path | None:
        """The file for a URL path, never one outside the folder."""
        if not path.startswith(self.prefix):
            return None
        try:
            file = (self.folder / path.removeprefix(self.prefix)).resolve()
            if file.is_dir():
                file = file / "index.html"
            return file if file.is_relative_to(self.folder) and file.is_file() else None
        except (OSError, ValueError):
            return None


AnyServer = TypeVar("AnyServer", bound=Server)


def open_server(folder: Path, port: int | None, prefix: str = "/") -> Server:
    """A server on the port asked for; without one, the usual port or any free one."""
    try:
        return Server(folder, USUAL_PORT if port is None else port, prefix)
    except (OSError, OverflowError) as error:
        if port is not None:
            raise BuildError(f"port {port} cannot be used: {error}") from None
        return Server(folder, 0, prefix)


def running(folder: Path, prefix: str = "/") -> contextlib.AbstractContextManager[Server]:
    """A server in the background on any free port, for tests."""
    return background(Server(folder, 0, prefix))


@contextlib.contextmanager
def background(server: AnyServer) -> Iterator[AnyServer]:
    """The server, answering in a thread of its own until the block ends."""
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def serve(folder: Path, port: int | None, open_page: bool) -> None:
    """Serve until the person presses Ctrl+C."""
    with open_server(folder, port) as server:
        say(f"Attention Lab is at {server.address} (this machine only; Ctrl+C stops it)")
        if open_page:
            threading.Thread(target=webbrowser.open, args=(server.address,), daemon=True).start()
        with contextlib.suppress(KeyboardInterrupt):
            server.serve_forever()
        say("Stopped.")


def free_port() -> int:
    """A port that nobody uses right now."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])
