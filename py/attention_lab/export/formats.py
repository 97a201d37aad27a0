"""The catalogue of exports: id, title, file name, media type, and the writer, which loads when it is first used.

SVG and PNG pictures need the page's colours and are offered by render/.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import NamedTuple

from attention_lab.export.material import Material


class Format(NamedTuple):
    """One kind of file. `writer` is "module:function" under attention_lab.export, taking the Material.

    whole says that it holds every batch and head; else it holds the slice on show.
    """

    id: str
    title: str
    file: str
    media: str
    writer: str
    whole: bool = False
    binary: bool = False


FORMATS = (
    Format("csv", "CSV", "attention.csv", "text/csv", "formats:_csv"),
    Format("tsv", "TSV", "attention.tsv", "text/tab-separated-values", "formats:_tsv"),
    Format("json", "JSON, exact", "attention.json", "application/json", "json:everything_json", True),
    Format("latex", "LaTeX", "attention.tex", "application/x-tex", "latex:everything_latex"),
    Format("markdown", "Markdown", "attention.md", "text/markdown", "markdown:everything_markdown"),
    Format(
        "numpy-text",
        "NumPy arrays",
        "attention_arrays.py",
        "text/x-python",
        "numpy_text:everything_numpy",
        True,
    ),
    Format(
        "numpy",
        "NumPy program",
        "attention_numpy.py",
        "text/x-python",
        "scripts.numpy_script:numpy_script",
        True,
    ),
    Format(
        "torch",
        "PyTorch program",
        "attention_torch.py",
        "text/x-python",
        "scripts.torch_script:torch_script",
        True,
    ),
    Format("jax", "JAX program", "attention_jax.py", "text/x-python", "scripts.jax_script:jax_script", True),
    Format(
        "keras",
        "Keras program",
        "attention_keras.py",
        "text/x-python",
        "scripts.keras_script:keras_script",
        True,
    ),
    Format(
        "pytest", "pytest file", "test_attention.py", "text/x-python", "scripts.pytest_file:pytest_file", True
    ),
    Format("npz", ".npz", "attention.npz", "application/zip", "npz:everything_npz", True, True),
    Format(
        "safetensors",
        ".safetensors",
        "attention.safetensors",
        "application/octet-stream",
        "safetensors:everything_safetensors",
        True,
        True,
    ),
)


def format_of(name: str) -> Format:
    """The format with this id. Raises KeyError."""
    return {item.id: item for item in FORMATS}[name]


def write(name: str, material: Material) -> str | bytes:
    """The file's content. Raises LabError where the numbers do not fit the format."""
    module, function = format_of(name).writer.split(":")
    writer: Callable[[Material], str | bytes] = getattr(
        import_module(f"attention_lab.export.{module}"), function
    )
    return writer(material)


def _csv(material: Material) -> str:
    from attention_lab.export.delimited import long_table

    return long_table(material, ",")


def _tsv(material: Material) -> str:
    from attention_lab.export.delimited import long_table

    return long_table(material, "\t")
