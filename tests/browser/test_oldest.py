"""A browser below the oldest that is supported gets one plain sentence and keeps the results of the build."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import expect

from site_builder.paths import ROOT

HIDE = {
    "DecompressionStream": "delete window.DecompressionStream",
    "constructed style sheets": "delete window.CSSStyleSheet",
    "WebAssembly exceptions": "delete WebAssembly.Exception",
    "import maps": "HTMLScriptElement.supports = () => false",
    "Array.prototype.findLast": "delete Array.prototype.findLast",
    "popover": "delete HTMLElement.prototype.popover",
}
OLDEST = "Chrome or Edge 114, Firefox 125 or Safari 17"


@pytest.mark.parametrize("feature", sorted(HIDE))
def test_what_is_missing_is_named(fresh_page: Callable, site: str, feature: str) -> None:
    lab = fresh_page(site)
    lab.page.route("**/pyscript/*", lambda route: route.abort())  # only the check itself is at stake
    lab.page.add_init_script(HIDE[feature])
    lab.page.goto(site)
    status = lab.page.locator("#python-status")
    expect(status).to_have_text(
        f"This browser is too old to compute here: it lacks {feature}. Needed: {OLDEST} or newer. "
        "The results shown were computed when the page was built."
    )
    assert lab.table("output")[0] == pytest.approx([1.6605, 2.6605], abs=5e-5)


def test_nothing_is_said_to_this_browser(lab) -> None:
    assert lab.page.get_attribute("html", "data-too-old") is None
    assert lab.page.inner_text("#oldest-browsers") == OLDEST


def test_the_readme_states_the_same_versions() -> None:
    assert OLDEST in (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_check_itself_parses_in_old_browsers() -> None:
    """ECMAScript 5: no arrow functions, block scopes, templates, optional chaining or defaults."""
    code = Path(ROOT, "static", "oldest.js").read_text(encoding="utf-8")
    bare = re.sub(r"//.*|\"[^\"]*\"", "", code)
    assert not re.search(r"=>|\b(?:const|let|class|async|await|of)\b|`|\?\.|\?\?|\.\.\.", bare)
