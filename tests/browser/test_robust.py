"""No state in which the page needs a reload: broken storage, two tabs, a closed clipboard, double clicks, history,
and exceptions inside Python."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from attention_lab.core import Options, attend
from site_builder.paths import ROOT

EYE = [[1.0, 0.0], [0.0, 1.0]]
V = [[1.0, 2.0], [3.0, 4.0]]

BLOCKED = """for (const name of ["localStorage", "sessionStorage", "indexedDB", "caches"])
    Object.defineProperty(window, name, {get() { throw new DOMException("Access is denied.", "SecurityError") }})"""
FULL = """Storage.prototype.setItem = () => { throw new DOMException("The quota is exceeded.", "QuotaExceededError") };
    IDBObjectStore.prototype.put = () => { throw new DOMException("The quota is exceeded.", "QuotaExceededError") };"""
CLOSED = {
    "denied": "Clipboard.prototype.writeText = () => Promise.reject(new DOMException('Denied.', 'NotAllowedError'))",
    "absent": "Object.defineProperty(Navigator.prototype, 'clipboard', {value: undefined})",
}


def output_of(q: Any, options: Options | None = None, v: Any = V) -> list[list[float]]:
    result: list[list[float]] = attend(q, EYE, v, options or Options()).output.tolist()
    return result


def shows(lab: Any, expected: list[list[float]]) -> None:
    """Until the output table holds these numbers."""
    lab.page.wait_for_function(
        """(want) => {
            const cells = [...document.querySelectorAll('table[data-stage="output"] td[data-value]')];
            return cells.length === want.length && cells.every((c, i) => Math.abs(Number(c.dataset.value) - want[i]) < 1e-12);
        }""",
        arg=[value for row in expected for value in row],
    )


@pytest.mark.parametrize("script", [BLOCKED, FULL], ids=["blocked", "full"])
def test_storage_may_be_blocked_or_full(fresh_page: Callable, site: str, script: str) -> None:
    lab = fresh_page(site)
    lab.page.add_init_script(script)
    lab.start()
    lab.page.click("#theme")
    assert lab.page.get_attribute("html", "data-theme") == "dark"
    lab.page.fill("#q", "2 0\n0 1")
    shows(lab, output_of([[2.0, 0.0], [0.0, 1.0]]))
    lab.watch.check()


def test_two_tabs_do_not_touch_each_other(browser: Browser, site: str, lab_class: type) -> None:
    context = browser.new_context(service_workers="block")
    try:
        one, two = (lab_class(context.new_page(), site).start() for _ in range(2))
        one.page.fill("#q", "2 0\n0 1")
        two.page.fill("#q", "3 0\n0 1")
        one.page.fill("#v", "5 6\n7 8")
        two.page.click("#causal")
        wanted_one = output_of([[2.0, 0.0], [0.0, 1.0]], v=[[5.0, 6.0], [7.0, 8.0]])
        wanted_two = output_of([[3.0, 0.0], [0.0, 1.0]], Options(causal="top-left"))
        for _ in range(2):  # before and after loading both again
            shows(one, wanted_one)
            shows(two, wanted_two)
            for tab in (one, two):
                tab.page.wait_for_function("location.hash.includes('q=')")
                tab.page.wait_for_timeout(300)  # the link is written shortly after the edit
                tab.page.reload()
                tab.wait()
        one.watch.check()
        two.watch.check()
    finally:
        context.close()


@pytest.mark.parametrize("how", sorted(CLOSED))
def test_the_clipboard_may_be_closed(fresh_page: Callable, site: str, how: str) -> None:
    lab = fresh_page(site)
    lab.page.add_init_script(CLOSED[how])
    lab.start("example=cross")
    lab.page.click("#copy-link")
    dialog = lab.page.locator("#copy-dialog")
    expect(dialog).to_be_visible()
    selected = lab.page.evaluate(
        "(({value, selectionStart, selectionEnd}) => value.slice(selectionStart, selectionEnd))"
        "(document.getElementById('copy-text'))"
    )
    assert selected == f"{site}#example=cross"
    lab.page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    lab.watch.check()


def test_double_clicks_do_no_more_than_two_clicks(lab) -> None:
    page = lab.page
    lab.open("lab=walkthrough")
    page.locator('[data-walk="next"]').dblclick()
    page.wait_for_function("document.documentElement.dataset.step === '2'")
    lab.open("example=cross")
    for button in ("#share", "#report"):
        page.locator(button).dblclick()
        expect(page.locator("dialog[open]")).to_have_count(1)
        page.keyboard.press("Escape")
        expect(page.locator("dialog[open]")).to_have_count(0)
    page.locator("#reset").dblclick()
    shows(lab, output_of(EYE))
    page.locator("#undo").dblclick()
    page.locator("#theme").dblclick()
    shows(lab, lab.table("output"))


def test_an_edit_still_on_its_way_stays_with_the_entry_it_was_made_in(lab) -> None:
    lab.start().page.fill("#q", "2 0\n0 1")
    shows(lab, output_of([[2.0, 0.0], [0.0, 1.0]]))
    as_written = "#example=identity&scale=sqrt_dk&causal=top-left"
    lab.page.evaluate("(hash) => { location.hash = hash }", as_written)
    shows(lab, output_of(EYE, Options(causal="top-left")))
    lab.page.wait_for_timeout(500)  # longer than an edit waits before it is written into the address
    assert lab.page.evaluate("location.hash") == as_written
    lab.watch.check()


def test_what_was_typed_just_before_a_click_counts(lab) -> None:
    """A busy page hands out the input and the click together, before the frame in which the edit would be computed."""
    lab.start().page.evaluate(
        """() => {
            const q = document.getElementById("q");
            q.value = "2 0\\n0 1";
            q.dispatchEvent(new Event("input", {bubbles: true}));
            document.querySelector('table[data-stage="weights"] [data-set="row=1"]').click();
        }"""
    )
    shows(lab, output_of([[2.0, 0.0], [0.0, 1.0]]))
    assert lab.page.input_value("#q") == "2 0\n0 1"
    expect(lab.page.locator("table[data-row-trace]")).to_have_attribute("data-i", "1")
    lab.watch.check()


# Sets fields and says so, as typing does; all in one go, before anything else may happen.
TYPE = """(edits) => {
    for (const [name, value] of edits) {
        const field = document.querySelector(`#lab-form [name="${name}"]`);
        if (field.type === "checkbox") field.checked = value; else field.value = value;
        field.dispatchEvent(new Event("input", {bubbles: true}));
    }
    return document.documentElement.dataset.python;
}"""


@pytest.mark.parametrize(
    ("link", "edits", "expected"),
    [
        (
            "q=1,2&k=1,2;3,4&v=1;2&causal=top-left",
            [("v", "5\n6")],
            {"q": "1,2", "k": "1,2;3,4", "v": "5;6", "causal": "top-left"},
        ),
        (
            "q=1,2&k=1,2;3,4&v=1;2&keep=1,0&softcap=5",
            [("decimals", "2")],
            {"q": "1,2", "k": "1,2;3,4", "v": "1;2", "keep": "1,0", "softcap": "5", "decimals": "2"},
        ),
        (
            "lab=heatmap&text=one two three",
            [("T", "3")],
            {"lab": "heatmap", "text": "one two three", "T": "3"},
        ),
        (
            "lab=check&example=cross&observed=1,2;3,4",
            [("T", "2")],
            {"lab": "check", "example": "cross", "observed": "1,2;3,4", "T": "2"},
        ),
        (
            "",
            [("q", "5 6"), ("decimals", "2")],
            {"q": "5,6", "k": "1,0;0,1", "v": "1,2;3,4", "decimals": "2"},
        ),
        ("", [("example", "cross"), ("causal", True)], {"example": "cross", "causal": "top-left"}),
        ("", [("q", "5 6"), ("example", "cross")], {"example": "cross"}),
    ],
)
@pytest.mark.parametrize("when", ["early", "late"])
def test_edits_add_to_what_the_link_asks_for(
    fresh_page: Callable,
    site: str,
    link: str,
    edits: list[tuple[str, str | bool]],
    expected: dict[str, str],
    when: str,
) -> None:
    """Made before Python runs or after, several in one frame or not: the address then holds the link and the edits."""
    lab = fresh_page(site)
    lab.page.goto(f"{site}#{link}", wait_until="domcontentloaded")
    if when == "late":
        lab.wait()
    assert (lab.page.evaluate(TYPE, edits) == "ready") == (when == "late")
    lab.wait()
    lab.page.wait_for_function(
        "(want) => JSON.stringify(Object.fromEntries([...new URLSearchParams(location.hash.slice(1))].sort())) === want",
        arg=json.dumps(dict(sorted(expected.items())), separators=(",", ":")),
    )
    for name, value in edits[-1:]:
        field = lab.page.locator(f'#lab-form [name="{name}"]')
        assert (field.is_checked() if isinstance(value, bool) else field.input_value()) == value
    lab.watch.check()


def test_back_and_forward_walk_through_what_was_done(lab) -> None:
    page = lab.page
    page.select_option("#example", "cross")
    page.wait_for_function("location.hash === '#example=cross'")
    page.locator('nav [data-lab-link="walkthrough"]').click()
    page.wait_for_function("location.hash.includes('lab=walkthrough')")
    page.locator('nav [data-lab-link="heatmap"]').click()
    page.wait_for_function("location.hash.includes('lab=heatmap')")
    cross = "[...document.querySelectorAll('[data-for-lab=calculator] table[data-stage=weights] td[data-i]')].length"
    for lab_name in ("walkthrough", "calculator"):
        page.go_back()
        page.wait_for_function(f"document.documentElement.dataset.lab === '{lab_name}'")
    page.wait_for_function(f"{cross} === 6")
    assert page.input_value("#example") == "cross"
    page.go_back()
    shows(lab, output_of(EYE))
    for lab_name in ("calculator", "walkthrough", "heatmap"):
        page.go_forward()
        page.wait_for_function(f"document.documentElement.dataset.lab === '{lab_name}'")


# exceptions inside Python

HOOK = """
from js import window
from pyodide.ffi import create_proxy

