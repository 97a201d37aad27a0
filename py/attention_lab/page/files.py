"""Files that the reader drops or chooses: read here in the page, sent nowhere, turned into a State.

Reading and guessing are in inputs/; this listens and shows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from attention_lab.core import LabError
from attention_lab.page.dom import Failures, by_id, data, document, on, one

Arrived = Callable[[dict[str, str]], object]


class Files:
    """`arrived(values)` gets the raw texts of State keys; `fail(message)` shows a sentence beside the file button."""

    def __init__(self, arrived: Arrived, fail: Callable[[str], object]) -> None:
        self._arrived = arrived
        self._fail = fail
        self._bundle: Any = None
        self._skipped: dict[str, str] = {}
        self._warnings: tuple[str, ...] = ()
        self._tasks: set[Any] = set()
        on(by_id("files"), "change", lambda event: self._take(event.target.files))
        on(document, "dragover", self._on_over)
        on(document, "drop", self._on_drop)
        on(by_id("files-found"), "change", self._on_choice)

    def _on_over(self, event: Any) -> None:
        if event.dataTransfer and "Files" in list(event.dataTransfer.types):
            event.preventDefault()  # else the browser would leave the page and open the file

    def _on_drop(self, event: Any) -> None:
        if event.dataTransfer and event.dataTransfer.files.length:
            event.preventDefault()
            self._take(event.dataTransfer.files)

    def _take(self, files: Any) -> None:
        import asyncio

        task = asyncio.ensure_future(self._read([files.item(i) for i in range(files.length)]))
        self._tasks.add(task)  # the event loop keeps only weak references
        task.add_done_callback(self._tasks.discard)

    async def _read(self, files: list[Any]) -> None:
        from attention_lab.inputs.bundle import bundle
        from attention_lab.inputs.files import read_arrays
        from attention_lab.inputs.npy import MAX_BYTES

        arrays: dict[str, Any] = {}
        self._skipped, self._warnings = {}, ()
        try:
            for file in files:
                name = str(file.name)
                if file.size > MAX_BYTES:
                    raise LabError(
                        f"{name}: at most {MAX_BYTES:,} bytes are read, the file has {int(file.size):,}."
                    )
                content = (await file.arrayBuffer()).to_bytes()
                found = read_arrays(name, content)
                arrays |= found
                self._skipped |= found.skipped
                self._warnings += found.warnings
            self._bundle = bundle(arrays)
            self._fail("")
            self._show()
        except LabError as error:
            self._fail(str(error))
        except Exception as error:
            Failures.tell(error)

    def _on_choice(self, event: Any) -> None:
        if self._bundle is None:
            return
        name = data(event.target, "file-role")
        if name is not None:
            self._bundle = self._bundle.with_role(name, str(event.target.value))
        elif event.target.hasAttribute("data-file-layout"):
            self._bundle = self._bundle.with_layout(str(event.target.value))
        self._show()

    def _show(self) -> None:
        from attention_lab.render.files import files

        place = by_id("files-found")
        place.innerHTML = files(self._bundle, self._skipped, self._warnings)
        place.hidden = False
        chosen = by_id("files")
        chosen.value = ""  # so that choosing the same file again is a change
        self._arrived(self._bundle.values())
        if document.activeElement == document.body:
            first = one("#files-found select")
            if first:
                first.focus()
