"""Products and sums whose result for one row does not depend on what is masked in it.

A BLAS product groups its terms by the shape of the whole matrix, so that dropping masked keys changes last bits.
Here a score depends on its two rows alone, and sums over keys run in key order: a masked weight is 0.0, and adding
0.0 in order changes nothing. Does not: know about masks.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .precision import Floats

KEYS = 64  # up to here always in a plain loop; above only while that is cheap
_LOOP_KEYS, _LOOP_TERMS = 1024, 1 << 20
_BLOCK = 1 << 15  # entries of a temporary: small enough to stay in a core's cache


def dot_products(q: Floats, k: Floats) -> Floats:
    """q (…, n, d), k (…, m, d), equal leading axes → (…, n, m): Σ_c q_ic·k_jc.

    Without `optimize`, einsum never calls BLAS: it forms each sum by itself, over two contiguous rows.
    """
    out = np.zeros((*q.shape[:-1], k.shape[-2]), q.dtype)  # zeros, so that no sum comes out as -0.0
    for at in np.ndindex(q.shape[:-2]):
        np.einsum("nd,md->nm", np.ascontiguousarray(q[at]), np.ascontiguousarray(k[at]), out=out[at])
    return out


def mix(weights: Floats, v: Floats) -> Floats:
    """weights (…, n, m), v (…, m, dv), equal leading axes → (…, n, dv): Σ_j w_ij·v_j, j ascending.

    Long sums go through einsum, which may fuse a product with its addition: within 1e-15 of the loop.
    """
    m = v.shape[-2]
    out = np.zeros((*weights.shape[:-1], v.shape[-1]), weights.dtype)
    if m > KEYS and (m > _LOOP_KEYS or out.size * m > _LOOP_TERMS):
        for at in np.ndindex(weights.shape[:-2]):
            np.einsum("nm,md->nd", weights[at], np.ascontiguousarray(v[at]), out=out[at])
        return out
    for rows in _blocks(out):
        part, product = out[..., rows, :], np.empty_like(out[..., rows, :])
        for j in range(m):
            part += np.multiply(weights[..., rows, j, None], v[..., None, j, :], out=product)
    return out


def sums(terms: Floats) -> Floats:
    """terms (…, n, m) → (…, n): Σ_j, j ascending, with the rounding error of every addition added at the end.

    Ogita, Rump and Oishi 2005, Sum2. Without it 64 equal small terms after a large one are off by 30 ulps.
    """
    out = np.empty(terms.shape[:-1], terms.dtype)
    for rows in _blocks(terms):
        term = terms[..., rows, :]
        running = np.add.accumulate(term, axis=-1)
        before, after = running[..., :-1], running[..., 1:]
        added = after - before
        errors = (before - (after - added)) + (term[..., 1:] - added)
        error = np.add.accumulate(errors, axis=-1)[..., -1:].sum(-1)  # the last one, or 0 when there is none
        out[..., rows] = running[..., -1] + np.where(np.isfinite(error), error, 0)
    return out


def _blocks(array: Floats) -> Iterator[slice]:
    rows = array.shape[-2]
    height = max(1, _BLOCK * rows // array.size)
    return (slice(start, start + height) for start in range(0, rows, height))