window.testPython = create_proxy(lambda code: exec(code, {"app": app}))
"""
BREAK = """
import attention_lab.page.app as module
import attention_lab.page.{where} as place
real = place.{name}
def broken(*arguments, **named):
    {before}
    raise ZeroDivisionError("on purpose")
place.{name} = broken
def repair():
    place.{name} = real
module.repair = repair
"""
PLACES = {
    "computing": ("app", "view_of", "pass"),
    "drawing": ("app", "render", "pass"),
    "reading the form": ("form", "read", "pass"),
    "writing to the page": ("app", "write_html", "arguments[0].innerHTML = arguments[2][:40]"),
    "showing shapes": ("form", "show_shapes", "pass"),
    "what only scripts can draw": ("app", "one", "pass"),
}


@pytest.fixture
def hooked(fresh_page: Callable, site: str) -> Any:
    """A page whose main.py, on its way to the browser, got a function by which a test reaches the modules."""

    def longer(route: Route) -> None:
        route.fulfill(
            body=(ROOT / "py" / "main.py").read_text(encoding="utf-8") + HOOK, content_type="text/x-python"
        )

    lab = fresh_page(site)
    lab.page.route("**/main.py", longer)
    return lab.start()


def run_python(page: Page, code: str) -> None:
    page.evaluate("(code) => window.testPython(code)", code)


def test_an_exception_costs_one_sentence_and_nothing_else(hooked: Any) -> None:
    page = hooked.page
    note = page.locator("#notes")
    for index, (what, (where, name, before)) in enumerate(PLACES.items()):
        run_python(page, BREAK.format(where=where, name=name, before=before))
        page.fill("#q", f"{2 * index + 2} 0\n0 x")
        page.fill("#q", f"{2 * index + 2} 0\n0 1")
        expect(note, what).to_be_visible()
        text = note.inner_text()
        assert "ZeroDivisionError: on purpose" in text and "your input is kept" in text, what
        assert page.input_value("#q") == f"{2 * index + 2} 0\n0 1", what
        run_python(page, "import attention_lab.page.app as module; module.repair()")
        page.fill("#q", f"{2 * index + 3} 0\n0 1")
        shows(hooked, output_of([[2.0 * index + 3, 0.0], [0.0, 1.0]]))
        expect(note, what).to_be_hidden()
        expect(page.locator("#results[data-stale]"), what).to_have_count(0)
    reported = [error for error in hooked.watch.errors if "on purpose" not in error]
    assert reported == []
    assert len(hooked.watch.errors) >= len(PLACES), "the console gets the whole traceback"


@pytest.mark.parametrize("lab_name", ["walkthrough", "heatmap", "check"])
def test_an_exception_while_another_lab_is_drawn(hooked: Any, lab_name: str) -> None:
    page = hooked.page
    run_python(page, BREAK.format(where="app", name="render", before="pass"))
    page.locator(f'nav [data-lab-link="{lab_name}"]').click()
    expect(page.locator("#notes")).to_contain_text("ZeroDivisionError: on purpose")
    run_python(page, "import attention_lab.page.app as module; module.repair()")
    page.fill("#T", "2")
    expect(page.locator("#notes")).to_be_hidden()
    expect(page.locator(f'[data-lab-panel="{lab_name}"] table').first).to_be_visible()
