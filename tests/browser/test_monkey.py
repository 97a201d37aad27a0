"""A seeded monkey: random clicks, typing, keys, links, history, sizes and themes over all labs.

No action may raise an error, and now and then the address of the page, opened in a fresh page, must give the same
tables, step and verdict. 300 actions here; .ci/run sets ATTENTION_LAB_MONKEY to 1000.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Error, Page

ACTIONS = int(os.environ.get("ATTENTION_LAB_MONKEY") or "300")
SEED = int(os.environ.get("ATTENTION_LAB_MONKEY_SEED") or "10")
CHECK_EVERY = 50

LINKS = [
    "",
    "example=cross",
    "example=identity&row=1&decimals=exact",
    "lab=walkthrough",
    "lab=walkthrough&example=walkthrough-masked&causal=top-left&step=40&predict=1",
    "lab=walkthrough&step=999&q=1,0;0,1&k=1,0;0,1&v=1;2",
    "lab=heatmap",
    "lab=heatmap&text=to%20be%20or%20not%20to%20be&positions=sinusoidal&row=2",
    "lab=check",
    "lab=check&example=cross&observed=0.2447,0.0900,0.6652;0.2447,0.6652,0.0900",
    "q=1,2;3,4&k=1,0;0,1;1,1&v=1;2;3&causal=bottom-right&T=0.5&softcap=20",
    "q=1,2;3&k=&v=x",
    "q=NaN,1&k=1e400,2&v=1",
    "T=0&scale=zz&row=99&step=-1&decimals=77&lab=nowhere",
    "example=cross&blank=weights,output",
    "example=cross&compare=T%3D2",
    "example=identity&embed=1",
    "example=identity&hide=checks,row",
    "z=garbage",
    "text=%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E&lab=heatmap",
]
TEXTS = [
    "1 0\n0 1",
    "1 2 3\n4 5 6",
    "[[1, 2], [3, 4]]",
    "tensor([[0.5, -0.5]])",
    "0.25 0.75\n0.5 0.5",
    "1e5 -1e5\n3 3",
    "1\n2\n3",
    "2",
    "0.01",
    "-1",
    "1,0",
    "x",
    "",
    "1 2\n3",
    "NaN inf\n1 2",
    "½ ¼\n1 1",
    "the dog saw the other dog",
    "שלום עולם 你好 🙂",
    "<script>alert(1)</script>",
    "9" * 400,
    "\n".join(" ".join(str((i * j) % 7 - 3) for j in range(8)) for i in range(24)),
    "a b " * 30,
]
KEYS = [
    "ArrowLeft",
    "ArrowRight",
    "ArrowUp",
    "ArrowDown",
    "Home",
    "End",
    "Enter",
    "Space",
    "Tab",
    "Shift+Tab",
    "Escape",
]
KEYS += ["PageDown", "+", "-", "0", "Backspace", "Delete", "Control+z", "Control+a", "p"]
SIZES = [(1280, 900), (390, 800), (320, 640), (1000, 700), (800, 1100)]

# What may be clicked: everything that reacts, but nothing that leaves the page or opens a window of the system's.
CLICKABLE = """() => {
    const kinds = 'button, summary, select, input, textarea, canvas, td[tabindex], td[data-i], [data-set], a[href^="#"]';
    const top = document.querySelector('dialog[open]');
    window.monkeyTargets = [...(top ?? document).querySelectorAll(kinds)].filter((e) =>
        e.checkVisibility({visibilityProperty: true}) && !e.disabled && e.type !== 'file'
        && !['print', 'save'].includes(e.dataset.sheetDo ?? e.dataset.shareDo));
    return window.monkeyTargets.length;
}"""
MIDDLE = """(index) => {
    const e = window.monkeyTargets[index];
    e.scrollIntoView({block: 'center', inline: 'center'});
    const r = e.getBoundingClientRect();
    return [r.x + r.width / 2, r.y + r.height / 2, e.tagName, e.outerHTML.slice(0, 120)];
}"""
# One call finds and focuses: between two calls, a step back in history may change what there is.
FOCUS_FIELD = """(part) => {
    const fields = [...document.querySelectorAll(
        'textarea:not([readonly]), input:not([type=checkbox]):not([type=range]):not([type=file])',
    )].filter((e) => e.checkVisibility({visibilityProperty: true}));
    const field = fields[Math.floor(part * fields.length)];
    field?.focus();
    return field ? field.name : null;
}"""
SEEN = """() => ({
    hash: location.hash,
    lab: document.documentElement.dataset.lab,
    step: document.documentElement.dataset.step ?? null,
    stale: document.getElementById('results').hasAttribute('data-stale'),
    errors: [...document.querySelectorAll('.error')].filter((e) => !e.hidden && e.textContent && e.closest('form, .results'))
        .flatMap((e) => e.id === 'notes' ? [...e.children] : [e]).map((e) => e.textContent).sort(),
    tables: [...document.querySelectorAll('table[data-stage]')].filter((t) => t.checkVisibility()).map((t) =>
        [t.dataset.stage, ...[...t.querySelectorAll('td[data-value]')].map((c) => c.dataset.value)].join(' ')).sort(),
    verdict: document.documentElement.dataset.lab === 'check'
        ? [document.querySelector('[data-verdict]')?.dataset.verdict ?? null] : null,
})"""


# A link to elsewhere may be reached with Tab and opened with Enter; it stays unopened.
STAY = """addEventListener('click', (event) => {
    const link = event.target.closest?.('a[href]');
    if (link && !link.getAttribute('href').startsWith('#')) event.preventDefault();
}, true)"""


class Monkey:
    """Does one random thing at a time and remembers what it did."""

    def __init__(self, lab: Any, seed: int) -> None:
        self.lab, self.page = lab, lab.page
        self.random = random.Random(seed)
        self.done: list[str] = []
        self.kinds: dict[str, int] = {}

    def act(self) -> None:
        kinds = {
            "click": 44,
            "type": 18,
            "key": 16,
            "link": 8,
            "history": 5,
            "size": 3,
            "theme": 3,
            "double": 3,
        }
        kind = self.random.choices(list(kinds), list(kinds.values()))[0]
        self.kinds[kind] = self.kinds.get(kind, 0) + 1
        self.done.append(kind)
        getattr(self, kind)()
        if self.lab.watch.errors:
            pytest.fail(
                f"{self.lab.watch.errors[:3]}\nafter {len(self.done)} actions, the last:\n" + self.tail()
            )

    def tail(self) -> str:
        return "\n".join(self.done[-12:])

    def note(self, text: object) -> None:
        self.done[-1] += f" {text}"

    def target(self, clicks: int) -> None:
        count = self.page.evaluate(CLICKABLE)
        if not count:
            self.open("")
            return
        x, y, tag, html = self.page.evaluate(MIDDLE, self.random.randrange(count))
        self.note(html)
        if tag == "SELECT":  # its popup is not in the page
            self.page.evaluate(
                """(part) => {
                    const e = document.elementFromPoint(part[0], part[1])?.closest('select');
                    if (!e) return;
                    e.selectedIndex = Math.floor(part[2] * e.options.length);
                    for (const type of ['input', 'change']) e.dispatchEvent(new Event(type, {bubbles: true}));
                }""",
                [x, y, self.random.random()],
            )
        else:
            self.page.mouse.click(x, y, click_count=clicks)

    def click(self) -> None:
        self.target(1)

    def double(self) -> None:
        self.target(2)

    def type(self) -> None:
        name = self.page.evaluate(FOCUS_FIELD, self.random.random())
        if name is not None:
            text = self.random.choice(TEXTS)
            self.note(f"{name} {text[:40]!r}")
            if self.random.random() < 0.7:
                self.page.keyboard.press("Control+a")
            self.page.keyboard.insert_text(text)

    def key(self) -> None:
        key = self.random.choice(KEYS)
        self.note(key)
        for _ in range(self.random.randint(1, 3)):
            self.page.keyboard.press(key)

    def open(self, fragment: str) -> None:
        self.note(fragment)
        self.page.evaluate("(hash) => { location.hash = hash }", fragment)

    def link(self) -> None:
        self.page.keyboard.press("Escape")
        self.open(self.random.choice(LINKS))

    def history(self) -> None:
        by = self.random.choice([-1, -1, 1, -2])
        self.note(by)
        # never out of the page: the first entry is the page itself, and before it there is only about:blank
        self.page.evaluate(
            "(by) => { if (by > 0 || navigation.currentEntry.index + by > 0) history.go(by) }", by
        )

    def size(self) -> None:
        width, height = self.random.choice(SIZES)
        self.note(f"{width}x{height}")
        self.page.set_viewport_size({"width": width, "height": height})

    def theme(self) -> None:
        self.page.emulate_media(
            color_scheme=self.random.choice(["light", "dark"]),
            reduced_motion=self.random.choice(["reduce", "no-preference"]),
        )


def settled(page: Page) -> dict[str, Any]:
    """What the page shows once nothing moves any more."""
    page.evaluate(
        """() => {
            for (const dialog of document.querySelectorAll('dialog[open]')) dialog.close();
            const play = document.querySelector('[data-walk="play"]');
            if (play?.textContent === 'Pause') play.click();
            document.activeElement?.blur?.();
        }"""
    )
    before = None
    for _ in range(100):
        page.wait_for_timeout(300)
        now: dict[str, Any] = page.evaluate(SEEN)
        if now == before and now["verdict"] != ["working"]:
            return now
        before = now
    raise AssertionError("the page never came to rest")


def test_random_actions_raise_no_error_and_leave_a_consistent_page(
    fresh_page: Callable, site: str, figures: list[str]
) -> None:
    lab = fresh_page(site)
    lab.page.add_init_script(STAY)
    lab.start().page.set_default_timeout(10_000)
    lab.page.on("popup", lambda popup: popup.close())
    fresh = fresh_page(site).start()
    monkey = Monkey(lab, SEED)
    compared = 0
    while len(monkey.done) < ACTIONS:
        try:
            monkey.act()
        except Error as error:
            pytest.fail(f"{error}\nafter {len(monkey.done)} actions, the last:\n{monkey.tail()}")
        if len(monkey.done) % CHECK_EVERY:
            continue
        shown = settled(lab.page)
        assert lab.page.evaluate("document.documentElement.dataset.python") == "ready"
        lab.watch.check()
        if "model=" in shown["hash"]:
            continue  # a link does not fetch the real head before the reader asks for it: a fresh page has no numbers
        fresh.page.set_viewport_size(lab.page.viewport_size)
        fresh.open(shown["hash"].removeprefix("#"))
        again = settled(fresh.page)
        # What was typed but could not be used is no part of the address: the fresh page need not complain about it.
        assert set(again.pop("errors")) <= set(shown.pop("errors")), f"{shown['hash']}:\n{monkey.tail()}"
        if shown["stale"]:  # an old result stands there; the fresh page has none
            assert again["stale"], monkey.tail()
            continue
        assert again == shown, f"{shown['hash']} after {len(monkey.done)} actions:\n{monkey.tail()}"
        compared += 1
    kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(monkey.kinds.items()))
    figures.append(
        f"monkey, seed {SEED}: {len(monkey.done)} actions ({kinds}), no error; {compared} states compared"
    )
    assert compared >= ACTIONS // CHECK_EVERY // 6, "too few states could be compared"
    fresh.watch.check()
