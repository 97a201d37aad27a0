"""Slots, references and what the single file may contain."""

from __future__ import annotations

from pathlib import Path

import pytest

from site_builder.archive import zip_bytes
from site_builder.console import BuildError
from site_builder.dist import pyscript_tag, without_micropython
from site_builder.page import fill, map_references, static_references
from site_builder.single import inline_references, python_text, script_text


def test_slots_are_filled_and_the_unbuilt_note_goes() -> None:
    source = "<p><!--slot:a-->default<!--/slot:a--></p><!--unbuilt--><p>run it</p><!--/unbuilt-->\n<b/>"
    assert fill(source, {"a": "<i>new</i>"}) == "<p><i>new</i></p><b/>"
    assert fill(source, {}) == "<p>default</p><b/>"


def test_a_slot_value_is_not_read_for_markers_or_escapes() -> None:
    source = "<!--slot:a--><!--/slot:a--><!--slot:b-->B<!--/slot:b-->"
    assert fill(source, {"a": r"\1 \g<name> $1"}) == r"\1 \g<name> $1B"


def test_a_value_without_a_slot_is_an_error() -> None:
    with pytest.raises(BuildError, match="no slot for: lost"):
        fill("<!--slot:a--><!--/slot:a-->", {"a": "", "lost": "x"})


def test_an_unmatched_marker_is_an_error() -> None:
    with pytest.raises(BuildError, match="unmatched marker: <!--/slot:a-->"):
        fill("<!--/slot:a-->", {})


def test_references_to_static_are_rewritten_and_others_left() -> None:
    source = '<link href="./static/style.css"><img src="static/a.svg"><a href="#static/x">x</a><a href="https://e.org/static/y">'
    assert static_references(source) == ["style.css", "a.svg"]
    assert map_references(source, lambda path: "./" + path) == (
        '<link href="./style.css"><img src="./a.svg"><a href="#static/x">x</a><a href="https://e.org/static/y">'
    )


def test_style_scripts_and_pictures_go_into_the_single_file(tmp_path: Path) -> None:
    (tmp_path / "style.css").write_text("a{color:red}")
    (tmp_path / "early.js").write_text('x = "</script><!--"')
    (tmp_path / "icon.svg").write_text("<svg/>")
    source = (
        '<link rel="icon" href="./static/icon.svg" type="image/svg+xml">'
        '<link rel="stylesheet" href="./static/style.css"><script src="./static/early.js"></script>'
    )
    assert inline_references(source, tmp_path, ".w0{color:blue}") == (
        '<link rel="icon" href="data:image/svg+xml;base64,PHN2Zy8+" type="image/svg+xml">'
        "<style>\na{color:red}\n.w0{color:blue}</style>"
        '<script>\nx = "<\\/script><\\!--"</script>'
    )


def test_a_reference_to_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(BuildError, match=r"static/gone\.css, which does not exist"):
        inline_references('<link rel="stylesheet" href="./static/gone.css">', tmp_path, "")


def test_code_cannot_end_its_script_element() -> None:
    assert "</script" not in script_text("a = '</script>' + '</SCRIPT>'").lower()
    assert script_text("a = '</script>' + '<!--'") == r"a = '<\/script>' + '<\!--'"
    assert script_text("a = 1 < 2") == "a = 1 < 2"
    assert python_text("a = 1 < 2") == "a = 1 < 2"
    with pytest.raises(BuildError, match="would end its element"):
        python_text("a = '</Script>'")


def test_the_interpreter_is_ours_and_no_package_manager_runs() -> None:
    tag = pyscript_tag("./runtime.mjs", "./main.py")
    assert 'type="py" src="./main.py"' in tag
    assert "&quot;interpreter&quot;: &quot;./runtime.mjs&quot;" in tag
    assert "&quot;packages_cache&quot;: &quot;never&quot;" in tag


def test_a_page_needs_exactly_one_body() -> None:
    assert "<mpy-config" in without_micropython("<body class='x'>text</body>")
    with pytest.raises(BuildError, match="0 body elements"):
        without_micropython("<p>")


def test_archives_depend_on_content_alone() -> None:
    first = zip_bytes({"b/x.py": b"x = 1\n" * 50, "a.py": b"y"})
    second = zip_bytes({"a.py": b"y", "b/x.py": b"x = 1\n" * 50})
    assert first == second
    assert first != zip_bytes({"a.py": b"z", "b/x.py": b"x = 1\n" * 50})
