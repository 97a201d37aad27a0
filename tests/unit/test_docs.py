"""The documents for teachers and publishers say what the code does: recipes, names, commands, workflow."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from attention_lab.render.panels import EVERY, PANELS, panels_of, stylesheet
from attention_lab.render.recipes import RECIPES, Frame, recipe
from attention_lab.state import SPECS, STAGES, State

ROOT = Path(__file__).parents[2]
EMBEDDING = ROOT / "static" / "docs" / "embedding.md"
PUBLISHING = ROOT / "static" / "docs" / "publishing.md"
WORKFLOW = ROOT / ".github" / "workflows" / "pages.yml"
SAMPLE = Frame(
    "https://example.org/attention-lab/#q=1,0;0,1&k=1,0;0,1&v=1,2;3,4&embed=1&hide=checks",
    "Attention Lab: calculator",
    540,
)


@pytest.mark.parametrize("item", RECIPES, ids=lambda item: item.id)
def test_every_recipe_of_the_dialog_stands_in_the_document(item: object) -> None:
    made = recipe(item.id, SAMPLE).rstrip("\n")  # type: ignore[attr-defined]
    text = EMBEDDING.read_text("utf-8")
    assert f"\n{made}\n```" in text and f"### {item.title}\n\n{item.hint}" in text  # type: ignore[attr-defined]


@pytest.mark.parametrize("lab", EVERY)
def test_every_name_that_can_be_hidden_stands_in_the_document(lab: str) -> None:
    row = re.search(rf"^\| {lab} \| (.*) \|$", EMBEDDING.read_text("utf-8"), re.M)
    assert row and re.findall(r"`(\w+)`", row[1]) == [panel.name for panel in panels_of(lab)]


def test_every_panel_has_its_rule() -> None:
    css = stylesheet()
    for panel in PANELS:
        for selector in panel.selectors:
            assert f'html[data-hide~="{panel.name}"] {selector}' in css
    assert css.count("display:none") == len(PANELS)


@pytest.mark.parametrize("item", RECIPES, ids=lambda item: item.id)
def test_no_address_or_title_leaves_its_place_in_a_recipe(item: object) -> None:
    evil = Frame('https://example.org/#x="><script>alert(1)</script>&y=1', '"><b>', 300, True)
    text = recipe(item.id, evil)  # type: ignore[attr-defined]
    if "<iframe" in text:
        assert "<script>alert" not in text and '"><b>' not in text
        assert 'sandbox="allow-scripts"' in text
    if item.id == "jupyter":  # type: ignore[attr-defined]
        compile(text, "cell", "exec")


@pytest.mark.needs_cpython
def test_the_documents_and_the_workflow_name_commands_that_there_are() -> None:
    """Every `build.py` command in them is one that the command line knows."""
    from site_builder.cli import parser

    usage = parser().format_help()
    commands = set(re.findall(r"^    (\w+) +\S", usage, re.M))
    assert {"serve", "build", "test"} <= commands
    for file in (PUBLISHING, WORKFLOW, EMBEDDING):
        for command in re.findall(r"build\.py (\w+)", file.read_text("utf-8")):
            assert command in commands, f"{file.name}: {command}"


def test_the_workflow_tests_publishes_and_releases() -> None:
    text = WORKFLOW.read_text("utf-8")
    assert "\t" not in text
    for needed in (
        "python build.py test",
        "python build.py build",
        "actions/upload-pages-artifact@",
        "path: dist",
        "actions/deploy-pages@",
        "pages: write",
        "id-token: write",
        'tags: ["v*"]',
        'gh release upload "$TAG" --clobber dist/attention-lab.html',
    ):
        assert needed in text, needed
    jobs = dict(re.findall(r"^  (\w+):\n((?:    .*\n|\n)+)", text.split("\njobs:\n")[1], re.M))
    assert list(jobs) == ["test", "publish", "release"]
    assert all("needs: test" in jobs[name] for name in ("publish", "release"))
    assert "contents: write" not in jobs["publish"] and "contents: write" in jobs["release"]


def test_nothing_of_a_link_stands_in_a_shell_line() -> None:
    """Names of branches and tags reach the shell as variables only: a tag can hold any text."""
    text = WORKFLOW.read_text("utf-8")
    for block in re.findall(r"run: (?:\|\n((?:          .*\n)+)|(.*))", text):
        assert "${{" not in "".join(block)


def test_every_stage_can_be_chosen_for_the_numbers_to_be_checked() -> None:
    """A link may name any stage; the form must be able to show it, or the next edit would lose it."""
    page = (ROOT / "index.html").read_text(encoding="utf-8")
    select = page[page.index('<select id="stage"') :].partition("</select>")[0]
    assert re.findall(r'<option value="(\w+)"', select) == list(STAGES)


def test_the_keys_of_a_real_head_stand_in_their_document() -> None:
    """Each row of the table is a key of the fragment, and the range it names is what the state takes."""
    text = (ROOT / "static" / "docs" / "real-head.md").read_text("utf-8")
    keys = re.findall(r"^\| `(\w+)` \|", text, re.M)
    assert (
        {"text", "model", "layer", "modelhead", "special", "row", "entry", "compare"}
        == set(keys)
        <= set(SPECS)
    )
    for key, last in re.findall(r"^\| `(\w+)` \| 0 to (\d+) \|", text, re.M):
        assert SPECS[key].parse(last) == int(last)
        with pytest.raises(ValueError):
            SPECS[key].parse(str(int(last) + 1))
    (link,) = re.findall(r"index\.html(#lab=heatmap\S+)", text)
    state = State.from_fragment(link)
    assert state.real_head and not state.notes and (state.layer, state.modelhead, state.row) == (2, 3, 5)


def test_the_document_names_the_package_and_the_pieces_that_are_packed() -> None:
    text = (ROOT / "static" / "docs" / "real-head.md").read_text("utf-8")
    notices = (ROOT / "static" / "NOTICES.html").read_text("utf-8")
    packing = (ROOT / "py" / "site_builder" / "pack_model.py").read_text("utf-8")
    pieces = f"{int(re.findall(r'^PIECES = ([0-9_]+)$', packing, re.M)[0]):,}"
    (stretch,) = re.findall(r"^STRETCH = (\d+)$", packing, re.M)
    package = json.loads((ROOT / "py" / "site_builder" / "pins.json").read_text("utf-8"))["packages"]["model"]
    assert package in text and package.replace("==", " ") in notices
    assert f" {pieces} are kept" in text and f"cut to {pieces} pieces" in notices
    assert f"every {stretch} entries" in text
