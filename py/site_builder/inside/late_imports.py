"""Lives in the snapshot as the module `_late_imports`: serves what was compiled but not run, and fetches what is not there.

Not imported by the package or the build; the snapshot's maker runs it inside Pyodide.
"""

import sys
from importlib import invalidate_caches
from importlib.machinery import ModuleSpec, PathFinder


class Compiled:
    """Modules whose code is in memory already but which need the page to run: PyScript's and ours that touch the browser."""

    def __init__(self, modules):
        self.modules = modules  # name → (code, file, is_package)

    def find_spec(self, name, path=None, target=None):
        if name not in self.modules:
            return None
        _, file, is_package = self.modules[name]
        spec = ModuleSpec(name, self, origin=file, is_package=is_package)
        spec.has_location = True
        if is_package:
            spec.submodule_search_locations.append(file.rpartition("/")[0])
        return spec

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        exec(self.modules[module.__spec__.name][0], module.__dict__)


class Late:
    """The last finder: unpacks the rest of the standard library or of NumPy when something asks for it, then looks again."""

    def __init__(self, archives):
        self.archives = archives  # archive name → top-level modules that it can provide

    def find_spec(self, name, path=None, target=None):
        top = name.partition(".")[0]
        for archive, modules in self.archives.items():
            if top in modules:
                break
        else:
            return None
        import _attention_lab_archives  # registered by static/runtime.mjs

        try:
            _attention_lab_archives.unpack(archive)
        except Exception as error:
            reason = str(error).strip().splitlines()[-1]
            raise ImportError(
                f"{name} is not in the part of Python that this page starts with, and {reason}", name=name
            ) from None
        del self.archives[archive]
        for entry in [entry for entry in sys.path_importer_cache if entry.startswith("/lib/")]:
            del sys.path_importer_cache[entry]
        invalidate_caches()
        return PathFinder.find_spec(name, path, target)


FILES: dict[str, str] = {}  # path → text: data files of our package. Files are not part of a memory snapshot


def awake():
    """Right after restoring: what must not be the same for every reader.

    `os.urandom` asks the browser each time anyway. The seed of string hashes is the same for all; it guards nothing here.
    """
    import random

    random.seed()


def put_files():
    """Once the page is ready: the data files back. Making the snapshot has read them all, so the start needs none."""
    import os

    for path, text in FILES.items():
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    FILES.clear()
