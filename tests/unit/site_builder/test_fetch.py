"""Files get into the cache complete and with the right hash, or not at all."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable
from pathlib import Path

import pytest

from site_builder import fetch
from site_builder.console import BuildError
from site_builder.fetch import Pin, Source, SourceError, Store, obtain

CONTENT = b"what the file consists of" * 1000


def pin_of(content: bytes, name: str = "thing.bin", group: str = "pyodide") -> Pin:
    return Pin(group, name, hashlib.sha256(content).hexdigest(), len(content))


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "cache")


@pytest.fixture
def pinned(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[Pin]]:
    """Make these the only pinned files of the group 'pyodide'."""

    def set_pins(*wanted: Pin) -> list[Pin]:
        monkeypatch.setattr(fetch, "pins", lambda group: [pin for pin in wanted if pin.group == group])
        return list(wanted)

    return set_pins


def files_under(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def giving(content: bytes, label: str = "a source") -> Source:
    def put(wanted: list[Pin], store: Store) -> None:
        for pin in wanted:
            store.add(pin, io.BytesIO(content), label)

    return Source(label, lambda pin: True, put)


def failing(reason: str, label: str = "a dead source") -> Source:
    def stop(wanted: list[Pin], store: Store) -> None:
        raise SourceError(reason)

    return Source(label, lambda pin: True, stop)


def test_a_file_with_the_right_hash_is_kept(store: Store) -> None:
    pin = pin_of(CONTENT)
    store.add(pin, io.BytesIO(CONTENT), "a source")
    assert store.has(pin)
    assert store.path(pin).read_bytes() == CONTENT
    assert files_under(store.folder) == [store.path(pin)]


def test_a_wrong_hash_stops_with_file_expected_and_found(store: Store) -> None:
    pin = pin_of(CONTENT)
    wrong = CONTENT + b"!"
    with pytest.raises(BuildError) as caught:
        store.add(pin, io.BytesIO(wrong), "a source")
    message = str(caught.value)
    assert "thing.bin from a source" in message
    assert f"expected {pin.sha256} ({len(CONTENT)} bytes)" in message
    assert f"found    {hashlib.sha256(wrong).hexdigest()} ({len(wrong)} bytes)" in message
    assert files_under(store.folder) == []


class Breaking(io.BytesIO):
    """A download that breaks off in the middle."""

    def read(self, size: int | None = -1) -> bytes:
        if self.tell() >= len(CONTENT) // 2:
            raise ConnectionResetError("the connection was closed")
        return super().read(min(size or 1000, 1000))


def test_a_download_that_breaks_off_leaves_nothing(store: Store) -> None:
    pin = pin_of(CONTENT)
    with pytest.raises(ConnectionResetError):
        store.add(pin, Breaking(CONTENT), "a source")
    assert not store.has(pin)
    assert files_under(store.folder) == []


def test_a_truncated_download_is_a_wrong_hash(store: Store) -> None:
    pin = pin_of(CONTENT)
    with pytest.raises(BuildError, match="wrong SHA-256"):
        store.add(pin, io.BytesIO(CONTENT[:-1]), "a source")
    assert files_under(store.folder) == []


def test_a_damaged_cached_file_is_fetched_again(
    store: Store, pinned: Callable[..., list[Pin]], capsys: pytest.CaptureFixture[str]
) -> None:
    [pin] = pinned(pin_of(CONTENT))
    store.add(pin, io.BytesIO(CONTENT), "a source")
    store.path(pin).write_bytes(CONTENT[:100])
    assert obtain("pyodide", store=store, sources=[giving(CONTENT)]) == {"thing.bin": store.path(pin)}
    assert store.path(pin).read_bytes() == CONTENT
    assert "the cached copy of thing.bin is damaged" in capsys.readouterr().out


def test_what_is_cached_needs_no_source(store: Store, pinned: Callable[..., list[Pin]]) -> None:
    [pin] = pinned(pin_of(CONTENT))
    store.add(pin, io.BytesIO(CONTENT), "a source")
    assert obtain("pyodide", store=store, sources=[]) == {"thing.bin": store.path(pin)}


def test_sources_are_tried_in_order_with_one_line_each(
    store: Store, pinned: Callable[..., list[Pin]], capsys: pytest.CaptureFixture[str]
) -> None:
    pinned(pin_of(CONTENT))
    sources = [failing("not reachable", "first"), giving(CONTENT, "second"), failing("never asked", "third")]
    obtain("pyodide", store=store, sources=sources)
    assert capsys.readouterr().out.splitlines() == [
        "Fetching thing.bin from first",
        "  first: not reachable; trying the next source",
        "Fetching thing.bin from second",
    ]


def test_a_source_is_asked_only_for_what_it_holds(store: Store, pinned: Callable[..., list[Pin]]) -> None:
    pinned(pin_of(CONTENT, "a.bin"), pin_of(CONTENT + b"b", "b.bin"))
    asked: list[str] = []

    def put(content: bytes) -> Callable[[list[Pin], Store], None]:
        def into(wanted: list[Pin], store: Store) -> None:
            asked.extend(pin.name for pin in wanted)
            for pin in wanted:
                store.add(pin, io.BytesIO(content), "a source")

        return into

    only_a = Source("only a", lambda pin: pin.name == "a.bin", put(CONTENT))
    only_b = Source("only b", lambda pin: pin.name == "b.bin", put(CONTENT + b"b"))
    assert sorted(obtain("pyodide", store=store, sources=[only_a, only_b])) == ["a.bin", "b.bin"]
    assert asked == ["a.bin", "b.bin"]


def test_a_wrong_hash_from_one_source_does_not_fall_through(
    store: Store, pinned: Callable[..., list[Pin]]
) -> None:
    pinned(pin_of(CONTENT))
    with pytest.raises(BuildError, match="wrong SHA-256"):
        obtain("pyodide", store=store, sources=[giving(b"something else"), giving(CONTENT)])


def test_without_any_source_the_missing_files_are_named(
    store: Store, pinned: Callable[..., list[Pin]]
) -> None:
    pinned(pin_of(CONTENT, "a.bin"), pin_of(CONTENT + b"b", "b.bin"))
    with pytest.raises(BuildError, match=r"no source could provide a\.bin, b\.bin"):
        obtain("pyodide", store=store, sources=[failing("down")])


def test_the_real_pins_are_complete() -> None:
    for group in ("pyodide", "pyscript", "test-wheels"):
        for pin in fetch.pins(group):
            assert len(pin.sha256) == 64 and set(pin.sha256) <= set("0123456789abcdef")
            assert pin.size > 0
            assert any(source.holds(pin) for source in fetch.SOURCES), f"{pin.name} has no source"
    assert {pin.name: pin.sha256 for pin in fetch.pins("pyodide")}[
        "numpy-2.2.5-cp313-cp313-pyodide_2025_0_wasm32.whl"
    ] == "3db3c4f3e0448f4d62a85c262692f1260ccd8a91335442bd2442f21ffeddb558"


@pytest.mark.needs_cpython
def test_an_unreachable_release_is_given_up_at_once(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    from site_builder.serve import free_port

    tries: list[str] = []

    def closed_port(pin: Pin) -> str:
        tries.append(pin.name)
        return f"http://127.0.0.1:{free_port()}/{pin.name}"

    monkeypatch.setattr(fetch, "release_url", closed_port)
    with pytest.raises(SourceError, match="not reachable"):
        fetch.from_release([pin_of(CONTENT, "a.bin"), pin_of(CONTENT, "b.bin")], store)
    assert tries == ["a.bin"]
