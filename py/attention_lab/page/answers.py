"""Checks what a student typed into the boxes of blank stages, and opens the answers after a first check."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attention_lab.explain.stages import stages
from attention_lab.page.dom import data, document, every, on, one
from attention_lab.teach.answers import judge

if TYPE_CHECKING:
    from attention_lab.page.app import App


class AnswersPage:
    """Listens once for the life of the page; the boxes come and go with the view."""

    def __init__(self, app: App) -> None:
        self.app = app
        on(document, "click", self._on_click)

    def _on_click(self, event: Any) -> None:
        target = event.target
        if not getattr(target, "hasAttribute", None):
            return
        if target.hasAttribute("data-check-answers"):
            self._check()
        elif target.hasAttribute("data-show-answers"):
            self.app.go(self.app.state.with_values({"blank": ""}), push=True)

    def _check(self) -> None:
        view = self.app.view
        if view is None:
            return
        arrays = {item.name: np.asarray(item.array, float) for item in stages(view.slice_trace)}
        counts = {"right": 0, "coarse": 0, "empty": 0, "wrong": 0, "unreadable": 0}
        first: Any = None
        for box in every("input[data-answer]"):
            exact = arrays[str(data(box, "answer"))][int(data(box, "i") or 0), int(data(box, "j") or 0)]
            verdict = judge(str(box.value), float(exact))
            counts[verdict.code] += 1
            cell = box.closest("td")
            cell.dataset.judged = verdict.code
            word = cell.querySelector(".answer-word")
            if not word:
                word = document.createElement("span")
                word.className = "answer-word"
                cell.appendChild(word)
            word.textContent = verdict.text
            if first is None and verdict.code not in ("right", "coarse"):
                first = box
        total = sum(counts.values())
        words = [f"{counts['right']} of {total} right"]
        words += [f"{counts[code]} {word}" for code, word in WORDS.items() if counts[code]]
        sentence = ", ".join(words) + "."
        one(".answer-count").textContent = sentence
        self.app.announce(sentence)
        one("[data-show-answers]").disabled = False
        if first is not None:
            first.focus()


WORDS = {"coarse": "with too few decimals", "wrong": "wrong", "unreadable": "not a number", "empty": "empty"}
