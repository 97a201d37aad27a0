"""A stage whose numbers are left to the reader: boxes to fill in, and a button that checks them.

The numbers themselves are not in the page's HTML; page/answers.py compares what is typed with the Trace.
"""

from __future__ import annotations

from collections.abc import Sequence

from attention_lab.render.html import escape

MOST_BOXES = 256


def blank_table(
    stage: str, shape: tuple[int, int], caption: str, rows: Sequence[str], columns: Sequence[str]
) -> str:
    """Boxes for `shape` numbers. rows and columns are header texts already escaped."""
    if shape[0] * shape[1] > MOST_BOXES:
        return (
            f'<section class="stage-box stage-{stage}"><p>{caption}</p><p class="absent">{shape[0]}×{shape[1]} numbers '
            f"are too many to fill in by hand (up to {MOST_BOXES}).</p></section>"
        )
    head = "".join(f'<th scope="col">{name}</th>' for name in columns)
    body = []
    for i in range(shape[0]):
        cells = "".join(
            f'<td class="answer-cell"><input class="answer" form="lab-form" inputmode="decimal" size="8" autocomplete="off" '
            f'data-answer="{stage}" data-i="{i}" data-j="{j}" '
            f'aria-label="{escape(stage)}, row {i + 1}, column {j + 1}"></td>'
            for j in range(shape[1])
        )
        body.append(f'<tr><th scope="row">{rows[i]}</th>{cells}</tr>')
    return (
        f'<section class="stage-box stage-{stage}"><div class="scroll"><table class="stage" data-blank="{stage}">'
        f'<caption>{caption}</caption><thead><tr><td class="corner"></td>{head}</tr></thead>'
        f"<tbody>{''.join(body)}</tbody></table></div></section>"
    )


def check_line() -> str:
    """The button under the stages, the count, and the way to the answers, which opens after a first check."""
    return (
        '<div class="answer-bar"><button type="button" data-check-answers>Check answers</button> '
        '<button type="button" data-show-answers disabled>Show the answers</button> '
        '<span class="answer-count">Fill in the boxes: decimals with a point, or a fraction such as 2/3.</span></div>'
    )
