"""Arrays from files → the values of a State: which is Q, K, V, mask or result, in which layout.

Rearranges axes and writes text; guesses come from roles.py and can be overruled. Computes no attention.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attention_lab.inputs.paste import format_matrix
from attention_lab.inputs.roles import ROLES, assign_roles, guess_layout, heads_first

LAYOUTS = {"bhld": "(batch, heads, length, d)", "blhd": "(batch, length, heads, d)"}
RESULTS = {"out": "output", "scores": "auto", "weights": "weights", "lse": "log_sum_exp"}
"""Roles that are someone's result, and the stage they are read as; "auto" tries every kind of score."""


@dataclass(frozen=True, eq=False)
class Bundle:
    """Named arrays with a role for some of them and one layout for Q, K, V and the output."""

    arrays: Mapping[str, NDArray[Any]]
    roles: Mapping[str, str]
    layout: str
    reason: str

    def with_role(self, name: str, role: str) -> Bundle:
        """`name` gets `role` ("" for none); whatever had the role loses it."""
        roles = {r: n for r, n in self.roles.items() if r != role and n != name}
        return replace(self, roles={**roles, role: name} if role else roles)

    def with_layout(self, layout: str) -> Bundle:
        return replace(self, layout=layout, reason="You chose this.")

    def values(self) -> dict[str, str]:
        """What the arrays say, as raw texts of State keys; roles that are missing leave their key alone."""
        texts: dict[str, str] = {}
        for role, name in self.roles.items():
            array = self.arrays[name]
            if role in ("q", "k", "v"):
                texts[role] = format_matrix(self._arranged(array))
            elif role == "mask":
                texts["keep"] = format_matrix(array.astype(np.int8))
            elif role == "bias":
                texts["bias"] = format_matrix(array)
            else:
                result = self._arranged(array) if role == "out" else array
                texts["observed"] = format_matrix(np.atleast_2d(result))
                texts["stage"] = RESULTS[role]
        return texts

    def _arranged(self, array: NDArray[Any]) -> NDArray[Any]:
        """Heads before length, as attend() wants them."""
        return heads_first(array, self.layout)


def bundle(arrays: Mapping[str, NDArray[Any]]) -> Bundle:
    """Guess roles from names and the layout from shapes."""
    roles = assign_roles(list(arrays), arrays)
    layout, reason = "bhld", "Only two axes: nothing to choose."
    if "q" in roles and arrays[roles["q"]].ndim >= 3:
        shapes = {role: arrays[name].shape for role, name in roles.items()}
        guess = guess_layout(
            shapes["q"],
            shapes.get("k"),
            weights=shapes.get("weights"),
            lse=shapes.get("lse"),
            mask=shapes.get("mask"),
        )
        layout = "blhd" if guess.layout in ("blhd", "lhd") else "bhld"
        reason = f"{guess.reason} (confidence {guess.confidence:.0%})"
    return Bundle(arrays, roles, layout, reason)


__all__ = ["LAYOUTS", "RESULTS", "ROLES", "Bundle", "bundle"]
