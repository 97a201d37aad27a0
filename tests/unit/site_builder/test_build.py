"""The whole build: reproducible, within its size, with nothing that points elsewhere."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from site_builder import build
from site_builder.paths import ROOT, SINGLE_FILE

pytestmark = pytest.mark.needs_cpython


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what the build reads, so that edits meanwhile change nothing."""
    folder = tmp_path_factory.mktemp("checkout")
    shutil.copy(ROOT / "index.html", folder)
    for name in ("static", "py"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    return folder


@pytest.fixture(scope="module")
def made(checkout: Path) -> dict[str, bytes]:
    return build.make(checkout)


def test_the_same_inputs_give_the_same_bytes(made: dict[str, bytes], checkout: Path) -> None:
    # The memory snapshot alone is not reproducible; within one cache it is made once.
    again = build.make(checkout)
    assert sorted(made) == sorted(again)
    assert [name for name in made if made[name] != again[name]] == []


def test_every_reference_of_the_page_is_relative_and_there(made: dict[str, bytes]) -> None:
    page = made["index.html"].decode()
    loaded = re.findall(r"<(?:link|script|img)\b[^>]*?\s(?:href|src)=\"([^\"]+)\"", page)
    assert "./runtime.mjs" in loaded and "./main.py" in loaded
    for url in loaded:
        assert url.startswith("./"), f"{url} is not relative"
        assert url.removeprefix("./") in made, f"{url} is not in dist/"


def test_the_single_file_refers_to_nothing(made: dict[str, bytes]) -> None:
    page = re.sub(r"<script type=\"text/plain\".*?</script>", "", made[SINGLE_FILE].decode(), flags=re.DOTALL)
    loaded = re.findall(r"<(?:link|script|img)\b[^>]*?\s(?:href|src)=\"([^\"]{1,60})", page)
    assert [url for url in loaded if not url.startswith("data:")] == []


def test_the_size_of_the_single_file(made: dict[str, bytes]) -> None:
    # 12.5 MB without a snapshot, 23 MB with it
    limit = 23e6 if any(name.startswith("snapshot-") for name in made) else 12.5e6
    assert len(made[SINGLE_FILE]) <= limit


def test_no_slot_or_unbuilt_note_is_left(made: dict[str, bytes]) -> None:
    for name in ("index.html", SINGLE_FILE):
        text = re.sub(r"<script type=\"text/plain\".*?</script>", "", made[name].decode(), flags=re.DOTALL)
        assert "<!--slot" not in text and "unbuilt-->" not in text
        assert "build.py serve" not in re.sub(r"<article.*?</article>", "", text, flags=re.DOTALL)


def test_the_notices_carry_the_licence_texts(made: dict[str, bytes]) -> None:
    notices = made["NOTICES.html"].decode()
    for words in (
        "Apache License",
        "Redistribution and use in source and binary forms",
        "Mozilla Public License",
    ):
        assert words in notices
    assert (
        'id="notices"' in made[SINGLE_FILE].decode()
        and 'popovertarget="notices"' in made[SINGLE_FILE].decode()
    )


def test_a_build_is_current_until_an_input_or_output_changes(tmp_path: Path) -> None:
    target, stamp = tmp_path / "dist", tmp_path / "stamp.json"
    files = {"index.html": b"page", "sub/file.js": b"code"}
    build.write(files, target)
    stamp.write_text(f'{{"inputs": "one", "outputs": "{build.digest_of(files)}"}}')
    assert build.is_current(stamp, "one", target)
    assert not build.is_current(stamp, "two", target)
    (target / "index.html").write_bytes(b"edited")
    assert not build.is_current(stamp, "one", target)
    build.write(files, target)
    assert build.is_current(stamp, "one", target)
    (target / "left-over.txt").write_bytes(b"")
    assert not build.is_current(stamp, "one", target)
    stamp.write_text("{")
    assert not build.is_current(stamp, "one", target)
