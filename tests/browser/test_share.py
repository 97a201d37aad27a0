"""Sharing in a real browser: links, back and forward, exports, worksheets, answers."""

from __future__ import annotations

import io
import json
import re
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from attention_lab.compute import view_of
from attention_lab.core import LabError
from attention_lab.export.formats import FORMATS, write
from attention_lab.render.heat_export import export_svg
from attention_lab.render.recipes import RECIPES, Frame, recipe
from attention_lab.render.share import material_of
from attention_lab.state import State, pack
from attention_lab.teach.plan import Plan
from attention_lab.teach.worksheet import sheets

LINKS = json.loads((Path(__file__).parent.parent / "frozen_links.json").read_text(encoding="utf-8"))
STATES = {
    "small": "q=1,0;0,1&k=1,0;0,1&v=1,2;3,4&row=1",
    "everything": "q=1,0;0,1&k=1,0;0,1;1,1&v=1;2;3&causal=bottom-right&T=2&softcap=3&bias=0,1,-inf;0.5,0,0&precision=float32",
    "heads": "q=1,0,0,1;0,1,1,0&k=1,0,0,1;0,1,1,0&v=1,2,3,4;5,6,7,8&heads=2,2&head=1",
    "sentence": "lab=heatmap&text=the%20cat%20sat%20%F0%9F%91%8D&d=16&causal=top-left&row=2",
}


def open_share(page: Page, tab: str = "export") -> None:
    page.click("#share")
    expect(page.locator("#share-dialog")).to_be_visible()
    page.click(f'[data-share-tab="{tab}"]')


def expected(lab: Any, fragment: str, kind: str) -> str | bytes:
    """The same export made by CPython."""
    state = State.from_fragment(fragment)
    return write(kind, material_of(view_of(state), f"{lab.address}#{state.to_fragment(4000)}"))


@pytest.fixture
def copied(lab: Any) -> Iterator[Callable[[], str]]:
    """What the page last put on the clipboard, without the machine's own clipboard and its permissions."""
    lab.page.evaluate("navigator.clipboard.writeText = async (text) => { globalThis.copied = text }")
    yield lambda: str(lab.page.evaluate("copied"))
    lab.page.evaluate("delete navigator.clipboard.writeText; delete globalThis.copied")


def saved(page: Page) -> tuple[str, bytes]:
    """Press Save and return the file's name and content."""
    with page.expect_download() as waiting:
        page.click('[data-share-do="save"]')
    return waiting.value.suggested_filename, Path(str(waiting.value.path())).read_bytes()


# exports


@pytest.mark.parametrize("name", sorted(STATES))
def test_every_text_export_is_that_of_cpython(lab: Any, name: str) -> None:
    """Character by character, or the numbers to 1e-12 where WebAssembly's exp differs in the last place."""
    lab.open(STATES[name])
    open_share(lab.page)
    for item in FORMATS:
        if item.binary:
            continue
        lab.page.select_option("#share-format", item.id)
        text = lab.page.input_value("#share-text")
        made = expected(lab, STATES[name], item.id)
        assert isinstance(made, str)
        numbers = r"-?\d+\.\d+(?:e[+-]?\d+)?"
        assert re.sub(numbers, "#", text) == re.sub(numbers, "#", made.replace("\r\n", "\n")), item.id
        np.testing.assert_allclose(
            [float(x) for x in re.findall(numbers, text)],
            [float(x) for x in re.findall(numbers, made)],
            rtol=1e-6 if "float32" in STATES[name] else 1e-12,
            atol=1e-7 if "float32" in STATES[name] else 1e-12,
        )
        assert lab.page.is_hidden("#share-error") and lab.page.inner_text("#share-note")


