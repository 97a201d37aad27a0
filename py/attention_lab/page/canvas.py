"""Draws a large matrix on a canvas: crisp on any screen, zoom, pan, a cursor for pointer and keyboard.

What stands in a cell, its colour and its table come from render/heat_canvas.py; this only draws and listens.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from js import ImageData, ResizeObserver, Uint8ClampedArray
from pyodide.ffi import create_proxy, to_js

from attention_lab.core import LabError
from attention_lab.page.dom import Once, by_id, document, every, guarded, on, root, window, write_html
from attention_lab.render.heat_canvas import (
    Picture,
    frame,
    neighbourhood,
    picture_of,
    pixels,
    reading,
    tick_step,
    tick_text,
)
from attention_lab.render.view import View

WORDS_GUTTER, NUMBERS_GUTTER = 84, 36
"""CSS pixels left of and above the cells: for the labels themselves, or for indices where labels do not fit."""
LABEL_HEIGHT = 15
NUMBERS_FROM = 36
"""CSS pixels a cell needs before its number is written into it."""
LARGEST_CELL = 64
LEAST_MOVE = 4
"""CSS pixels a pointer must travel before a press becomes a drag."""
MOVES = {
    "ArrowUp": (-1, 0),
    "ArrowDown": (1, 0),
    "ArrowLeft": (0, -1),
    "ArrowRight": (0, 1),
    "PageUp": (-16, 0),
    "PageDown": (16, 0),
}

_mounted: list[HeatCanvas] = []
_watching = False


def show_canvases(view: View, open_row: Callable[[int], object], selected: int | None) -> None:
    """Fill every `[data-canvas]` of the lab on show with its matrix, mounting those that are new."""
    global _watching
    if not _watching:
        _watching = True
        redraw = Once(_redraw_all)
        on(document, "click", lambda event: redraw() if event.target.id == "theme" else None)
        window.matchMedia("(prefers-color-scheme: dark)").addEventListener(
            "change", create_proxy(lambda _: redraw())
        )
    for old in [item for item in _mounted if not item.slot.isConnected]:
        old.release()
        _mounted.remove(old)
    for slot in every(f'[data-lab-panel="{view.state.lab}"] [data-canvas]'):
        name = str(slot.dataset.canvas)
        try:
            picture = picture_of(view, name)
        except LabError:
            continue  # the view has said why in words already
        found = next((item for item in _mounted if item.slot.isSameNode(slot)), None)
        if found is None:
            found = HeatCanvas(slot, picture, open_row)
            _mounted.append(found)
        found.show(picture, None if selected is None else selected - picture.cut)


def _redraw_all() -> None:
    for item in _mounted:
        item.colours = None
        item.draw()


class HeatCanvas:
    """One canvas. Sizes and offsets are in device pixels, and a cell is a whole number of them, so edges stay crisp."""

    def __init__(self, slot: Any, picture: Picture, open_row: Callable[[int], object]) -> None:
        n, m = picture.shape
        slot.innerHTML = frame(picture.name, n, m)
        self.slot, self.open_row = slot, open_row
        self.canvas = slot.querySelector("canvas")
        self.context = self.canvas.getContext("2d")
        self.words, self.window = slot.querySelector(".canvas-reading"), slot.querySelector(".canvas-window")
        self.image: Any = document.createElement("canvas")
        self.picture = picture
        self.selected: int | None = None
        self.i = self.j = 0
        self.fit = self.cell = 1
        self.left = self.top = 0
        self.zoomed = False
        self.pointers: dict[int, tuple[float, float]] = {}
        self.travelled = 0.0
        self.next_draw = Once(self._draw_and_read)
        self._ticked: tuple[Any, ...] | None = None
        self._read = self._near = ""
        self._proxies: list[tuple[str, Any]] = []
        for event, handler in (
            ("pointermove", self._on_move),
            ("pointerdown", self._on_down),
            ("pointerup", self._on_up),
            ("pointercancel", self._on_up),
            ("wheel", self._on_wheel),
            ("keydown", self._on_key),
        ):
            proxy = create_proxy(guarded(handler))
            self._proxies.append((event, proxy))
            self.canvas.addEventListener(event, proxy)
        self._tools = create_proxy(guarded(self._on_tool))
        slot.querySelector(".canvas-tools").addEventListener("click", self._tools)
        self.width = float(slot.clientWidth)
        self.colours: tuple[str, ...] | None = None
        self._resized = create_proxy(guarded(self._on_resize))
        self._observer = ResizeObserver.new(self._resized)
        self._observer.observe(slot)

    def release(self) -> None:
        """Let the browser forget a canvas whose slot has been rewritten."""
        self._observer.disconnect()
        for _, proxy in self._proxies:
            proxy.destroy()
        self._tools.destroy()
        self._resized.destroy()

    def _on_resize(self, entries: Any, _: Any) -> None:
        width = float(entries[0].contentRect.width)
        if width != self.width:
            self.width = width
            self.draw()

    def show(self, picture: Picture, selected: int | None) -> None:
        """Draw another matrix in the same place, keeping zoom and cursor where they still fit."""
        n, m = picture.shape
        if picture.shape != self.picture.shape:
            self.zoomed = False
        if selected is not None and selected != self.selected:
            self.i = selected
        self.picture, self.selected = picture, selected
        self.i, self.j = min(self.i, n - 1), min(self.j, m - 1)
        data = Uint8ClampedArray.new(to_js(pixels(picture).reshape(-1)).buffer)
        if (self.image.width, self.image.height) != (m, n):
            self.image.width, self.image.height = m, n
        self.image.getContext("2d").putImageData(ImageData.new(data, m, n), 0, 0)
        self._draw_and_read()

    # drawing

    def _draw_and_read(self) -> None:
        self.draw()
        words, near = (
            reading(self.picture, self.i, self.j),
            neighbourhood(self.picture, self.i, self.j, self.selected),
        )
        if words != self._read:
            self.words.textContent = self._read = words
        if near != self._near:
            write_html(self.window, self._near or None, near)
            self._near = near

    def _measure(self) -> bool:
        """Fit the canvas to its slot; False while the slot is not laid out."""
        width = self.width  # kept: asking the browser now would make it lay the page out twice
        if width <= 0:
            return False
        n, m = self.picture.shape
        self.ratio = float(window.devicePixelRatio or 1)
        down = int(max(280.0, min(0.75 * float(window.innerHeight), 720.0)) * self.ratio)
        for gutter in (NUMBERS_GUTTER, WORDS_GUTTER):
            self.gutter = round(gutter * self.ratio)
            across = max(1, int(width * self.ratio) - self.gutter)
            self.fit = max(1, min(across // m, down // n, round(LARGEST_CELL * self.ratio)))
            if (self.cell if self.zoomed else self.fit) < LABEL_HEIGHT * self.ratio:
                break
        if not self.zoomed:
            self.cell, self.left, self.top = self.fit, 0, 0
        self.wide, self.high = min(across, m * self.fit), min(down, n * self.fit)
        self._clamp()
        if (self.canvas.width, self.canvas.height) != (self.gutter + self.wide, self.gutter + self.high):
            self.canvas.width, self.canvas.height = self.gutter + self.wide, self.gutter + self.high
            self.canvas.style.width = f"{self.canvas.width / self.ratio}px"
            self.canvas.style.height = f"{self.canvas.height / self.ratio}px"
            self._ticked = None  # another size empties the canvas
        return True

    def _clamp(self) -> None:
        n, m = self.picture.shape
        self.left = max(0, min(self.left, m * self.cell - self.wide))
        self.top = max(0, min(self.top, n * self.cell - self.high))

    def draw(self) -> None:
        """Draw the part of the matrix in view, its labels, and the cursor."""
        if not self._measure():
            return
        n, m = self.picture.shape
        pen, cell, gutter = self.context, self.cell, self.gutter
        if self.colours is None:
            style = window.getComputedStyle(root)
            names = ("ink", "paper", "quiet", "accent", "hatch")
            self.colours = tuple(str(style.getPropertyValue(f"--{name}")).strip() for name in names)
        ink, paper, quiet, accent, hatch = self.colours
        rows = range(self.top // cell, min(n, -(-(self.top + self.high) // cell)))
        columns = range(self.left // cell, min(m, -(-(self.left + self.wide) // cell)))
        ticked = (
            *(gutter, cell, self.left, self.top, rows, columns, self.i, self.j, self.selected, self.colours),
            *(self.picture.shape, self.picture.rows, self.picture.columns, self.picture.first),
        )
        pen.fillStyle = paper
        pen.save()
        pen.beginPath()
        pen.rect(gutter, gutter, self.wide, self.high)
        pen.clip()
        pen.fillRect(gutter, gutter, self.wide, self.high)
        if not self.picture.all_visible:
            pen.fillStyle = self._hatching(hatch)
            pen.fillRect(gutter, gutter, self.wide, self.high)
        pen.imageSmoothingEnabled = False
        pen.drawImage(self.image, 0, 0, m, n, gutter - self.left, gutter - self.top, m * cell, n * cell)
        if cell >= NUMBERS_FROM * self.ratio:
            self._numbers(rows, columns)
        pen.strokeStyle = accent
        pen.lineWidth = max(1, round(self.ratio))
        x, y = gutter - self.left + self.j * cell, gutter - self.top + self.i * cell
        around = round(2 * self.ratio)
        pen.strokeRect(x - around + 0.5, y - around + 0.5, cell + 2 * around - 1, cell + 2 * around - 1)
        pen.restore()
        if ticked != self._ticked:  # an edit leaves the labels as they are
            pen.fillStyle = paper
            pen.fillRect(0, 0, self.canvas.width, gutter)
            pen.fillRect(0, 0, gutter, self.canvas.height)
            self._ticks(rows, columns, ink, quiet)
            self._ticked = ticked

    def _hatching(self, colour: str) -> Any:
        side = round(6 * self.ratio)
        tile = document.createElement("canvas")
        tile.width = tile.height = side
        pen = tile.getContext("2d")
        pen.strokeStyle = colour
        pen.lineWidth = max(1, self.ratio)
        pen.beginPath()
        for shift in (-side, 0, side):
            pen.moveTo(shift, side)
            pen.lineTo(shift + side, 0)
        pen.stroke()
        return self.context.createPattern(tile, "repeat")

    def _numbers(self, rows: range, columns: range) -> None:
        from attention_lab.render.cividis import LEVELS, colour, ink
        from attention_lab.render.html import formatter

        pen, cell, gutter = self.context, self.cell, self.gutter
        write = formatter(self.picture.decimals)
        inks = [ink(colour(level / LEVELS)) for level in range(LEVELS + 1)]
        pen.font = f"{round(12 * self.ratio)}px system-ui, sans-serif"
        pen.textAlign, pen.textBaseline = "center", "middle"
        for i in rows:
            for j in columns:
                if self.picture.visible[i, j]:
                    pen.fillStyle = inks[int(self.picture.levels[i, j])]
                    x, y = gutter - self.left + (j + 0.5) * cell, gutter - self.top + (i + 0.5) * cell
                    pen.fillText(write(float(self.picture.values[i, j])), x, y)

    def _ticks(self, rows: range, columns: range, ink: str, quiet: str) -> None:
        pen, cell, gutter, first = self.context, self.cell, self.gutter, self.picture.first
        size = round(12 * self.ratio)
        pad = round(6 * self.ratio)
        pen.font = f"{size}px system-ui, sans-serif"
        pen.textBaseline = "middle"
        step = tick_step(cell, LABEL_HEIGHT * self.ratio, max(self.picture.shape))
        pen.textAlign = "right"
        for i in rows:
            if i % step == 0 or i in (self.i, self.selected):
                if i % step and any(abs(i - other) < step for other in (i - i % step, i - i % step + step)):
                    continue
                pen.fillStyle = ink if i in (self.i, self.selected) else quiet
                mark = "▸ " if i == self.selected else ""
                y = gutter - self.top + (i + 0.5) * cell
                pen.fillText(mark + tick_text(self.picture.rows, i, step, first), gutter - pad, y)
        pen.textAlign = "left"
        for j in columns:
            if j % step == 0:
                pen.fillStyle = ink if j == self.j else quiet
                pen.save()
                pen.translate(gutter - self.left + (j + 0.5) * cell, gutter - pad)
                pen.rotate(-1.5707963267948966)
                pen.fillText(tick_text(self.picture.columns, j, step, first), 0, 0)
                pen.restore()

    # pointer, wheel and keyboard

    def _place(self, event: Any) -> tuple[float, float]:
        """Where an event is, in device pixels from the corner of the cells."""
        return float(event.offsetX) * self.ratio - self.gutter, float(
            event.offsetY
        ) * self.ratio - self.gutter

    def _point(self, x: float, y: float) -> None:
        n, m = self.picture.shape
        i, j = int((y + self.top) // self.cell), int((x + self.left) // self.cell)
        if x >= 0 and y >= 0 and 0 <= i < n and 0 <= j < m and (i, j) != (self.i, self.j):
            self.i, self.j = i, j
            self.next_draw()

    def _on_move(self, event: Any) -> None:
        place = self._place(event)
        before = self.pointers.get(event.pointerId)
        if before is None:
            self._point(*place)
            return
        if len(self.pointers) == 2:
            other = next(at for key, at in self.pointers.items() if key != event.pointerId)
            apart = [((at[0] - other[0]) ** 2 + (at[1] - other[1]) ** 2) ** 0.5 for at in (before, place)]
            middle = (place[0] + other[0]) / 2, (place[1] + other[1]) / 2
            if apart[0] > 0 and abs(apart[1] / apart[0] - 1) > 0.08:
                self.zoom(apart[1] / apart[0], *middle)
                self.pointers[event.pointerId] = place
            self.travelled += LEAST_MOVE * self.ratio
            return
        self.pointers[event.pointerId] = place
        self.travelled += abs(place[0] - before[0]) + abs(place[1] - before[1])
        if self.travelled >= LEAST_MOVE * self.ratio:
            self.left -= round(place[0] - before[0])
            self.top -= round(place[1] - before[1])
            self._clamp()
            self.next_draw()

    def _on_down(self, event: Any) -> None:
        if not self.pointers:
            self.travelled = 0.0
        self.pointers[event.pointerId] = self._place(event)
        self._point(*self._place(event))
        if event.isTrusted:
            self.canvas.setPointerCapture(event.pointerId)

    def _on_up(self, event: Any) -> None:
        was_click = self.travelled < LEAST_MOVE * self.ratio and str(event.type) == "pointerup"
        if self.pointers.pop(event.pointerId, None) is not None and was_click and not self.pointers:
            self.open_row(self.i + self.picture.cut)

    def _on_wheel(self, event: Any) -> None:
        if event.ctrlKey:  # a plain wheel scrolls the page, as everywhere
            event.preventDefault()
            self.zoom(1.25 if event.deltaY < 0 else 0.8, *self._place(event))

    def _on_tool(self, event: Any) -> None:
        button = event.target.closest("[data-zoom]")
        if button:
            self._zoom_by_name(str(button.dataset.zoom))

    def _zoom_by_name(self, name: str) -> None:
        if name == "fit":
            self.zoomed = False
            self.next_draw()
        else:
            x = (self.j + 0.5) * self.cell - self.left
            y = (self.i + 0.5) * self.cell - self.top
            self.zoom(1.6 if name == "in" else 1 / 1.6, x, y)

    def zoom(self, factor: float, x: float, y: float) -> None:
        """Zoom in whole pixels per cell, keeping the matrix still under (x, y), device pixels from the corner."""
        wanted = round(self.cell * factor)
        if wanted == self.cell:
            wanted += 1 if factor > 1 else -1
        cell = max(self.fit, min(wanted, round(LARGEST_CELL * self.ratio)))
        row, column = (self.top + y) / self.cell, (self.left + x) / self.cell
        self.zoomed = cell != self.fit
        self.cell, self.left, self.top = cell, round(column * cell - x), round(row * cell - y)
        self.canvas.classList.toggle("zoomed", self.zoomed)
        self._clamp()
        self.next_draw()

    def _on_key(self, event: Any) -> None:
        key = str(event.key)
        n, m = self.picture.shape
        if event.ctrlKey or event.metaKey or event.altKey:
            return
        if key in MOVES:
            down, right = MOVES[key]
            self.i, self.j = max(0, min(self.i + down, n - 1)), max(0, min(self.j + right, m - 1))
            self._keep_in_view()
        elif key in ("Home", "End"):
            self.j = 0 if key == "Home" else m - 1
            self._keep_in_view()
        elif key in ("+", "=", "-", "−", "0"):
            self._zoom_by_name({"0": "fit", "-": "out", "−": "out"}.get(key, "in"))
        elif key == "Enter":
            self.open_row(self.i + self.picture.cut)
        else:
            return
        event.preventDefault()
        event.stopPropagation()  # or the page would take the arrow for the next token
        self.next_draw()
        if key != "Enter":
            by_id("announce").textContent = reading(self.picture, self.i, self.j)

    def _keep_in_view(self) -> None:
        self.left = min(self.left, self.j * self.cell)
        self.left = max(self.left, (self.j + 1) * self.cell - self.wide)
        self.top = min(self.top, self.i * self.cell)
        self.top = max(self.top, (self.i + 1) * self.cell - self.high)
