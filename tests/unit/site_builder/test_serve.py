"""The local server: right media types, one folder and nothing else, free ports."""

from __future__ import annotations

import http.client
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from site_builder.console import BuildError
from site_builder.dist import mime_of
from site_builder.serve import HOST, Server, open_server, running

pytestmark = pytest.mark.needs_cpython


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    folder = tmp_path / "dist"
    folder.mkdir()
    for name in ("index.html", "runtime.mjs", "pyodide.asm.wasm", "numpy.whl"):
        (folder / name).write_text(f"content of {name}")
    (tmp_path / "secret.txt").write_text("not for readers")
    with running(folder, "/some/course/") as server:
        yield server


def get(server: Server, path: str, headers: dict[str, str] | None = None) -> http.client.HTTPResponse:
    connection = http.client.HTTPConnection(HOST, server.server_address[1], timeout=10)
    connection.request("GET", path, headers=headers or {})
    response = connection.getresponse()
    response.body = response.read()  # type: ignore[attr-defined]
    connection.close()
    return response


@pytest.mark.parametrize(
    ("name", "mime"),
    [
        ("index.html", "text/html; charset=utf-8"),
        ("runtime.mjs", "text/javascript; charset=utf-8"),
        ("pyodide.asm.wasm", "application/wasm"),
        ("numpy.whl", "application/zip"),
    ],
)
def test_media_types(server: Server, name: str, mime: str) -> None:
    response = get(server, f"/some/course/{name}")
    assert response.status == 200
    assert response.headers["Content-Type"] == mime
    assert response.body == f"content of {name}".encode()  # type: ignore[attr-defined]


def test_the_folder_itself_gives_the_page(server: Server) -> None:
    assert get(server, "/some/course/").body == b"content of index.html"  # type: ignore[attr-defined]
    moved = get(server, "/some/course")
    assert (moved.status, moved.headers["Location"]) == (301, "/some/course/")


def test_an_unchanged_file_is_not_sent_again(server: Server) -> None:
    first = get(server, "/some/course/runtime.mjs")
    again = get(server, "/some/course/runtime.mjs", {"If-None-Match": first.headers["ETag"]})
    assert (again.status, again.body) == (304, b"")  # type: ignore[attr-defined]
    (server.folder / "runtime.mjs").write_text("changed")
    changed = get(server, "/some/course/runtime.mjs", {"If-None-Match": first.headers["ETag"]})
    assert (changed.status, changed.body) == (200, b"changed")  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "path",
    ["/", "/index.html", "/some/course/../secret.txt", "/some/course/%2e%2e/secret.txt", "/some/course/none"],
)
def test_nothing_outside_the_folder(server: Server, path: str) -> None:
    response = get(server, path)
    assert response.status == 404
    assert b"not for readers" not in response.body  # type: ignore[attr-defined]


def test_a_busy_port_is_refused_only_if_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as busy:
        busy.bind((HOST, 0))
        busy.listen()
        port = busy.getsockname()[1]
        with pytest.raises(BuildError, match=f"port {port} cannot be used"):
            open_server(tmp_path, port)
        monkeypatch.setattr("site_builder.serve.USUAL_PORT", port)
        with open_server(tmp_path, None) as server:
            assert server.server_address[1] != port
            assert server.address == f"http://127.0.0.1:{server.server_address[1]}/"


def test_media_types_do_not_depend_on_the_machine() -> None:
    assert mime_of("a/b.mjs") == "text/javascript"
    assert mime_of("x.unheard-of") == "application/octet-stream"
