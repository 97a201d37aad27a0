"""Ready text that puts a view of the page into notes, books, notebooks and courses. Plain text; the page escapes it.

static/docs/embedding.md shows the same recipes; a test holds the two together.
"""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from typing import NamedTuple


class Frame(NamedTuple):
    """What to embed: address, title for screen readers, height in pixels, and whether to add sandbox="allow-scripts"."""

    address: str
    title: str
    height: int
    sandboxed: bool = False


class Recipe(NamedTuple):
    """id, the name of the tool, where the text goes, and the function that writes it."""

    id: str
    title: str
    hint: str
    write: Callable[[Frame], str]


RESIZE = """<script>
addEventListener("message", (event) => {
  if (event.data?.type !== "attention-lab:height") return;
  for (const frame of document.querySelectorAll("iframe"))
    if (frame.contentWindow === event.source) frame.style.height = event.data.height + "px";
});
</script>"""


def iframe(frame: Frame) -> str:
    """The element alone, on one line."""
    sandbox = ' sandbox="allow-scripts"' if frame.sandboxed else ' allow="clipboard-write"'
    return (
        f'<iframe src="{escape(frame.address)}" title="{escape(frame.title)}" width="100%" height="{frame.height}" '
        f'loading="lazy"{sandbox} style="border: 0"></iframe>'
    )


def html(frame: Frame) -> str:
    return f"{iframe(frame)}\n{RESIZE}\n"


def quarto(frame: Frame) -> str:
    return f"```{{=html}}\n{iframe(frame)}\n{RESIZE}\n```\n"


def quarto_slides(frame: Frame) -> str:
    address = frame.address.replace('"', "%22")
    return f'## {{background-iframe="{address}" background-interactive=true}}\n'


def myst(frame: Frame) -> str:
    return f":::{{iframe}} {frame.address}\n:width: 100%\n:title: {frame.title}\n:::\n"


def sphinx(frame: Frame) -> str:
    indented = "\n".join("   " + line for line in f"{iframe(frame)}\n{RESIZE}".split("\n"))
    return f".. raw:: html\n\n{indented}\n"


def sphinx_markdown(frame: Frame) -> str:
    return f"```{{raw}} html\n{iframe(frame)}\n{RESIZE}\n```\n"


def jupyter(frame: Frame) -> str:
    sandbox = ", extras=['sandbox=\"allow-scripts\"']" if frame.sandboxed else ""
    return f'from IPython.display import IFrame\n\nIFrame({frame.address!r}, width="100%", height={frame.height}{sandbox})\n'


def course(frame: Frame) -> str:
    """Without script and style: the editors of courses remove both."""
    sandbox = ' sandbox="allow-scripts"' if frame.sandboxed else ""
    return (
        f'<p><iframe src="{escape(frame.address)}" title="{escape(frame.title)}" width="100%" height="{frame.height}"'
        f"{sandbox}></iframe></p>\n"
    )


RECIPES = (
    Recipe(
        "html",
        "Any web page (HTML)",
        "The script lets the frame grow with its content; leave it out for a fixed height.",
        html,
    ),
    Recipe("quarto", "Quarto", "In a .qmd file.", quarto),
    Recipe(
        "quarto-slides",
        "Quarto or Pandoc slides (reveal.js)",
        "A slide that is the page itself.",
        quarto_slides,
    ),
    Recipe("myst", "MyST, Jupyter Book 2", "In a .md file of the book.", myst),
    Recipe("sphinx", "Sphinx, reStructuredText", "In an .rst file.", sphinx),
    Recipe("sphinx-myst", "Sphinx with MyST-Parser, Jupyter Book 1", "In a .md file.", sphinx_markdown),
    Recipe("mkdocs", "MkDocs", "In a .md file: Markdown keeps HTML.", html),
    Recipe("jupyter", "Jupyter notebook", "In a code cell.", jupyter),
    Recipe(
        "course",
        "Moodle, Canvas and other courses",
        "In the HTML view of the editor, which removes scripts: the height is fixed.",
        course,
    ),
)


def recipe(name: str, frame: Frame) -> str:
    """The text of the recipe with this id. Raises KeyError."""
    return {item.id: item for item in RECIPES}[name].write(frame)
