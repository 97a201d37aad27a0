"""Products and sums whose result for one row does not depend on what is masked in it.

A BLAS product groups its terms by the shape of the whole matrix, so that dropping masked keys changes last bits.
Here products add up in order, where a masked weight of 0.0 changes nothing, and sums over keys as if without
rounding. Does not: know about masks.
"""

import itertools

import numpy as np

from .precision import Floats

_BLOCK = 1 << 15  # entries of a temporary: small enough to stay in a core's cache
_COARSE, _FINE = 1.5 * 2.0**14, 1.5 * 2.0**-25  # near them doubles are multiples of 2⁻³⁸ and 2⁻⁷⁷


def product(left: Floats, right: Floats) -> Floats:
    """left (…, n, m), right (…, m, d), equal leading axes → (…, n, d): Σ_j left_ij·right_jc, j ascending.

    Without `optimize`, einsum never calls BLAS: it adds left_ij times row j of `right` to row i of the result, which
    WebAssembly does fastest. A lone column would make it sum along j in another order, so it gets company.
    """
    columns = right.shape[-1]
    if left.shape[-2] > 2 * columns:  # few long rows are added faster than many short ones
        turned = product(np.swapaxes(right, -1, -2), np.swapaxes(left, -1, -2))
        return np.ascontiguousarray(np.swapaxes(turned, -1, -2))
    right = right if columns > 1 else np.repeat(right, 2, axis=-1)
    out = np.zeros((*left.shape[:-1], right.shape[-1]), left.dtype)  # zeros: no sum comes out as -0.0
    for at in itertools.product(*map(range, left.shape[:-2])):
        np.einsum("nm,md->nd", np.ascontiguousarray(left[at]), np.ascontiguousarray(right[at]), out=out[at])
    return out if columns > 1 else np.ascontiguousarray(out[..., :1])


def sums(terms: Floats) -> Floats:
    """terms (…, n, m), the largest of each row 1 or all of them 0 → (…, n): Σ_j, rounded only at the end.

    The multiples of 2⁻³⁸ in the terms add up without error, and so do the multiples of 2⁻⁷⁷ in what is left of
    them (Rump, Ogita and Oishi 2008, ExtractVector): key order, or any other, gives the same bits. Added up with
    rounding, 64 equal small terms after a large one are off by 30 ulps.
    """
    flat = terms.reshape(-1, terms.shape[-1])
    out, height = np.empty(len(flat), terms.dtype), 1 + _BLOCK // flat.shape[-1]
    for rows in (slice(start, start + height) for start in range(0, len(flat), height)):
        term = flat[rows].astype(np.float64, copy=False)
        coarse = (term + _COARSE) - _COARSE
        rest = ((term - coarse + _FINE) - _FINE).sum(-1)
        out[rows] = coarse.sum(-1) + np.where(np.isfinite(rest), rest, 0)
    return out.reshape(terms.shape[:-1])