@pytest.mark.parametrize("name", ["small", "everything", "heads"])
def test_the_numpy_program_of_the_page_runs(lab: Any, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    lab.open(STATES[name])
    open_share(lab.page)
    lab.page.select_option("#share-format", "numpy")
    exec(compile(lab.page.input_value("#share-text"), "generated", "exec"), {})
    assert re.fullmatch(r"All \d+ comparisons hold\.\n", capsys.readouterr().out)


@pytest.mark.parametrize("item", FORMATS, ids=lambda item: item.id)
def test_every_export_can_be_saved(lab: Any, item: Any) -> None:
    lab.open(STATES["heads"])
    open_share(lab.page)
    lab.page.select_option("#share-format", item.id)
    file, content = saved(lab.page)
    assert file == item.file
    made = expected(lab, STATES["heads"], item.id)
    if item.id == "npz":
        with np.load(io.BytesIO(content)) as read, np.load(io.BytesIO(bytes(made))) as wanted:  # type: ignore[arg-type]
            assert sorted(read) == sorted(wanted)
            for key in wanted:
                np.testing.assert_allclose(read[key], wanted[key], rtol=0, atol=1e-12)
    elif item.binary:
        assert len(content) == len(made) and content[:8] == bytes(made)[:8]  # type: ignore[arg-type]
    else:
        assert content.decode().replace("\r\n", "\n") == lab.page.input_value("#share-text")


@pytest.mark.parametrize("name", ["small", "sentence"])
def test_pictures_of_the_weights_from_any_lab(lab: Any, name: str) -> None:
    lab.open(STATES[name])
    open_share(lab.page)
    lab.page.select_option("#share-format", "svg")
    assert lab.page.input_value("#share-text") == export_svg(view_of(State.from_fragment(STATES[name])))
    file, svg = saved(lab.page)
    assert file == "attention-heatmap.svg" and svg.startswith(b"<svg")
    width = int(re.search(rb"width='(\d+)'", svg)[1])  # type: ignore[index]
    lab.page.select_option("#share-format", "png")
    file, png = saved(lab.page)
    assert file == "attention-heatmap.png" and png.startswith(b"\x89PNG\r\n\x1a\n")
    assert int.from_bytes(png[16:20], "big") == 2 * width
    start = png.index(b"IDAT") + 4
    assert len(set(zlib.decompressobj().decompress(png[start:], 200_000))) > 20, (
        "the picture is one flat colour"
    )


def test_a_state_that_cannot_be_computed_says_so_instead_of_exporting_old_numbers(lab: Any) -> None:
    lab.open("q=1,0,0;0,1,0&k=1,0;0,1&v=1;2")
    open_share(lab.page)
    expect(lab.page.locator("#share-error")).to_contain_text("no result of these inputs")
    assert lab.page.input_value("#share-text") == ""


def test_copy_puts_the_text_on_the_clipboard(lab: Any, copied: Callable[[], str]) -> None:
    lab.open(STATES["small"])
    open_share(lab.page)
    lab.page.select_option("#share-format", "latex")
    lab.page.click('[data-share-do="copy"]')
    expect(lab.page.locator("#share-note")).to_have_text("Copied.")
    assert copied() == lab.page.input_value("#share-text")


def test_the_dialog_closes_and_leaves_the_keyboard_on_its_button(lab: Any) -> None:
    open_share(lab.page)
    lab.page.keyboard.press("Escape")
    expect(lab.page.locator("#share-dialog")).to_be_hidden()
    assert lab.page.evaluate("document.activeElement.id") == "share"


def test_arrow_keys_in_the_dialog_do_not_step_the_lab_behind(lab: Any) -> None:
    lab.open("lab=walkthrough&step=5")
    open_share(lab.page)
    lab.page.focus('[data-share-do="copy"]')
    lab.page.keyboard.press("ArrowRight")
    lab.page.wait_for_timeout(100)
    assert lab.page.get_attribute("html", "data-step") == "5"


# embedding, as text


def test_the_embed_tab_writes_every_recipe_for_the_state_on_screen(lab: Any) -> None:
    lab.open("example=cross&row=1")
    open_share(lab.page, "embed")
    lab.page.check('[data-hide-panel="checks"]')
    lab.page.check('[data-hide-panel="copy"]')
    lab.page.fill("#embed-height", "420")
    state = State.from_fragment("example=cross&row=1&embed=1&hide=copy,checks")
    frame = Frame(f"{lab.address}#{state.to_fragment()}", "Attention Lab: calculator", 420)
    for item in RECIPES:
        lab.page.select_option("#embed-recipe", item.id)
        assert lab.page.input_value("#share-text") == recipe(item.id, frame), item.id
        assert lab.page.inner_text("#share-note") == item.hint
    lab.page.check("#embed-sandbox")
    lab.page.select_option("#embed-recipe", "html")
    assert 'sandbox="allow-scripts"' in lab.page.input_value("#share-text")


def test_a_height_that_is_no_number_is_refused(lab: Any) -> None:
    open_share(lab.page, "embed")
    lab.page.fill("#embed-height", "tall")
    expect(lab.page.locator("#share-error")).to_contain_text("whole number from 50 to 10000")


def test_a_page_from_disk_embeds_by_its_file_name(single_file: Any) -> None:
    open_share(single_file.page, "embed")
    assert 'src="attention-lab.html#example=identity&amp;embed=1"' in single_file.page.input_value(
        "#share-text"
    )
    assert "open from a file" in single_file.page.inner_text("#share-note")


# worksheets and answers


def test_worksheets_are_made_linked_and_left(lab: Any) -> None:
    lab.open("example=cross")
    open_share(lab.page, "worksheet")
    lab.page.fill("#sheet-seed", "7")
    lab.page.fill("#sheet-variants", "3")
    lab.page.click('[data-share-do="sheets"]')
    expect(lab.page.locator("#worksheet .sheet")).to_have_count(6)
    assert lab.page.evaluate("location.hash") == "#example=cross&sheet=seed%3D7%26variants%3D3"
    expect(lab.page.locator("#share")).to_be_hidden()
    shown = lab.page.locator('.sheet-key[data-letter="C"] [data-sheet="weights"] td[data-value]')
    weights = [float(str(cell.get_attribute("data-value"))) for cell in shown.all()]
    np.testing.assert_allclose(weights, sheets(Plan(seed=7, variants=3))[2].trace.weights.ravel(), rtol=1e-12)
    lab.page.go_back()
    expect(lab.page.locator("#worksheet")).to_be_hidden()
    expect(lab.page.locator("#share")).to_be_visible()
    lab.page.go_forward()
    expect(lab.page.locator("#worksheet .sheet").first).to_be_visible()
    lab.page.click('[data-sheet-do="change"]')
    expect(lab.page.locator("#sheet-seed")).to_have_value("7")
    lab.page.keyboard.press("Escape")
    expect(lab.page.locator('table[data-stage="weights"]')).to_be_visible()


def test_worksheets_print_to_one_page_each(lab: Any) -> None:
    """Chromium's own PDF: a page for every sheet and every key, without the buttons."""
    lab.open("sheet=" + "seed%3D7%26variants%3D3%26causal%3D1%26keys%3D4")
    expect(lab.page.locator("#worksheet .sheet")).to_have_count(6)
    lab.page.emulate_media(media="print")  # the fixture asks for the screen
    pdf = lab.page.pdf(format="A4", prefer_css_page_size=True)
    assert len(re.findall(rb"/Type\s*/Page\b(?!s)", pdf)) == 6
    expect(lab.page.locator(".sheet-bar")).to_be_hidden()
    expect(lab.page.locator("#share")).to_be_hidden()
    overflow = lab.page.evaluate(
        "[...document.querySelectorAll('.sheet-table')].filter(t => t.getBoundingClientRect().right > t.closest('.sheet').getBoundingClientRect().right + 1).length"
    )
    assert overflow == 0


def test_worksheets_save_as_latex_and_as_a_page_of_their_own(
    lab: Any, fresh_page: Any, tmp_path: Path
) -> None:
    lab.open("sheet=seed%3D2")
    with lab.page.expect_download() as waiting:
        lab.page.click('[data-sheet-do="latex"]')
    assert Path(str(waiting.value.path())).read_text("utf-8").startswith(r"\documentclass")
    with lab.page.expect_download() as waiting:
        lab.page.click('[data-sheet-do="html"]')
    file = tmp_path / "sheet.html"
    file.write_bytes(Path(str(waiting.value.path())).read_bytes())
    page = fresh_page(file.as_uri(), javascript=False).page
    page.goto(file.as_uri())
    expect(page.locator(".sheet")).to_have_count(4)
    assert page.locator(".sheet-blank").count() > 20
    width = page.locator(".sheet-table").first.bounding_box()
    assert width and width["width"] < 400


def test_a_worksheet_that_cannot_be_made_says_so(lab: Any) -> None:
    open_share(lab.page, "worksheet")
    lab.page.fill("#sheet-keys", "99")
    expect(lab.page.locator("#share-error")).to_contain_text("keys from 2 to 6; got 99")
    lab.page.click('[data-share-do="sheets"]')
    expect(lab.page.locator("#share-dialog")).to_be_visible()
    lab.page.keyboard.press("Escape")
    lab.open("sheet=seed%3Dmany")
    expect(lab.page.locator("#notes")).to_contain_text("whole number for seed")
    expect(lab.page.locator("#share")).to_be_visible()


def test_answers_stay_hidden_until_checked(lab: Any) -> None:
    lab.open("q=1,0;0,1&k=1,0;0,1&v=1,2;3,4&blank=weights,output")
    expect(lab.page.locator('[data-blank="weights"] input')).to_have_count(4)
    html = lab.page.inner_html('[data-lab-panel="calculator"]')
    for number in ("0.6697615493266569", "0.6698", "1.6605", "0.3302", "0.6343"):
        assert number not in lab.page.inner_text("#results") and number not in html
    expect(lab.page.locator("[data-show-answers]")).to_be_disabled()
    boxes = lab.page.locator('[data-answer="weights"]')
    for place, text in enumerate(["0.67", "0.3", "0.5", "two"]):
        boxes.nth(place).fill(text)
    lab.page.click("[data-check-answers]")
    expect(lab.page.locator(".answer-count")).to_have_text(
        "1 of 8 right, 1 with too few decimals, 1 wrong, 1 not a number, 4 empty."
    )
    judged = [
        cell.get_attribute("data-judged")
        for cell in lab.page.locator('[data-blank="weights"] .answer-cell').all()
    ]
    assert judged == ["right", "coarse", "wrong", "unreadable"]
    assert [box.input_value() for box in boxes.all()] == ["0.67", "0.3", "0.5", "two"]
    lab.page.click("[data-show-answers]")
    assert lab.table("weights")[0][0] == pytest.approx(0.6697615493266569, abs=1e-15)
    assert "blank" not in lab.page.evaluate("location.hash")


def test_hidden_answers_are_not_in_the_export_nor_in_the_formula(lab: Any) -> None:
    lab.open("example=cross&blank=weights")
    lab.page.hover('table[data-stage="output"] td[data-i="0"]')
    lab.page.wait_for_timeout(100)
    expect(lab.page.locator('[data-lab-panel="calculator"] .cell-formula')).to_be_hidden()
    open_share(lab.page)
    expect(lab.page.locator("#share-error")).to_contain_text("hidden until they are checked")
    assert lab.page.input_value("#share-text") == ""


def test_a_link_with_hidden_answers_is_made_from_the_dialog(lab: Any) -> None:
    lab.open("example=cross")
    open_share(lab.page, "worksheet")
    for name in ("scores", "scaled", "masked", "exponentials", "sums", "output"):
        lab.page.uncheck(f'[data-plan-blank="{name}"]')
    lab.page.click('[data-share-do="quiz"]')
    assert lab.page.evaluate("location.hash") == "#example=cross&blank=weights"
    expect(lab.page.locator('[data-blank="weights"] input')).to_have_count(6)


# links


def messages(page: Page) -> list[str]:
    return [text for text in page.locator("[data-error-for]:not([hidden])").all_inner_texts() if text]


def test_every_frozen_link_opens_with_its_numbers(lab: Any) -> None:
    for item in LINKS["good"]:
        lab.open(item["link"].removeprefix("#"))
        assert messages(lab.page) == item.get("said", []), item["link"]
        state = State.from_fragment(item["link"])
        if state.lab == "calculator" and not state.blank:
            atol = 1e-12 if state.precision == "float64" else 1e-2
            row = lab.table("weights")[-1][: len(item["last_weights"])]
            wanted = [np.nan if x is None else x for x in item["last_weights"]]
            np.testing.assert_allclose(row, wanted, rtol=0, atol=atol, err_msg=item["link"])


def test_every_faulty_link_says_what_it_left_out(lab: Any) -> None:
    for item in LINKS["fall_back"]:
        lab.open(item["link"])
        said = " ".join(messages(lab.page))
        for key in item["keys"]:
            assert key in said, item["link"]
        expect(lab.page.locator(".lab:visible")).to_have_count(1)


HOSTILE = [
    "text=<img src=x onerror=hacked=1>&lab=heatmap", "labels=<svg/onload=hacked=1>,b&q=1;2&k=1;2&v=1;2", "example=<script>hacked=1</script>",
    "lab=<script>hacked=1</script>", "hide=<img src=x onerror=hacked=1>", 'hide="]{}*{display:none}', "framework=<b onclick=hacked=1>",
    "q=" + "[" * 3000, "z=" + "A" * 5000, "z=" + pack("z=" + pack("T=2")), "__proto__=1&constructor=2", "%zz=%", "compare=<img src=x onerror=hacked=1>",
    "lab=check&observed=<img src=x onerror=hacked=1>", "sheet=<img src=x onerror=hacked=1>", "blank=<b>", "step=1e9&lab=walkthrough", "row=99999",
    "q=1e308,1e308&k=1e308,1e308&v=1", "lab=walkthrough&labels=%3Cimg%20src%3Dx%20onerror%3Dhacked%3D1%3E&q=1&k=1&v=1", "d=4096&lab=heatmap",
]  # fmt: skip


def test_no_hostile_link_runs_or_breaks_anything(lab: Any) -> None:
    for fragment in HOSTILE:
        lab.open(fragment)
        state = State.from_fragment(fragment)
        try:
            view_of(state)
            wrong = bool(state.notes)
        except LabError:
            wrong = True
        if wrong:
            assert messages(lab.page), f"nothing is said about {fragment[:60]}"
        assert lab.page.evaluate("typeof hacked") == "undefined", fragment[:60]
        assert lab.page.locator("main img, main script").count() == 0
    lab.open("q=1,0;0,1&k=1,0;0,1&v=1,2;3,4")
    assert lab.table("output") == [
        [pytest.approx(1.660477, abs=1e-6), pytest.approx(2.660477, abs=1e-6)],
        [pytest.approx(2.339523, abs=1e-6), pytest.approx(3.339523, abs=1e-6)],
    ]


def test_a_hostile_link_is_as_harmless_when_the_page_starts_with_it(site: str, fresh_page: Any) -> None:
    page = fresh_page(site)
    page.start('hide="]{}*{display:none}&labels=<svg/onload=hacked=1>,b&q=1;2&k=1;2&v=1;2&lab=calculator&T=x')
    assert page.page.evaluate("typeof hacked") == "undefined"
    said = " ".join(messages(page.page))
    assert "T=x was not understood" in said and "hide=" in said
    assert page.watch.errors == []


def test_back_and_forward_walk_through_the_labs(lab: Any) -> None:
    page = lab.page
    page.click('nav [data-lab-link="walkthrough"]')
    page.click('nav [data-lab-link="heatmap"]')
    page.click('nav [data-lab-link="calculator"]')
    page.select_option("#example", "cross")
    seen = [page.evaluate("location.hash")]
    for _ in range(4):
        page.go_back()
        page.wait_for_timeout(150)
        seen.append(page.evaluate("location.hash"))
    labs = [State.from_fragment(hash).lab for hash in seen]
    assert labs == ["calculator", "calculator", "heatmap", "walkthrough", "calculator"]
    assert (
        State.from_fragment(seen[0]).example == "cross" and State.from_fragment(seen[1]).example == "identity"
    )
    for place in range(3, -1, -1):
        page.go_forward()
        page.wait_for_timeout(150)
        assert page.evaluate("location.hash") == seen[place]
        assert page.get_attribute("html", "data-lab") == labs[place]
    assert len(lab.table("weights")[0]) == 3, "the numbers on show are those of the address"


def test_an_edit_just_before_leaving_is_kept_for_the_way_back(lab: Any) -> None:
    page = lab.page
    page.fill("#q", "5 0\n0 5")
    page.wait_for_function(
        "document.querySelector('table[data-stage=scores] td[data-value]').dataset.value === '5.0'"
    )
    page.click('nav [data-lab-link="heatmap"]')
    page.go_back()
    expect(page.locator("#q")).to_have_value("5 0\n0 5")
    assert lab.table("scores")[0][0] == 5.0


def test_a_row_opened_does_not_fill_the_history(lab: Any) -> None:
    before = lab.page.evaluate("history.length")
    for i in (1, 0, 1):
        lab.page.locator('[data-stage="weights"] .row-name').nth(i).click()
    lab.page.wait_for_timeout(300)
    assert lab.page.evaluate("history.length") - before <= 3
    assert "row=1" in lab.page.evaluate("location.hash")


def test_copy_link_opens_the_same_state_in_another_page(
    lab: Any, fresh_page: Any, copied: Callable[[], str]
) -> None:
    rows = ";".join(",".join(str((i * 5 + j * 3) % 11) for j in range(40)) for i in range(50))
    lab.open(f"q={rows}&k={rows}&v={rows}&T=3")
    lab.page.click("#copy-link")
    expect(lab.page.locator("#announce")).to_have_text("Copied.")
    link = copied()
    assert "#z=" in link and len(link) < 1500
    other = fresh_page(lab.address)
    other.page.goto(link)
    other.wait()
    values = "[...document.querySelectorAll('table[data-stage=output] td[data-value]')].map((cell) => cell.dataset.value)"
    assert other.page.evaluate(values) == lab.page.evaluate(values)
    assert len(lab.page.evaluate(values)) == 50 * 40
    assert State.from_fragment(other.page.evaluate("location.hash")).T == 3.0


def test_unknown_keys_survive_a_change(lab: Any) -> None:
    lab.open("example=identity&future=a%20b")
    lab.page.check("#causal")
    lab.page.wait_for_timeout(400)
    assert "future=a%20b" in lab.page.evaluate("location.hash") and "causal=top-left" in lab.page.evaluate(
        "location.hash"
    )
