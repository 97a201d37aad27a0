"""Run once inside Pyodide, when the build makes the snapshot: import, compile and warm up all that the page needs.

Expects in its globals: PACKAGE and PYSCRIPT, {path: source}, and ARCHIVES, {archive name: [top-level modules]}.
"""

import ast
import gc
import importlib
import sys
import types

SITE = "/lib/python3.13/site-packages/"
HOME = "/home/pyodide/"


def module_name(path):
    parts = path.removesuffix(".py").split("/")
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported_names(tree):
    """Every module that the code imports, at any depth, as far as it is absolute."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module


def compiled(sources, folder):
    """{module name: (code, file, is_package)} of a source tree."""
    return {
        module_name(path): (
            compile(text, folder + path, "exec", dont_inherit=True),
            folder + path,
            path.endswith("__init__.py"),
        )
        for path, text in sources.items()
    }


def fill():
    package = {path: text for path, text in PACKAGE.items() if path.endswith(".py")}
    page = {path: text for path, text in package.items() if path.startswith("attention_lab/page/")}
    for name, text in {**package, **PYSCRIPT}.items():
        for wanted in imported_names(ast.parse(text)):
            top = wanted.partition(".")[0]
            if top in sys.stdlib_module_names or top == "numpy":
                importlib.import_module(wanted)
    for path in sorted(package.keys() - page.keys()):
        importlib.import_module(module_name(path))
    late = sys.modules["_late_imports"]
    sys.meta_path.insert(0, late.Compiled(compiled(page, SITE) | compiled(PYSCRIPT, HOME)))
    sys.meta_path.append(late.Late({name: frozenset(tops) for name, tops in ARCHIVES.items()}))
    shorten()
    warm_up()
    late.FILES.update({SITE + path: text for path, text in PACKAGE.items() if not path.endswith(".py")})
    forget()


HAS_DOCSTRING = 0x4000000
OURS = ("attention_lab", "fill_snapshot")


def one_line(code):
    """A location table (CPython's Objects/locations.md) that gives every instruction the function's first line.

    Entries of up to eight units: 0x80 | 13 << 3 (a line, no columns) | units - 1, then how many lines further: none.
    """
    whole, rest = divmod(len(code.co_code) // 2, 8)
    return b"\xef\x00" * whole + (bytes([0xE8 | rest - 1, 0]) if rest else b"")


def shorten():
    """Take docstrings and exact lines out of code that is not ours: a tenth of the snapshot. Ours keeps its lines."""
    done = {}

    def short(code):
        if code not in done:
            constants = list(code.co_consts)
            if code.co_flags & HAS_DOCSTRING:
                constants[0] = None
            constants = tuple(short(item) if isinstance(item, types.CodeType) else item for item in constants)
            flags = code.co_flags & ~HAS_DOCSTRING
            done[code] = code.replace(co_linetable=one_line(code), co_consts=constants, co_flags=flags)
        return done[code]

    for item in gc.get_objects():
        if isinstance(item, types.FunctionType) and not str(item.__module__).startswith(OURS):
            item.__code__ = short(item.__code__)
            item.__doc__ = None
    for name, module in sys.modules.items():
        if isinstance(module, types.ModuleType) and not name.startswith(OURS):
            module.__doc__ = None


CODECS = [
    "ascii",
    "latin_1",
    "utf_8",
    "utf_8_sig",
    "cp1252",
    *(f"utf_{bits}{end}" for bits in (16, 32) for end in ("", "_le", "_be")),
]


def warm_up():
    """Do what the page does first, so that its caches, its specialised code and the opening views are in the snapshot."""
    from attention_lab.compute import OPENINGS, view_of
    from attention_lab.render import page
    from attention_lab.state import State

    for codec in CODECS:
        importlib.import_module(f"encodings.{codec}")
    page.prerender()
    for lab in page.VIEWS:
        OPENINGS[lab] = view_of(State.opening(lab))
        page.render(OPENINGS[lab])


def forget():
    """Let go of what only making the snapshot needed."""
    import linecache
    import zipimport

    linecache.clearcache()
    for module in list(sys.modules.values()):
        loader = getattr(module, "__loader__", None)
        if isinstance(loader, zipimport.zipimporter):
            loader._files = {}
    zipimport._zip_directory_cache.clear()
    sys.path_importer_cache.clear()
    sys._clear_internal_caches()
    for name in ("PACKAGE", "PYSCRIPT", "ARCHIVES"):
        del globals()[name]
