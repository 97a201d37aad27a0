"""Every mistake of the catalogue once more, written plainly from its formula and without our package's code.

`problems(rng)` yields what someone with that mistake would paste. Does not: compare anything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attention_lab.core import Options

Array = NDArray[np.float64]
N, M, D, DV = 5, 7, 3, 2


@dataclass
class Pasted:
    """Numbers made by mistake `id`; naming any of `also` is as right, for they give the same numbers."""

    id: str
    q: Array
    k: Array
    v: Array
    observed: Array
    options: Options = field(default_factory=Options)
    keep: Any = None
    bias: Any = None
    stage: str = "auto"
    also: tuple[str, ...] = ()


MADE: dict[str, Callable[[np.random.Generator], Pasted]] = {}


def made(
    id: str,
) -> Callable[[Callable[[np.random.Generator], Pasted]], Callable[[np.random.Generator], Pasted]]:
    def keep(function: Callable[[np.random.Generator], Pasted]) -> Callable[[np.random.Generator], Pasted]:
        assert id not in MADE, id
        MADE[id] = function
        return function

    return keep


def problems(rng: np.random.Generator, ids: list[str] | None = None) -> Iterator[Pasted]:
    for id in ids or MADE:
        yield MADE[id](rng)


# --- attention, row by row -------------------------------------------------------------------------------------


def rowwise(z: Array, v: Array, weigh: Callable[[Array], Array] | None = None) -> Array:
    """Output of logits z (n, m): each row weighed by softmax over its finite logits, or by `weigh`."""
    rows = []
    for row in z:
        rows.append((weigh or soft)(row) @ v)
    return np.array(rows)


def soft(row: Array) -> Array:
    """Softmax of one row; zeros if nothing is visible."""
    if np.isnan(row).any():
        return np.full(row.shape, np.nan)
    seen = row > -np.inf
    weights = np.zeros(len(row))
    if seen.any():
        weights[seen] = np.exp(row[seen] - row[seen].max())
        weights /= weights.sum()
    return weights


def draw(
    rng: np.random.Generator, n: int = N, m: int = M, d: int = D, dv: int = DV
) -> tuple[Array, Array, Array]:
    return rng.normal(size=(n, d)), rng.normal(size=(m, d)), rng.normal(size=(m, dv))


def square(rng: np.random.Generator, n: int = 4) -> tuple[Array, Array, Array]:
    return draw(rng, n, n, n, n)


def z_of(q: Array, k: Array) -> Array:
    return np.asarray(q @ k.T / np.sqrt(q.shape[1]))


def random_keep(rng: np.random.Generator, n: int = N, m: int = M) -> NDArray[np.bool_]:
    """Each query sees at least one key and misses at least one."""
    keep = rng.random((n, m)) < 0.6
    for row in keep:
        row[rng.permutation(m)[:2]] = (True, False)
    return keep


def hide(z: Array, keep: NDArray[np.bool_]) -> Array:
    return np.where(keep, z, -np.inf)


def tri(n: int, m: int, offset: int = 0) -> NDArray[np.bool_]:
    return np.array([[j <= i + offset for j in range(m)] for i in range(n)])


# --- scale -------------------------------------------------------------------------------------------------------


def by_scale(id: str, scale: Callable[[np.random.Generator], float], *also: str) -> None:
    def make(rng: np.random.Generator) -> Pasted:
        q, k, v = draw(rng)
        return Pasted(id, q, k, v, rowwise(q @ k.T * scale(rng), v), also=also)

    made(id)(make)


by_scale("S1", lambda rng: 1.0)
by_scale("S2", lambda rng: 1 / D, "S4")
by_scale("S3", lambda rng: D**0.5)
by_scale("S4", lambda rng: 1 / D, "S2")
by_scale("S5", lambda rng: (rng.choice([2, 4, 8]) * D) ** -0.5)
by_scale("S6", lambda rng: rng.choice([N, M]) ** -0.5)
by_scale("S7", lambda rng: DV**-0.5)
by_scale("S8", lambda rng: D**-0.25)
by_scale("S9", lambda rng: rng.choice([0.125, 0.5, 128**-0.5]))
by_scale("S12", lambda rng: np.log(2) / D**0.5)


@made("S10")
def s10(rng: np.random.Generator) -> Pasted:
    q, k, v = draw(rng)
    return Pasted("S10", q, k, v, rowwise(q @ k.T, v) / D**0.5)


@made("S13")
def s13(rng: np.random.Generator) -> Pasted:
    q, k, v = draw(rng)
    bias = rng.normal(size=(N, M))
    return Pasted("S13", q, k, v, rowwise((q @ k.T + bias) / D**0.5, v), bias=bias)


# --- softmax -----------------------------------------------------------------------------------------------------


def by_weights(id: str, weights: Callable[[Array], Array], *also: str) -> None:
    def make(rng: np.random.Generator) -> Pasted:
        q, k, v = draw(rng)
        return Pasted(id, q, k, v, weights(z_of(q, k)) @ v, also=also)

    made(id)(make)


def rows(function: Callable[[Array], Array]) -> Callable[[Array], Array]:
    return lambda z: np.array([function(row) for row in z])


by_weights("X1", lambda z: np.array([soft(column) for column in z.T]).T)
by_weights("X2", lambda z: np.exp(z) / np.exp(z).sum())
by_weights("X3", lambda z: np.ones(z.shape))
by_weights("X4", lambda z: z)
by_weights("X5", rows(lambda row: row / row.sum()))
by_weights("X6", rows(lambda row: np.log(soft(row))))
by_weights("X7", rows(lambda row: soft(soft(row))))
by_weights("X9", np.exp)
by_weights("X10", rows(lambda row: np.exp(row) / (1 + np.exp(row).sum())), "M23")
by_weights("X11", rows(lambda row: np.exp(row - row.max()) / (1 + np.exp(row - row.max()).sum())))
by_weights("X13", lambda z: 1 / (1 + np.exp(-z)))
by_weights("X14", rows(lambda row: (row == row.max()).astype(float)))
by_weights("X15", lambda z: np.full(z.shape, 1 / M))


@made("X8")
def x8(rng: np.random.Generator) -> Pasted:
    q, k, v = draw(rng)
    limit = rng.choice([11.09, 88.73])
    q *= limit / z_of(q, k).max(-1)[0] * 1.3  # the first row overflows, others may
    z = z_of(q, k)
    output = rowwise(z, v)
    output[z.max(-1) > limit] = np.nan
    return Pasted("X8", q, k, v, output)


@made("X12")
def x12(rng: np.random.Generator) -> Pasted:
    q, k, v = draw(rng)
    q *= (np.geomspace(1, 4000, N))[:, None]
    z = z_of(q, k)
    e = np.exp(z - z.max())
    with np.errstate(invalid="ignore"):
        return Pasted("X12", q, k, v, (e / e.sum(-1, keepdims=True)) @ v, also=("X8",))


# --- masks -------------------------------------------------------------------------------------------------------


def by_keep(id: str, output: Callable[[Array, NDArray[np.bool_], Array], Array], *also: str) -> None:
    def make(rng: np.random.Generator) -> Pasted:
        q, k, v = draw(rng)
        keep = random_keep(rng)
        return Pasted(id, q, k, v, output(z_of(q, k), keep, v), keep=keep, also=also)

    made(id)(make)


by_keep("M1", lambda z, keep, v: rowwise(z, v))
by_keep("M2", lambda z, keep, v: rowwise(hide(z, ~keep), v), "M19")
by_keep("M3", lambda z, keep, v: np.array([soft(row) * seen @ v for row, seen in zip(z, keep, strict=True)]))
by_keep("M5", lambda z, keep, v: rowwise(z * keep, v), "M6")
by_keep("M6", lambda z, keep, v: rowwise(np.where(keep, z, 1e-9), v), "M5")
by_keep("M7", lambda z, keep, v: rowwise(np.where(keep, z, -10.0), v))
by_keep("M8", lambda z, keep, v: rowwise(z + keep, v))
by_keep("M9", lambda z, keep, v: np.full((N, DV), np.nan))
by_keep("M19", lambda z, keep, v: rowwise(z + 1e9 * ~keep, v), "M2")


@made("M10")
def m10(rng: np.random.Generator) -> Pasted:
    q, k, v = draw(rng, 6, 6)
    valid = int(rng.integers(3, 6))
    z = z_of(q, k)
    z[valid:] = rng.choice([-np.inf, 0.0])  # a finite fill makes padded rows uniform
    return Pasted("M10", q, k, v, rowwise(z, v), Options(lengths=(valid,)), also=("M11",))


@made("M11")
def m11(rng: np.random.Generator) -> Pasted:
    q, k, v = draw(rng, 6, 6)
    keep = random_keep(rng, 6, 6)
    return Pasted("M11", q, k, v, rowwise(hide(z_of(q, k), keep.T), v), keep=keep)


def by_causal(
    id: str,
    keep: Callable[[int, int], NDArray[np.bool_]],
    *also: str,
    n: int = 6,
    m: int = 6,
    causal: Any = "top-left",
) -> None:
    def make(rng: np.random.Generator) -> Pasted:
        q, k, v = draw(rng, n, m)
        return Pasted(
            id, q, k, v, rowwise(hide(z_of(q, k), keep(n, m)), v), Options(causal=causal), also=also
        )

    made(id)(make)


by_causal("M12", lambda n, m: tri(n, m, -1))
by_causal("M13", lambda n, m: tri(n, m, 1))
by_causal("M14", lambda n, m: tri(n, m, m - n), n=N, m=M)
by_causal("M15", lambda n, m: ~tri(n, m, -1), "M11")
by_causal("M16", lambda n, m: tri(n, m, m), "M1")


@made("M17")
def m17(rng: np.random.Generator) -> Pasted:
    q, k, v = draw(rng, 7, 7)
    keep = np.array([[0 <= i - j < 3 for j in range(7)] for i in range(7)])
    return Pasted(
        "M17", q, k, v, rowwise(hide(z_of(q, k), keep), v), Options(causal="top-left", window=(3, 0))
    )


@made("M20")
def m20(rng: np.random.Generator) -> Pasted:
    batches, heads, n = 3, 2, 5
    q, k, v = (rng.normal(size=(batches, heads, n, 3)) for _ in range(3))
    lengths = (2, 3, 5)
    flat_masks = [
        np.arange(n) < lengths[b] for _ in range(heads) for b in range(batches)
    ]  # tiled: sample by sample, head after head
    out = [
        rowwise(hide(z_of(q[b, h], k[b, h]), np.broadcast_to(flat_masks[b * heads + h], (n, n))), v[b, h])
        for b in range(batches)
        for h in range(heads)
    ]
    return Pasted("M20", q, k, v, np.array(out).reshape(batches, heads, n, 3), Options(lengths=lengths))


@made("M21")
def m21(rng: np.random.Generator) -> Pasted:
    q, k, v = draw(rng)
    keep = random_keep(rng)
    keep[2] = False
    output = rowwise(hide(z_of(q, k), keep), v)
    output[2] = np.nan if rng.random() < 0.5 else v.mean(0)
    return Pasted("M21", q, k, v, output, keep=keep, also=("M7",))


@made("M23")
def m23(rng: np.random.Generator) -> Pasted:
    q, k, v = draw(rng)
    p = int(rng.integers(1, 10))
    z = z_of(q, np.vstack([k, np.zeros((p, D))]))
    return Pasted("M23", q, k, v, rowwise(z, np.vstack([v, np.zeros((p, DV))])), also=("X10",))


@made("M24")
def m24(rng: np.random.Generator) -> Pasted:
    q, k, v = draw(rng)
    v[-1] = np.nan
    valid = np.broadcast_to(np.arange(M) < M - 1, (N, M))
    weights = np.array([soft(row) for row in hide(z_of(q, k), valid)])
    return Pasted("M24", q, k, v, weights @ v, keep=valid, also=("M9",))


# --- products ----------------------------------------------------------------------------------------------------


def by_square(id: str, output: Callable[[Array, Array, Array], Array], *also: str) -> None:
    def make(rng: np.random.Generator) -> Pasted:
        q, k, v = square(rng)
        return Pasted(id, q, k, v, output(q, k, v), also=also)

    made(id)(make)


def cosine(q: Array, k: Array) -> Array:
    return np.array([[a @ b / np.sqrt(a @ a) / np.sqrt(b @ b) for b in k] for a in q])


def per_channel(q: Array, k: Array, v: Array) -> Array:
    out = np.zeros((len(q), v.shape[1]))
    for i in range(len(q)):
        for c in range(v.shape[1]):
            out[i, c] = soft(q[i, c] * k[:, c] / np.sqrt(q.shape[1])) @ v[:, c]
    return out


by_square("L1", lambda q, k, v: rowwise(z_of(k, q), v))
by_square("L2", lambda q, k, v: np.array([soft(row) for row in z_of(q, k)]).T @ v)
by_square("L3", lambda q, k, v: rowwise(z_of(q, v), k))
by_square("L4", lambda q, k, v: rowwise(z_of(q, k), k))
by_square("L5", lambda q, k, v: rowwise(q @ k / np.sqrt(q.shape[1]), v))
by_square("L6", lambda q, k, v: v @ np.array([soft(row) for row in q.T @ k / np.sqrt(q.shape[1])]).T)
by_square("L7", lambda q, k, v: rowwise(z_of(q, q), v))
by_square("L8", lambda q, k, v: rowwise(z_of(q, k), np.vstack([v[-1:], v[:-1]])))
by_square("L9", per_channel)
by_square("L10", lambda q, k, v: rowwise(cosine(q, k), v))


# --- heads -------------------------------------------------------------------------------------------------------

B, T, H, HD = 2, 4, 4, 3


def wide(rng: np.random.Generator, heads: int = H) -> Array:
    return rng.normal(size=(B, T, heads * HD))


def head(x: Array, b: int, h: int) -> Array:
    return x[b][:, h * HD : (h + 1) * HD]


def by_heads(id: str, output: Callable[[Array, Array, Array], Array], *also: str, kv: int = H) -> None:
    def make(rng: np.random.Generator) -> Pasted:
        q, k, v = wide(rng), wide(rng, kv), wide(rng, kv)
        return Pasted(id, q, k, v, output(q, k, v), Options(heads=(H, kv)), also=also)

    made(id)(make)


def merged(parts: list[list[Array]]) -> Array:
    return np.array([np.hstack(heads) for heads in parts])


def h1(q: Array, k: Array, v: Array) -> Array:
    a, b, c = (x.reshape(B, H, T, HD) for x in (q, k, v))
    return merged([[rowwise(z_of(a[i, h], b[i, h]), c[i, h]) for h in range(H)] for i in range(B)])


def h2(q: Array, k: Array, v: Array) -> Array:
    out = np.array(
        [[rowwise(z_of(head(q, i, h), head(k, i, h)), head(v, i, h)) for h in range(H)] for i in range(B)]
    )
    return out.reshape(B, T, H * HD)


def h3(q: Array, k: Array, v: Array) -> Array:
    return merged(
        [
            [rowwise(z_of(head(q, i, h), head(k, i, h % 2)), head(v, i, h % 2)) for h in range(H)]
            for i in range(B)
        ]
    )


def h5(q: Array, k: Array, v: Array) -> Array:
    return np.array([rowwise(z_of(q[i], k[i]), v[i]) for i in range(B)])


def h6(q: Array, k: Array, v: Array) -> Array:
    out = np.zeros((B, T, H * HD))
    for i in range(B):
        for t in range(T):
            a, b, c = (x[i, t].reshape(H, HD) for x in (q, k, v))
            out[i, t] = rowwise(z_of(a, b), c).reshape(-1)
    return out


def h7(q: Array, k: Array, v: Array) -> Array:
    out = np.zeros((B, T, H * HD))
    for t in range(T):
        for h in range(H):
            part = slice(h * HD, (h + 1) * HD)
            out[:, t, part] = rowwise(z_of(q[:, t, part], k[:, t, part]), v[:, t, part])
    return out


def h8(q: Array, k: Array, v: Array) -> Array:
    return merged(
        [[rowwise(z_of(head(q, i, 0), head(k, i, 0)), head(v, i, 0)) for _ in range(H)] for i in range(B)]
    )


by_heads("H1", h1)
by_heads("H2", h2)
by_heads("H3", h3, kv=2)
by_heads("H5", h5)
by_heads("H6", h6)
by_heads("H7", h7)
by_heads("H8", h8)


@made("H4")
def h4(rng: np.random.Generator) -> Pasted:
    q, k, v = wide(rng), wide(rng), wide(rng)
    weights = np.array(
        [
            sum(np.array([soft(row) for row in z_of(head(q, i, h), head(k, i, h))]) for h in range(H)) / H
            for i in range(B)
        ]
    )
    return Pasted("H4", q, k, v, weights, Options(heads=(H, H)))


@made("H10")
def h10(rng: np.random.Generator) -> Pasted:
    x = rng.normal(size=(9, 3))
    w = rng.normal(size=(3, 3))
    q, k, _ = draw(rng, 9, 9)
    return Pasted("H10", q, k, x @ w, rowwise(z_of(q, k), x @ w.T))


# --- softcap, bias -----------------------------------------------------------------------------------------------


def by_cap(id: str, logits: Callable[[Array, NDArray[np.bool_]], Array], *also: str) -> None:
    def make(rng: np.random.Generator) -> Pasted:
        q, k, v = draw(rng)
        keep = random_keep(rng)
        return Pasted(
            id, q, k, v, rowwise(logits(z_of(q, k), keep), v), Options(softcap=2.0), keep=keep, also=also
        )

    made(id)(make)


by_cap("C1", hide)
by_cap("C2", lambda z, keep: 2 * np.tanh(hide(z, keep) / 2))
by_cap("C3", lambda z, keep: hide(2 * np.tanh(z * D**0.5 / 2) / D**0.5, keep))
by_cap("C4", lambda z, keep: hide(np.tanh(z / 2), keep))


@made("C5")
def c5(rng: np.random.Generator) -> Pasted:
    q, k, v = draw(rng)
    q[1] *= 400 / np.abs(z_of(q, k)[1]).max()
    z = z_of(q, k)
    capped = 2 * np.tanh(z / 2)
    capped[np.abs(z / 2) > 88.73] = np.nan
    return Pasted("C5", q, k, v, rowwise(capped, v), Options(softcap=2.0), also=("X8",))


def alibi(slope: float, n: int = 6) -> Array:
    return np.array([[-slope * abs(i - j) for j in range(n)] for i in range(n)])


@made("A1")
def a1(rng: np.random.Generator) -> Pasted:
    q, k, v = draw(rng, 6, 6)
    return Pasted("A1", q, k, v, rowwise(z_of(q, k) - alibi(0.25), v), bias=alibi(0.25))


@made("A2")
def a2(rng: np.random.Generator) -> Pasted:
    q, k, v = draw(rng, 6, 6)
    heads, h = 8, int(rng.integers(0, 4))
    right, wrong = 2.0 ** (-8 * (h + 1) / heads), 2.0 ** (-8 * h / heads)
    return Pasted("A2", q, k, v, rowwise(z_of(q, k) + alibi(wrong), v), bias=alibi(right))


# --- dropout, blocks, precision ------------------------------------------------------------------------------------


@made("D1")
def d1(rng: np.random.Generator) -> Pasted:
    q, k, v = draw(rng)
    p = rng.choice([0.1, 0.2, 0.5])
    weights = np.array([soft(row) for row in z_of(q, k)])
    return Pasted("D1", q, k, v, weights * (rng.random(weights.shape) >= p) / (1 - p) @ v)


@made("D2")
def d2(rng: np.random.Generator) -> Pasted:
    q, k, v = draw(rng)
    p = rng.choice([0.1, 0.2, 0.5])
    weights = np.array([soft(row) for row in z_of(q, k)])
    factor = rng.random(weights.shape) >= p if rng.random() < 0.5 else 1 - p
    return Pasted("D2", q, k, v, weights * factor @ v)


@made("K1")
def k1(rng: np.random.Generator) -> Pasted:
    q, k, v = draw(rng, 3, 7)
    return Pasted(
        "K1", q, k, v, rowwise(hide(z_of(q, k[-3:]), tri(3, 3)), v[-3:]), Options(causal="bottom-right")
    )


def blocked(id: str, old_output: float, old_sum: float) -> None:
    """An online softmax in which the factor e^(m_old − m_new) is raised to these powers (1 is right)."""

    def make(rng: np.random.Generator) -> Pasted:
        q, k, v = draw(rng)
        size = int(rng.integers(1, 5))
        out = []
        for row in z_of(q, k):
            top, total, sums = -np.inf, 0.0, np.zeros(DV)
            for start in range(0, M, size):
                part = row[start : start + size]
                new = max(top, part.max())
                factor = np.exp(top - new) if np.isfinite(top) else 1.0
                p = np.exp(part - new)
                sums = sums * factor**old_output + p @ v[start : start + size]
                total = total * factor**old_sum + p.sum()
                top = new
            out.append(sums / total)
        return Pasted(id, q, k, v, np.array(out))

    made(id)(make)


blocked("K2", 0, 1)
blocked("K3", -1, 1)
blocked("K4", 1, 0)


@made("K5")
def k5(rng: np.random.Generator) -> Pasted:
    q, k, v = draw(rng)
    size = int(rng.integers(2, 5))
    z = z_of(q, k)
    return Pasted(
        "K5", q, k, v, np.mean([rowwise(z[:, s : s + size], v[s : s + size]) for s in range(0, M, size)], 0)
    )


@made("K6")
def k6(rng: np.random.Generator) -> Pasted:
    q, k, v = draw(rng)
    left = M - M % int(rng.choice([2, 3, 4, 5]))
    return Pasted("K6", q, k, v, rowwise(z_of(q, k[:left]), v[:left]), also=("K1",))


@made("P1")
def p1(rng: np.random.Generator) -> Pasted:
    q, k, v = draw(rng)
    low = [x.astype(np.float16).astype(float) for x in (q, k, v)]
    weights = np.array([soft(row) for row in z_of(*low[:2])])
    if rng.random() < 0.5:
        weights = weights.astype(np.float16).astype(float)
    return Pasted("P1", q, k, v, weights @ low[2])


@made("P2")
def p2(rng: np.random.Generator) -> Pasted:
    q, k, v = draw(rng, d=64)
    q[0] *= 70000 / np.abs(q[0] @ k.T).max() * 1.5
    scores = q @ k.T
    z = np.where(np.abs(scores) > 65519, np.copysign(np.inf, scores), scores) / 8
    with np.errstate(invalid="ignore"):
        out = np.array([(np.exp(row - row.max()) / np.exp(row - row.max()).sum()) @ v for row in z])
    return Pasted("P2", q, k, v, out, also=("X8",))
