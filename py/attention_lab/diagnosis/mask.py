"""Mask mistakes: the wrong cells are hidden, or the right ones in the wrong way.

Does not: fit an unknown fill value; fit.py does.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from . import conventions
from .entry import Family
from .flow import Label, State, Step, Variant, empty_fill, single
from .setting import Array, Bools, Setting, meet
from .softmax import with_sink

FAMILY = Family("mask")

NUMPY = "z = np.where(keep, z, -np.inf)  # before the softmax"
TORCH = "F.scaled_dot_product_attention(q, k, v, attn_mask=keep)  # True = may attend"
NUMPY_CAUSAL = "keep = np.tril(np.ones((n, m), bool), k=m - n)  # k=0 for top-left"
TORCH_CAUSAL = "keep = torch.ones(n, m, dtype=torch.bool).tril(diagonal=m - n)  # diagonal=0 for top-left"
ADDED = ("keep", "lengths", "bias")  # masks that the caller brings, as against causal and window
FILLS = (-1.0, -2.0, -5.0, -10.0, -20.0, -50.0, -100.0, -1e3, -1e4, -1e5, -1e9)
MASKS_OUT = conventions.names("true_means", "mask out")
POLICY = {
    "zero": "a fully masked row gives zeros",
    "nan": "a fully masked row gives NaN",
    "uniform": "a fully masked row attends to all keys alike",
}


def set_mask(setting: Setting, state: State, keep: Bools, fill: Array) -> None:
    state["masked"] = np.where(keep, state["biased"], fill)


def add_to_logits(setting: Setting, state: State, addend: Array) -> None:
    state["masked"] = state["biased"] + addend


def masked_by(
    setting: Setting,
    id: str,
    keep: Bools | None,
    detail: str = "",
    rank: float = 0.0,
    frameworks: tuple[str, ...] = (),
) -> Iterator[Variant]:
    """The variant with this mask, unless it is the right one; once for each treatment of fully masked rows."""
    right = setting.keep
    if keep is None:
        keep = np.ones((1, 1, setting.n, setting.m), bool)
    if keep.all() if right is None else (keep == right).all():
        return
    own = setting.options.empty_row
    empty = not keep.any(-1).all()
    for policy in (own, *(name for name in POLICY if name != own)) if empty else (own,):
        told = ", ".join(filter(None, (detail, POLICY[policy] if policy != own else "")))
        label = Label(id, told, rank + (0.0 if policy == own else 0.3), frameworks)
        yield single("masked", set_mask, label, keep, empty_fill(keep, policy))
    if empty:
        told = ", ".join(filter(None, (detail, "a fully masked row is left unmasked")))
        yield single(
            "masked",
            set_mask,
            Label(id, told, rank + 0.4, frameworks),
            keep | ~keep.any(-1, keepdims=True),
            -np.inf,
        )


def causal_mask(setting: Setting, offset: int) -> Bools:
    """(n, m): key j is visible to query i if j ≤ i + offset."""
    return np.arange(setting.m) <= np.arange(setting.n)[:, None] + offset


def window_mask(setting: Setting, left: int | None, right: int | None, offset: int) -> Bools:
    keys, centre = np.arange(setting.m), np.arange(setting.n)[:, None] + offset
    keep = np.ones((setting.n, setting.m), bool)
    if left is not None:
        keep &= keys >= centre - left
    if right is not None:
        keep &= keys <= centre + right
    return keep


def with_causal(setting: Setting, causal: Bools, window: Bools | None = None) -> Bools | None:
    """All masks, with another causal mask (and another window, if given)."""
    gone = ("causal",) if window is None else ("causal", "window")
    return meet(setting.without(*gone), causal[None, None], None if window is None else window[None, None])


@FAMILY.mistake(
    "M1",
    name="mask ignored",
    says="the mask is not applied",
    formula="softmax(Z) V",
    fingerprint="masked keys have weight",
    needs="a mask that hides something",
    same_as="M16 when the mask is the causal one",
    numpy=NUMPY,
    torch=TORCH,
)
def ignored(setting: Setting) -> Iterator[Variant]:
    if not setting.parts:
        return
    yield from masked_by(setting, "M1", None, rank=0.05 if set(setting.parts) == {"causal"} else 0.0)
    if len(setting.parts) > 1:
        names = {
            "keep": "the keep mask",
            "lengths": "the padding",
            "bias": "the −∞ of the bias",
            "window": "the window",
        }
        for name in setting.parts:
            if name in names:
                yield from masked_by(
                    setting, "M1", setting.without(name), f"only {names[name]} is missing", 0.1
                )
    if "causal" in setting.parts:
        # Some libraries ignore every other mask once the causal one is on.
        yield from masked_by(
            setting,
            "M1",
            setting.without("keep", "bias"),
            "only the causal mask is applied",
            0.05,
            conventions.names("causal_drops_mask", True),
        )


@FAMILY.mistake(
    "M2",
    name="mask polarity inverted",
    says="the mask is inverted: it hides what it should keep",
    formula="softmax(Z where not keep, else −∞) V",
    fingerprint="zeros exactly on the cells that should be kept",
    needs="a mask",
    same_as="M19 (sign of the mask wrong)",
    numpy=NUMPY + "; keep = True means may attend",
    torch=TORCH,
    frameworks=MASKS_OUT,
    links=("rasbt/LLMs-from-scratch#1061", "InseeFrLab/torchTextClassifiers!92"),
)
def inverted(setting: Setting) -> Iterator[Variant]:
    if setting.keep is None:
        return
    yield from masked_by(setting, "M2", ~setting.keep, frameworks=MASKS_OUT)
    if len(setting.parts) > 1:
        for name, part in setting.parts.items():
            yield from masked_by(
                setting, "M2", meet(setting.without(name), ~part), f"only the {name} mask", 0.1, MASKS_OUT
            )


def open_mask(setting: Setting, state: State) -> None:
    state["masked"] = state["biased"]


def late_mask(keep: Bools) -> Step:
    def multiply(setting: Setting, state: State) -> None:
        state["weights"] = state["weights"] * keep

    return multiply


@FAMILY.mistake(
    "M3",
    name="mask after the softmax",
    says="the mask is applied after the softmax, and rows are not normalised again",
    formula="(softmax(Z) · keep) V",
    fingerprint="each row sums to the weight that the kept keys had",
    needs="a mask",
    same_as="values of masked keys set to zero",
    numpy=NUMPY,
    torch=TORCH,
    links=("huggingface/pytorch-image-models!2236",),
)
def late(setting: Setting) -> Iterator[Variant]:
    if setting.keep is None:
        return
    yield Variant((("masked", open_mask), ("after", late_mask(setting.keep))), (Label("M3"),))
    brought = meet(*(setting.parts.get(name) for name in ADDED))
    rest = setting.without(*ADDED)
    if brought is not None and rest is not None:

        def others(setting: Setting, state: State) -> None:
            state["masked"] = np.where(rest, state["biased"], -np.inf)

        yield Variant(
            (("masked", others), ("after", late_mask(brought))),
            (Label("M3", "only the padding or keep mask", 0.1),),
        )


FAMILY.add(
    "M4",
    name="mask after the softmax, then normalised",
    says="the mask is applied after the softmax and rows are normalised again",
    formula="W · keep / Σ (W · keep) = the masked softmax",
    fingerprint="none: the numbers are right",
    needs="scores so large that masked keys take all the weight",
    same_as="the correct result",
    numpy=NUMPY,
    torch=TORCH,
    links=("abisee/pointer-generator#88",),
    note="It gives the correct numbers, so no comparison can find it.",
)


@FAMILY.mistake(
    "M5",
    name="masked scores set to 0",
    says="masked scores are set to 0 instead of −∞",
    formula="softmax(Z where keep, else 0) V",
    fingerprint="the recovered logit of masked cells is 0",
    needs="a mask",
    same_as="M6 within 1e-9",
    numpy=NUMPY,
    torch=TORCH,
    links=("georg-wolflein/good-features!1",),
)
def zero_fill(setting: Setting) -> Iterator[Variant]:
    if setting.keep is not None:
        yield single("masked", set_mask, Label("M5"), setting.keep, 0.0)
        if len(setting.parts) > 1:
            for name, part in setting.parts.items():
                rest = setting.without(name)
                fill = 0.0 if rest is None else np.where(rest, 0.0, -np.inf)
                yield single(
                    "masked", set_mask, Label("M5", f"only the {name} mask", 0.2), meet(rest, part), fill
                )


@FAMILY.mistake(
    "M6",
    name="fill of ±1e−9 for −1e9",
    says="masked scores are filled with 1e−9 where −1e9 was meant",
    formula="softmax(Z where keep, else ±1e−9) V",
    fingerprint="the recovered logit of masked cells is about 1e−9",
    needs="a mask",
    same_as="M5 unless nine digits are shown",
    numpy=NUMPY,
    torch=TORCH,
    links=("awslabs/gluonts!1401", "Shujun-He/RibonanzaNet#5", "NTMC-Community/MatchZoo-py#163"),
)
def tiny_fill(setting: Setting) -> Iterator[Variant]:
    if setting.keep is not None:
        for fill in (1e-9, -1e-9):
            yield single("masked", set_mask, Label("M6", f"fill {fill:g}", 0.02), setting.keep, fill)


@FAMILY.mistake(
    "M7",
    name="finite fill too small",
    says="masked scores get a finite number that is not small enough",
    formula="softmax(Z where keep, else F) V with F = −10, −100, −1e4, …",
    fingerprint="all masked logits are one finite number",
    needs="scores near F, or fully masked rows",
    same_as="correct when |F| is far above |Z|",
    numpy=NUMPY,
    torch=TORCH,
    links=(
        "TransformerLensOrg/TransformerLens!319",
        "TransformerLensOrg/TransformerLens!366",
        "huggingface/transformers#14859",
    ),
)
def finite_fill(setting: Setting) -> Iterator[Variant]:
    if setting.keep is None:
        return
    for place, fill in enumerate(FILLS):
        rank = (0.15 if fill in (-10.0, -100.0) else 0.3) + 0.02 * place + (0.5 if fill <= -1e3 else 0)
        yield single("masked", set_mask, Label("M7", f"filled with {fill:g}", rank), setting.keep, fill)
        if fill <= -5:  # −1 added where masked is 1 added where kept: M8
            yield single(
                "masked",
                add_to_logits,
                Label("M7", f"{fill:g} added", rank + 0.05),
                np.where(setting.keep, 0.0, fill),
            )


@FAMILY.mistake(
    "M8",
    name="boolean mask added to the scores",
    says="the boolean mask is added to the scores as 0 and 1",
    formula="softmax(Z + keep) V, or softmax(Z + not keep) V",
    fingerprint="logits are off by 0 or 1",
    needs="a mask",
    numpy="z = z + np.where(keep, 0.0, -np.inf)",
    torch="z = z.masked_fill(~keep, float('-inf'))",
    links=("huggingface/diffusers#14342", "huggingface/transformers!41443", "timeseriesAI/tsai#171"),
)
def added(setting: Setting) -> Iterator[Variant]:
    if setting.keep is None:
        return
    yield single("masked", add_to_logits, Label("M8", "1 added where kept"), setting.keep.astype(float))
    yield single(
        "masked", add_to_logits, Label("M8", "1 added where masked", 0.02), (~setting.keep).astype(float)
    )
    brought = meet(*(setting.parts.get(name) for name in ADDED))
    rest = setting.without(*ADDED)
    if brought is not None and rest is not None:
        for sign, detail in ((brought, "1 added where kept"), (~brought, "1 added where masked")):
            yield single(
                "masked",
                add_to_logits,
                Label("M8", f"{detail}, other masks right", 0.1),
                np.where(rest, sign.astype(float), -np.inf),
            )


@FAMILY.mistake(
    "M9",
    name="(1 − keep) · −∞",
    says="the mask is made as (1 − keep) · −∞, and 0 · ∞ is NaN",
    formula="Z + (1 − keep) · (−∞)",
    fingerprint="NaN wherever a key may be attended",
    needs="a kept cell",
    numpy=NUMPY,
    torch=TORCH,
    links=("onnx/onnx!8068",),
)
def zero_times_infinity(setting: Setting) -> Iterator[Variant]:
    if setting.keep is not None:
        addend = np.where(setting.keep, np.nan, -np.inf)
        yield single("masked", add_to_logits, Label("M9"), addend, pairs=False)
        if not setting.keep.any(-1).all():
            addend = np.where(setting.keep.any(-1, keepdims=True), addend, np.nan)
            yield single("masked", add_to_logits, Label("M9", POLICY["nan"], 0.1), addend, pairs=False)


@FAMILY.mistake(
    "M10",
    name="padding mask on the queries",
    says="the padding mask hides query rows instead of key columns",
    formula="keep = padᵢ instead of padⱼ",
    fingerprint="padded columns have weight; padded rows are uniform, zero or NaN",
    needs="n = m and padding",
    numpy="keep = pad[:, None, :]  # (batch, 1, keys)",
    torch="keep = pad[:, None, None, :]",
    links=("hyunwoongko/transformer!40", "bentrevett/pytorch-seq2seq#96", "lucidrains/x-transformers#172"),
)
def on_queries(setting: Setting) -> Iterator[Variant]:
    if setting.n != setting.m:
        return
    for name in ("lengths", "keep"):
        part = setting.parts.get(name)
        if part is not None and (part == part[..., :1, :]).all():
            yield from masked_by(
                setting, "M10", meet(setting.without(name), np.swapaxes(part, -1, -2)), rank=0.02
            )


@FAMILY.mistake(
    "M11",
    name="mask transposed",
    says="the mask is transposed",
    formula="softmax(Z where keepᵀ, else −∞) V",
    fingerprint="the visible cells are keepᵀ",
    needs="n = m and a mask that is not symmetric",
    same_as="M15 when the mask is square and causal",
    numpy=NUMPY + "; keep has shape (n, m)",
    torch=TORCH,
)
def mask_transposed(setting: Setting) -> Iterator[Variant]:
    if setting.n != setting.m or setting.keep is None:
        return
    yield from masked_by(setting, "M11", np.swapaxes(setting.keep, -1, -2), rank=0.03)
    if len(setting.parts) > 1:
        for name, part in setting.parts.items():
            yield from masked_by(
                setting,
                "M11",
                meet(setting.without(name), np.swapaxes(part, -1, -2)),
                f"only the {name} mask",
                0.1,
            )


@FAMILY.mistake(
    "M12",
    name="strictly causal",
    says="the causal mask also hides each query's own key",
    formula="keep: j < i",
    fingerprint="the diagonal is 0; the first row is empty",
    needs="a causal mask",
    numpy=NUMPY_CAUSAL,
    torch=TORCH_CAUSAL,
    links=("pbloem/former#10", "RVC-Boss/GPT-SoVITS#965"),
)
def strict(setting: Setting) -> Iterator[Variant]:
    if "causal" in setting.parts:
        yield from masked_by(setting, "M12", with_causal(setting, causal_mask(setting, setting.offset - 1)))


@FAMILY.mistake(
    "M13",
    name="causal, one key ahead",
    says="the causal mask lets each query see one key ahead",
    formula="keep: j ≤ i + 1",
    fingerprint="weight on the first superdiagonal",
    needs="a causal mask",
    same_as="M1 when n = m = 2; M14 when m − n = 1",
    numpy=NUMPY_CAUSAL,
    torch=TORCH_CAUSAL,
)
def ahead(setting: Setting) -> Iterator[Variant]:
    if "causal" in setting.parts:
        yield from masked_by(
            setting, "M13", with_causal(setting, causal_mask(setting, setting.offset + 1)), rank=0.02
        )


@FAMILY.mistake(
    "M14",
    name="causal alignment for n ≠ m",
    says="the causal mask is aligned at the other corner",
    convention=True,
    formula="keep: j ≤ i (top-left) or j ≤ i + m − n (bottom-right)",
    fingerprint="the band is shifted by m − n",
    needs="n ≠ m",
    same_as="M13 when m − n = 1",
    numpy=NUMPY_CAUSAL,
    torch=TORCH_CAUSAL + "; is_causal=True is top-left",
    links=("pytorch/pytorch#108108", "pytorch/pytorch#103082", "Dao-AILab/flash-attention#282"),
)
def alignment(setting: Setting) -> Iterator[Variant]:
    if "causal" not in setting.parts or setting.n == setting.m:
        return
    for offset, detail in ((0, "top-left"), (setting.m - setting.n, "bottom-right")):
        if offset == setting.offset:
            continue
        causal, frameworks = causal_mask(setting, offset), conventions.aligned(detail)
        yield from masked_by(setting, "M14", with_causal(setting, causal), detail, frameworks=frameworks)
        if setting.options.window is not None:
            window = window_mask(setting, *setting.options.window, offset)
            yield from masked_by(
                setting,
                "M14",
                with_causal(setting, causal, window),
                f"{detail}, with the window",
                0.02,
                frameworks,
            )


@FAMILY.mistake(
    "M15",
    name="causal mask flipped",
    says="the causal mask hides the past instead of the future",
    formula="keep: j ≥ i",
    fingerprint="the visible cells are the upper triangle",
    needs="a causal mask",
    same_as="M11 when n = m",
    numpy=NUMPY_CAUSAL + "; tril, not triu",
    torch=TORCH_CAUSAL + "; tril, not triu",
)
def flipped(setting: Setting) -> Iterator[Variant]:
    if "causal" in setting.parts:
        yield from masked_by(
            setting, "M15", with_causal(setting, ~causal_mask(setting, setting.offset - 1)), rank=0.01
        )


@FAMILY.mistake(
    "M16",
    name="causal mask not applied",
    says="the causal mask is not applied",
    formula="softmax(Z) V",
    fingerprint="weight above the diagonal",
    needs="a causal mask",
    same_as="M1 when there is no other mask",
    numpy=NUMPY_CAUSAL,
    torch="F.scaled_dot_product_attention(q, k, v, is_causal=True)",
    links=("paiml/entrenar#310",),
)
def not_causal(setting: Setting) -> Iterator[Variant]:
    if "causal" in setting.parts:
        yield from masked_by(setting, "M16", setting.without("causal"))


@FAMILY.mistake(
    "M17",
    name="window off by one",
    says="the sliding window is one key wider or narrower",
    convention=True,
    formula="keep: i − j < W or i − j ≤ W",
    fingerprint="the band is one cell wider or narrower",
    needs="a window narrower than m",
    numpy="keep &= i - j <= left  # left + 1 keys, the own one included",
    torch="keep &= (i - j) <= left",
    links=(
        "huggingface/transformers#39408",
        "huggingface/transformers#29623",
        "huggingface/transformers!40163",
    ),
)
def window_edge(setting: Setting) -> Iterator[Variant]:
    if setting.options.window is None:
        return
    left, right = setting.options.window
    for by_left, by_right, rank in (
        (-1, 0, 0.0),
        (1, 0, 0.0),
        (0, -1, 0.1),
        (0, 1, 0.1),
        (1, 1, 0.1),
        (-1, -1, 0.1),
    ):
        sides = (None if left is None else left + by_left, None if right is None else right + by_right)
        if sides == (left, right) or min(side if side is not None else 0 for side in sides) < 0:
            continue
        told = f"window ({', '.join('open' if side is None else str(side) for side in sides)})"
        frameworks = conventions.WINDOW_COUNT if by_left < 0 else conventions.WINDOW_INCLUSIVE
        keep = window_mask(setting, *sides, setting.offset)[None, None]
        yield from masked_by(setting, "M17", meet(setting.without("window"), keep), told, rank, frameworks)


@FAMILY.mistake(
    "M19",
    name="sign of the mask wrong",
    says="masked scores get +1e9 instead of −1e9",
    formula="softmax(Z + 1e9 · not keep) V",
    fingerprint="only masked keys are attended",
    needs="a mask",
    same_as="M2 (polarity inverted)",
    numpy=NUMPY,
    torch=TORCH,
)
def wrong_sign(setting: Setting) -> Iterator[Variant]:
    if setting.keep is None:
        return
    yield single("masked", add_to_logits, Label("M19", "", 0.02), np.where(setting.keep, 0.0, 1e9))
    # 1e9 swallows the score in float32, so masked keys share the weight; a filled score is lost in any precision.
    yield single("masked", set_mask, Label("M19", "the scores are lost in 1e9", 0.1), setting.keep, 1e9)


@FAMILY.mistake(
    "M20",
    name="mask in the wrong order of batch and heads",
    says="each head gets the mask of another batch entry",
    formula="mask[b · H + h] read as mask[h · B + b]",
    fingerprint="another batch entry's mask explains a head",
    needs="more than one batch and head, and masks that differ between batches",
    numpy="mask = np.repeat(mask, heads, axis=0)  # not np.tile, for tensors ordered batch · heads",
    torch="mask = mask.repeat_interleave(heads, dim=0)  # not mask.repeat(heads, 1, 1)",
    links=("line/lighthouse!77", "ArrowLuo/CLIP4Clip#22", "lsdefine/attention-is-all-you-need-keras#36"),
)
def wrong_order(setting: Setting) -> Iterator[Variant]:
    batches, heads = setting.batches, setting.heads
    if batches == 1 or heads == 1 or setting.keep is None:
        return
    keep = np.broadcast_to(setting.keep, (batches, heads, setting.n, setting.m))
    place = np.arange(batches * heads)
    tiled = keep[place % batches, 0].reshape(keep.shape)
    other = keep[(np.arange(heads) * batches + np.arange(batches)[:, None]).ravel() // heads, 0].reshape(
        keep.shape
    )
    yield from masked_by(setting, "M20", tiled)
    yield from masked_by(setting, "M20", other, "heads before batches", 0.1)


@FAMILY.mistake(
    "M21",
    name="fully masked row",
    says="a query that may attend to nothing is treated differently",
    convention=True,
    formula="NaN, 0, mean(V) or softmax(Z) V",
    fingerprint="only the fully masked rows differ",
    needs="a fully masked row",
    same_as="M7 for large fills",
    numpy="w = np.where(keep.any(-1, keepdims=True), w, 0.0)",
    torch="w = w.masked_fill(~keep.any(-1, keepdim=True), 0.0)",
    links=("pytorch/pytorch#103749", "pytorch/pytorch#103963", "robertknight/rten!1321"),
)
def empty_rows(setting: Setting) -> Iterator[Variant]:
    keep = setting.keep
    if keep is None or keep.any(-1).all():
        return
    for policy, told in POLICY.items():
        if policy != setting.options.empty_row:
            # Below M5 and the like, which give the same when nothing but whole rows is masked.
            label = Label("M21", told, -0.1, conventions.empty_row(policy))
            yield single("masked", set_mask, label, keep, empty_fill(keep, policy))
    label = Label(
        "M21", "a fully masked row is left unmasked, as by a finite number added to every score", 0.1
    )
    yield single("masked", set_mask, label, keep | ~keep.any(-1, keepdims=True), -np.inf)


@FAMILY.mistake(
    "M23",
    name="zero-padded keys not masked",
    says="keys padded with zeros take part in the softmax",
    formula="W = e^Z / (p + Σ e^Z)",
    fingerprint="rows sum to s/(p + s) with the same whole p",
    needs="nothing",
    same_as="X10 with a sink of ln p",
    numpy="keep = np.arange(m_padded) < m  # hide the padding",
    torch="keep = torch.arange(m_padded) < m",
    links=("NVIDIA/TensorRT-LLM!18111",),
)
def padded_keys(setting: Setting) -> Iterator[Variant]:
    block = -setting.m % 8
    for count in range(1, 33):
        usual = count <= 4 or count == block
        yield single(
            "softmax", with_sink, Label("M23", f"{count} padded keys", 0.12 if usual else 0.7), np.log(count)
        )


@FAMILY.mistake(
    "M24",
    name="NaN leaks from masked keys",
    says="a masked key or value that is not finite leaks, because 0 · NaN is NaN",
    formula="0 · NaN = NaN",
    fingerprint="NaN although the cell is masked",
    needs="a non-finite entry at a masked position",
    numpy="v = np.where(valid[:, None], v, 0.0)",
    torch="v = v.masked_fill(~valid[:, None], 0.0)",
    links=("pytorch/pytorch#101967",),
)
def leak(setting: Setting) -> Iterator[Variant]:
    if setting.keep is None or (np.isfinite(setting.k).all() and np.isfinite(setting.v).all()):
        return

    def multiply(setting: Setting, state: State) -> None:
        state["output"] = state["weights"] @ state["v"]

    def add_infinity(setting: Setting, state: State) -> None:
        state["masked"] = state["biased"] + np.where(state["keep"], 0.0, -np.inf)

    yield Variant((("output", multiply),), (Label("M24", rank=-1.0),), pairs=False)
    yield Variant(
        (("masked", add_infinity), ("output", multiply)),
        (Label("M24", "through the scores", -0.9),),
        pairs=False,
    )
