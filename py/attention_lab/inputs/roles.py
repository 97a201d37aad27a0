"""Which array is Q, K, V, mask or output, and how its axes are ordered.

Guesses from names and shapes, with a stated confidence; the reader can change every guess.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Shape = tuple[int, ...]

ROLES = ("q", "k", "v", "mask", "bias", "out", "scores", "weights", "lse")
# Names by role, best first, compared without case, underscores, hyphens and spaces.
_NAMES: dict[str, tuple[str, ...]] = {
    "q": ("q", "query", "queries", "querystates", "querylayer", "qstates", "xq", "qs"),
    "k": ("k", "key", "keys", "keystates", "keylayer", "kstates", "xk", "ks"),
    "v": ("v", "value", "values", "valuestates", "valuelayer", "vstates", "xv", "vs"),
    "mask": (
        "mask", "attnmask", "attentionmask", "keep", "keepmask", "boolmask", "causalmask", "paddingmask",
        "keypaddingmask", "allowed",
    ),
    "bias": ("bias", "attnbias", "attentionbias", "positionbias", "relposbias", "alibi", "additivemask"),
    "out": (
        "out", "output", "o", "attnoutput", "attnout", "attentionoutput", "context", "contextlayer", "y",
        "result", "expected", "expectedoutput", "observed", "outputs", "ctx",
    ),
    "scores": (
        "scores", "score", "s", "logits", "attnscores", "attentionscores", "attnlogits", "qk", "qkt",
        "rawscores", "scaledscores", "z", "qkmatmuloutput",
    ),
    "weights": (
        "weights", "weight", "a", "attn", "attnweights", "attentionweights", "probs", "attnprobs",
        "attentionprobs", "p", "softmax", "attention", "attentions", "w",
    ),
    "lse": ("lse", "logsumexp", "softmaxlse", "l", "logsumexps"),
}  # fmt: skip
_RANK = {name: (role, rank) for role, names in _NAMES.items() for rank, name in enumerate(names)}
_PARAMETER = re.compile(
    r"(?:proj|linear|dense|fc|in_proj|out_proj|c_attn|wq|wk|wv|wo)\w*[./](?:weight|bias|kernel|w|b)$"
)
_OTHER = re.compile(r"(?:^|[._/])(?:d[qkvo]|grad|past|cache|present)(?:$|[._/])|grad$|_cache$", re.IGNORECASE)
_POSITIONAL = re.compile(r"arr_(\d{1,3})")


def assign_roles(names: Sequence[str], arrays: Mapping[str, NDArray[Any]] | None = None) -> dict[str, str]:
    """Roles by name: `assign_roles(["query", "K", "value", "attn_output"])` → {"q": "query", "k": "K", …}.

    Roles: q, k, v, mask, bias, out, scores, weights, lse; each goes to one name and each name to one role.
    With the arrays, a float mask becomes a bias, and unnamed `arr_0`, `arr_1` … of numpy.savez are taken as
    Q, K, V and output where their shapes fit.
    """
    ranked: list[tuple[int, int, str, str]] = []
    for order, name in enumerate(names):
        found = _role(name)
        if found is None:
            continue
        role, rank = found
        array = arrays.get(name) if arrays is not None else None
        if array is not None and array.ndim == 0:
            continue
        if role == "mask" and array is not None and _is_additive(array):
            role = "bias"
        ranked.append((rank, order, role, name))
    result: dict[str, str] = {}
    for _, _, role, name in sorted(ranked):
        if role not in result:
            result[role] = name
    if not result and arrays is not None:
        result = _positional(names, arrays)
    return {role: result[role] for role in ROLES if role in result}


def _role(name: str) -> tuple[str, int] | None:
    if _PARAMETER.search(name.lower()) or _OTHER.search(name):
        return None
    pieces = [piece for piece in re.split(r"[./:\\]", name) if piece]
    if not pieces:
        return None
    bare = re.sub(r"[\s_\-]", "", pieces[-1].lower())
    for candidate in (bare, re.sub(r"\d+$", "", bare), re.sub(r"(?:tensor|matrix|array|np|mat)$", "", bare)):
        if candidate in _RANK:
            role, rank = _RANK[candidate]
            return role, rank + (0 if candidate == bare else 50)
    return None


def _is_additive(array: NDArray[Any]) -> bool:
    """A float mask with entries other than 0 and 1 is added to the scores."""
    return array.dtype.kind == "f" and not bool(np.isin(array, (0.0, 1.0)).all())


def _positional(names: Sequence[str], arrays: Mapping[str, NDArray[Any]]) -> dict[str, str]:
    numbered = sorted((int(m[1]), name) for name in names if (m := _POSITIONAL.fullmatch(name)))
    ordered = [name for _, name in numbered]
    if len(ordered) < 3 or [n for n, _ in numbered] != list(range(len(ordered))):
        return {}
    q, k, v = (arrays[name].shape for name in ordered[:3])
    if min(len(q), len(k), len(v)) < 2 or q[-1] != k[-1] or k[:-1] != v[:-1]:
        return {}
    result = dict(zip(("q", "k", "v"), ordered[:3], strict=True))
    if len(ordered) > 3 and arrays[ordered[3]].shape == (*q[:-1], v[-1]):
        result["out"] = ordered[3]
    return result


@dataclass(frozen=True)
class LayoutGuess:
    """How the axes are ordered. layout: "ld", "hld", "lhd", "bhld" or "blhd" (batch, heads, length, d).

    confidence: 0.5 (a coin) to 1 (the shapes allow nothing else). reason: one sentence. For 3-D arrays h is
    whatever the extra axis is, batch or heads.
    """

    layout: str
    confidence: float
    reason: str

    @property
    def spelled(self) -> str:
        """`"bhld"` → "(batch, heads, length, d)"."""
        words = {"b": "batch", "h": "heads", "l": "length", "d": "d"}
        if len(self.layout) == 3:
            words["h"] = "batch or heads"
        return "(" + ", ".join(words[letter] for letter in self.layout) + ")"


def guess_layout(
    q: Shape,
    k: Shape | None = None,
    *,
    weights: Shape | None = None,
    lse: Shape | None = None,
    mask: Shape | None = None,
) -> LayoutGuess:
    """The order of the axes of Q (and K, V, output) from shapes; scores or weights, a log-sum-exp or a mask decide.

    `guess_layout((1, 128, 8, 64))` → "blhd", because 8 is a likelier number of heads than 128.
    """
    if len(q) < 3:
        return LayoutGuess("ld", 1.0, "two axes are length and d.")
    if len(q) > 4:
        return LayoutGuess("bhld", 0.5, "more than four axes: the last two are taken as length and d.")
    first, second = ("hld", "lhd") if len(q) == 3 else ("bhld", "blhd")
    options = {first: (q[-3], q[-2]), second: (q[-2], q[-3])}  # layout: (heads, query length)
    keys = {first: (k[-3], k[-2]), second: (k[-2], k[-3])} if k is not None and len(k) == len(q) else None
    possible = [
        layout
        for layout, (heads, length) in options.items()
        if _fits(heads, length, keys[layout] if keys else None, weights, lse, mask)
    ]
    if len(possible) == 1:
        return LayoutGuess(possible[0], 1.0, "the other order does not fit the shapes.")
    if not possible:
        return LayoutGuess(first, 0.5, "neither order fits the shapes given with it.")
    alike = [layout for layout in possible if keys is not None and options[layout][1] == keys[layout][1]]
    if len(alike) == 1:
        return LayoutGuess(alike[0], 0.8, "in this order queries and keys have the same length.")
    heads, length = options[first]
    if heads == length:
        return LayoutGuess(first, 0.5, "both axes have the same length, so either order is possible.")
    layout = first if heads < length else second
    small, large = min(heads, length), max(heads, length)
    confidence = 0.9 if large >= 4 * small else 0.8 if large >= 2 * small else 0.65
    what = "number of heads" if len(q) == 4 else "batch size or number of heads"
    return LayoutGuess(layout, confidence, f"{small} is a likelier {what} than {large}.")


def _fits(
    heads: int,
    length: int,
    key: tuple[int, int] | None,
    weights: Shape | None,
    lse: Shape | None,
    mask: Shape | None,
) -> bool:
    if key is not None and (key[0] == 0 or heads % key[0]):
        return False
    if weights is not None and len(weights) >= 3:
        if weights[-3] != heads or weights[-2] != length:
            return False
        if key is not None and weights[-1] != key[1]:
            return False
    if lse is not None and len(lse) >= 2 and lse[-2:] != (heads, length):
        return False
    if mask is not None and len(mask) >= 2:
        if mask[-2] not in (1, length) or (key is not None and mask[-1] not in (1, key[1])):
            return False
        if len(mask) >= 3 and mask[-3] not in (1, heads):
            return False
    return True


def heads_first(array: NDArray[Any], layout: str) -> NDArray[Any]:
    """The array with heads before length: (…, length, heads, d) → (…, heads, length, d); others unchanged."""
    return np.swapaxes(array, -3, -2) if layout in ("blhd", "lhd") and array.ndim >= 3 else array
