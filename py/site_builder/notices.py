"""The notices that travel with what `dist/` ships: whose work it is, under which licence, where the source is.

Licence texts that come inside the pinned files are taken from there, so that they are the right ones.
"""

from __future__ import annotations

import html
import io
import re
import zipfile

from .console import BuildError
from .runtime import Runtime

NUMPY_LICENCES = re.compile(r"(?:^|/)LICENSE(?:\.\w+)?$")


def licence_texts(runtime: Runtime) -> str:
    """The full texts that the pinned files carry, as HTML."""
    texts = [("PyScript: Apache License 2.0", runtime.pyscript_licence)]
    with zipfile.ZipFile(io.BytesIO(runtime.assets["numpy"].content)) as wheel:
        for name in sorted(wheel.namelist()):
            if NUMPY_LICENCES.search(name):
                texts.append((f"NumPy: {name}", wheel.read(name).decode("utf-8")))
    return "\n".join(
        f"<details><summary>{html.escape(title)}</summary>\n<pre>{html.escape(text)}</pre></details>"
        for title, text in texts
    )


def notices_page(template: str, runtime: Runtime) -> str:
    """The page NOTICES.html of the served site, which lies beside index.html there."""
    return template.replace("<!--texts-->", licence_texts(runtime)).replace("../index.html", "./index.html")


def notices_popover(template: str, runtime: Runtime) -> str:
    """The same content as a popover with the id 'notices', for the single file: it opens without any script."""
    body = re.search(r"<main>(.*)<p>.*?</main>", notices_page(template, runtime), re.DOTALL)
    if not body:
        raise BuildError("static/NOTICES.html has no <main> that ends in a paragraph")
    return f'<div id="notices" class="notices" popover>{body[1].replace("h1>", "h2>")}</div>\n'
