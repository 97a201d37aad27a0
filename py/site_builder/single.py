"""The single file: the same page with everything inside, for file://, e-mail and sandboxed frames.

Style and scripts stand in the page, modules as text that `static/single.js` turns into blob: URLs under one
import map, the runtime as base64 (compressed inside). See DESIGN for why each of these is needed.
"""

from __future__ import annotations

import re
from pathlib import Path

from .archive import gzip_base64, plain_base64
from .console import BuildError
from .dist import mime_of, pyscript_tag, static_file, without_micropython
from .page import REFERENCE
from .policy import LOCK, for_inline
from .runtime import PYSCRIPT_CORE, Runtime

# Module names in the import map. Absolute, because a data: or about:srcdoc page has no base for relative ones;
# under a host that cannot exist, because nothing is ever fetched from it.
HOME = "https://attention-lab.invalid/"
POLICY_PLACE = "<!--policy-->"
NONCE = "import-map"  # static/single.js makes one inline script, the import map, and then forbids any other
RELATIVE_IMPORT = re.compile(r"""(?<=["'])\./(?=[\w-]+\.m?js["'])""")
STYLESHEET = re.compile(r"""<link\b[^>]*?\srel=["']?stylesheet["']?[^>]*>""")
SCRIPT = re.compile(
    r"""<script(?P<attributes>[^>]*?)\ssrc=["'](?:\./)?static/(?P<path>[^"']+)["'](?P<more>[^>]*)></script>"""
)
NOTICES_LINK = re.compile(r"""<a\b[^>]*?\shref=["'](?:\./)?static/NOTICES\.html["'][^>]*>(.*?)</a>""")


def single_file(page: str, notices: str, static: Path, main: str, stylesheet: str, runtime: Runtime) -> bytes:
    """The page with everything inlined. `page` has its slots filled, the boot slot with nothing; `notices` is the
    popover that the link to the notices becomes, because one file cannot link to a second."""
    page = NOTICES_LINK.sub(r'<button type="button" class="link" popovertarget="notices">\1</button>', page)
    page = inline_references(without_micropython(page), static, stylesheet)
    head, _, tail = page.rpartition("</body>")
    if not head:
        raise BuildError("index.html has no </body>")
    before = f"<script>\n{script_text((static / 'before.js').read_text(encoding='utf-8'))}</script>\n"
    head = head.replace("</head>", before + "</head>", 1)
    whole = head + notices + bundle(static, main, runtime) + "</body>" + tail
    return whole.replace(POLICY_PLACE, for_inline(whole, NONCE), 1).encode()


def bundle(static: Path, main: str, runtime: Runtime) -> str:
    """What stands at the end of the body: modules, data, and the script that starts it all."""
    listing: dict[str, dict[str, object]] = {}
    parts = []
    for name, asset in runtime.assets.items():
        listing[name] = {
            "path": asset.path,
            "size": len(asset.content),
            "mime": asset.mime,
            "gzip": not asset.packed,
        }
        text = plain_base64(asset.content) if asset.packed else gzip_base64(asset.content)
        parts.append(f'<script type="text/plain" data-asset="{name}">{text}</script>')
    assets = runtime.manifest(listing) + (static / "assets-single.mjs").read_text(encoding="utf-8")
    modules = {
        "runtime.mjs": (static / "runtime.mjs").read_text(encoding="utf-8"),
        "assets.mjs": assets,
        "snapshot.mjs": (static / "snapshot.mjs").read_text(encoding="utf-8"),
        **runtime.pyscript,
    }
    for name, text in modules.items():
        code = script_text(RELATIVE_IMPORT.sub(HOME, text))
        parts.append(f'<script type="text/plain" data-module="{HOME}{name}">{code}</script>')
    parts.append(pyscript_tag(f"{HOME}runtime.mjs", code="\n" + python_text(main)))
    start = (static / "single.js").read_text(encoding="utf-8")
    parts.append(
        f'<script data-start="{HOME}runtime.mjs {HOME}{PYSCRIPT_CORE}" data-nonce="{NONCE}" data-lock="{LOCK}">\n{script_text(start)}</script>'
    )
    return "\n".join(parts) + "\n"


def inline_references(page: str, static: Path, stylesheet: str) -> str:
    """Style sheets and scripts into the page, pictures into data: URLs."""

    def style(match: re.Match[str]) -> str:
        reference = REFERENCE.search(match[0])
        if not reference:
            return match[0]
        text = static_file(static, reference["path"], stylesheet).decode()
        return "<style>\n" + text.replace("</style", "<\\/style") + "</style>"

    def script(match: re.Match[str]) -> str:
        text = static_file(static, match["path"], stylesheet).decode()
        return f"<script{match['attributes']}{match['more']}>\n{script_text(text)}</script>"

    def picture(match: re.Match[str]) -> str:
        content = static_file(static, match["path"], stylesheet)
        url = f"data:{mime_of(match['path'])};base64,{plain_base64(content)}"
        return f"{match['attribute']}={match['quote']}{url}{match['quote']}"

    return REFERENCE.sub(picture, SCRIPT.sub(script, STYLESHEET.sub(style, page)))


def script_text(code: str) -> str:
    """JavaScript that may stand inside a script element: nothing in it ends the element or opens a nested one."""
    return re.sub("</(?=script)", r"<\\/", code, flags=re.IGNORECASE).replace("<!--", r"<\!--")


def python_text(code: str) -> str:
    """Python that may stand inside a script element. There is no way to escape it, so it must not need one."""
    if re.search("</script|<!--", code, re.IGNORECASE):
        raise BuildError(
            "py/main.py holds '</script' or '<!--', which would end its element in the single file"
        )
    return code
