"""The bench's lines about single labs: a step of the walkthrough, an edited sentence, a diagnosis."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from .browsers import Engine
from .figures import PAGES, Figure, figure_of
from .rounds import Rounds

FRAME = 1000 / 60
WORDS = "%20".join(f"word{i}" for i in range(64))
OURS = {
    "steps": "lab/steps.html#lab=walkthrough&example=walkthrough-masked&causal=top-left",
    "sentences": f"lab/sentences.html#lab=heatmap&d=32&causal=top-left&text={WORDS}",
    "diagnoses": "lab/diagnoses.html",
}
PLAIN = {"steps": "lab/plain-steps.html", "sentences": "lab/plain-sentences.html"}


def write_pages(folder: Path, lab: str, page: Callable[..., str]) -> None:
    """One page for each kind of work, and the plain page that does the same; `page(text, more, **task)` adds the report."""
    from attention_lab.inputs.examples import load

    work = (PAGES / "labs.js").read_text(encoding="utf-8")
    for name in OURS:
        (folder / "lab" / f"{name}.html").write_text(page(lab, work, then=name), encoding="utf-8")
    example = load().get("walkthrough-masked")
    problem = json.dumps({key: getattr(example, key).tolist() for key in "qkv"})
    partners = {
        "steps": ("plain_walkthrough.html", f"<script>load({problem})</script>"),
        "sentences": ("plain_heatmap.html", ""),
    }
    for name, (source, more) in partners.items():
        text = (PAGES / source).read_text(encoding="utf-8").replace("./static/", "./") + more
        text = page(text, work, then=name, until="paint")
        (folder / "lab" / f"plain-{name}.html").write_text(text, encoding="utf-8")


def measure(server: Rounds, engine: Engine, profile: Path, pairs: int) -> list[Figure]:
    """Each kind of work beside plain JavaScript in turn; the diagnosis beside the time it may take."""
    ours, plain = (
        {name: f"{server.address}{page}" for name, page in pages.items()} for pages in (OURS, PLAIN)
    )
    server.reports.clear()
    for i in range(pairs):
        both = [[ours[name], plain[name]][:: 1 if i % 2 else -1] for name in PLAIN]
        server.open(engine, profile, [*both[0], *both[1], ours["diagnoses"]])
    took = {}
    for kind, pages in (("ours", ours), ("plain", plain)):
        for name, page in pages.items():
            took[kind, name] = [report["lab"] for report in server.taken(engine, page)]

    def line(name: str, work: str, key: str, limit: float | None, baseline: float | None = None) -> Figure:
        mine = [report[key] for report in took["ours", work]]
        theirs = (
            [report[key] for report in took["plain", work]] if baseline is None else [baseline] * len(mine)
        )
        return figure_of(name, engine.name, "ms", list(zip(mine, theirs, strict=True)), limit)

    return [
        line("walkthrough, one step at 8 × 8 ÷ one frame", "steps", "step", 1.0, FRAME),
        line("walkthrough, one step at 8 × 8 ÷ plain JavaScript", "steps", "step", None),
        line("heatmap, edit → painted, 64 tokens ÷ plain JavaScript", "sentences", "64", 1.5),
        line("heatmap, edit → painted, 256 tokens ÷ plain JavaScript", "sentences", "256", 1.0),
        line("first diagnosis, 4 × 5 ÷ 300 ms", "diagnoses", "4x5", 1.0, 300.0),
        line("diagnosis, 64 × 64 ÷ 3 s", "diagnoses", "64x64", 1.0, 3000.0),
    ]
