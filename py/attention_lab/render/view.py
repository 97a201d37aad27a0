"""What a view gets to draw: the state, and the problem and trace computed from it. Holds values, draws nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from attention_lab.render.html import Formatter, formatter, index_label, index_labels

if TYPE_CHECKING:
    from attention_lab.core import Trace
    from attention_lab.problem import Problem
    from attention_lab.state import State


@dataclass(frozen=True, eq=False)
class View:
    """One computed state. `problem` and `trace` are whole; `slice` and `slice_trace` are the 2-D part on show."""

    state: State
    problem: Problem
    trace: Trace
    slice: Problem
    slice_trace: Trace
    drawn: dict[str, str] = field(default_factory=dict)
    """HTML already made from these very numbers, so that opening a row does not draw every table again."""

    @staticmethod
    def first_of(state: State) -> int:
        """The index that labels start from: 1 in the calculator, 0 in the other labs."""
        return 1 if state.lab == "calculator" else 0

    @property
    def first(self) -> int:
        return self.first_of(self.state)

    @property
    def write(self) -> Formatter:
        return formatter(self.state.decimals)

    @property
    def given_out(self) -> NDArray[np.bool_]:
        """(n, m) True where a weight can be read: visible cells, and the row that a policy for empty rows fills."""
        trace = self.slice_trace
        return np.asarray(trace.mask | (trace.weights != 0))

    def query_names(self) -> list[str]:
        """Escaped headers of the query rows."""
        return self._names("Q", self.slice.query_labels, self.slice_trace.scores.shape[-2])

    def key_names(self) -> list[str]:
        """Escaped headers of the key columns."""
        return self._names("K", self.slice.key_labels, self.slice_trace.scores.shape[-1])

    def dim_names(self, count: int) -> list[str]:
        """Headers of `count` vector dimensions."""
        return self._names("d", None, count)

    def _names(self, letter: str, labels: Sequence[str] | None, count: int) -> list[str]:
        if labels is None:
            return list(index_labels(letter, count, self.first))
        return [index_label(letter, index, labels) for index in range(count)]
