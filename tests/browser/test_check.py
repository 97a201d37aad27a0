"""Check mine in a real browser: verdicts, evidence, files, and numbers that cannot be read."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import expect

from attention_lab.core import Options, attend
from attention_lab.inputs.paste import format_compact

RNG = np.random.default_rng(11)
Q, K, V = (RNG.integers(-4, 5, shape) / 4 for shape in ((3, 4), (5, 4), (5, 2)))
PROBLEM = f"lab=check&q={format_compact(Q)}&k={format_compact(K)}&v={format_compact(V)}"


def softmax(z: np.ndarray) -> np.ndarray:
    e = np.exp(z - z.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


Z = Q @ K.T / 2
WRONG = {
    "S1": softmax(2 * Z),
    "X1": softmax(Z.T).T,
    "X4": Z @ V,
    "X9": np.exp(Z) @ V,
    "X13": 1 / (1 + np.exp(-Z)),
}


def verdict(lab) -> tuple[str, list[str]]:
    found = lab.page.locator("[data-verdict]")
    expect(found).to_have_count(1, timeout=20_000)
    return str(found.get_attribute("data-verdict")), str(found.get_attribute("data-matches")).split()


@pytest.mark.parametrize("id", sorted(WRONG))
def test_a_known_mistake_is_named(lab, id: str) -> None:
    lab.open(f"{PROBLEM}&observed={format_compact(WRONG[id])}")
    word, matches = verdict(lab)
    assert word == "mistake" and matches[0] == id
    assert lab.page.locator("[data-first-divergence]").count() == 1
    assert lab.page.locator("pre").count() >= 2, "the correction in NumPy and PyTorch"


def test_right_numbers_match_at_every_number_of_decimals(lab) -> None:
    output = attend(Q, K, V).output
    for decimals in (3, 4, 8):
        lab.open(f"{PROBLEM}&observed={format_compact(np.round(output, decimals))}")
        assert verdict(lab)[0] in ("match", "rounding")


def test_the_first_wrong_cell_is_named(lab) -> None:
    wrong = attend(Q, K, V).weights.copy()
    wrong[1, 3] += 0.25
    lab.open(f"{PROBLEM}&observed={format_compact(wrong)}&stage=weights")
    assert verdict(lab)[0] == "inconsistent"
    place = lab.page.locator("[data-first-divergence]")
    assert (place.get_attribute("data-first-divergence"), place.get_attribute("data-index")) == (
        "weights",
        "1,3",
    )


def test_typing_numbers_gives_a_verdict_and_bad_text_an_error_beside_the_box(lab) -> None:
    page = lab.page
    lab.open(PROBLEM)
    page.fill("#observed", "\n".join(" ".join(f"{x:.4f}" for x in row) for row in WRONG["S1"]))
    assert verdict(lab)[1][0] == "S1"
    page.fill("#observed", "1 2\n3")
    expect(page.locator('[data-error-for="observed"]')).to_be_visible()
    page.fill("#observed", "1 2 3 4 5 6 7")
    expect(page.locator('[data-error-for="observed"]')).to_be_visible()
    assert page.input_value("#observed") == "1 2 3 4 5 6 7"


def test_errors_are_counted_against_the_readers_tolerance(lab) -> None:
    lab.open(f"{PROBLEM}&observed={format_compact(WRONG['S1'])}&atol=1&rtol=0")
    verdict(lab)
    assert lab.page.get_attribute("[data-errors]", "data-beyond") == "0"
    lab.open(f"{PROBLEM}&observed={format_compact(WRONG['S1'])}&atol=0&rtol=0")
    expect(lab.page.locator("[data-errors]")).to_have_attribute("data-beyond", "15")


def test_a_64_by_64_problem_shows_progress_and_answers(lab) -> None:
    rng = np.random.default_rng(5)
    q, k, v = (np.round(rng.standard_normal((64, 16)), 3) for _ in range(3))
    observed = attend(q, k, v, Options(scale="none")).output
    page = lab.page
    lab.open("lab=check")
    for field, values in (("q", q), ("k", k), ("v", v), ("observed", observed)):
        page.fill(f"#{field}", "\n".join(" ".join(map(repr, row)) for row in values.tolist()))
    assert verdict(lab) == ("mistake", ["S1"])


def test_six_real_mistakes_load_and_are_named(lab) -> None:
    page = lab.page
    lab.open("lab=check")
    page.click('[data-slot="check-examples"] summary')
    ids = [
        str(button.get_attribute("data-action")).removeprefix("mistake ")
        for button in page.locator('[data-action^="mistake "]').all()
    ]
    assert len(ids) == 6
    for id in ids:
        lab.open("lab=check")
        page.evaluate(f"document.querySelector('[data-action=\"mistake {id}\"]').click()")
        word, matches = verdict(lab)
        assert word == "mistake" and id in matches, id


def test_the_meter_counts_and_a_probe_separates_more(lab) -> None:
    page = lab.page
    lab.open("lab=check&q=1,0;0,1&k=1,0;0,1&v=1,2;3,4")
    few = page.locator("[data-separable]")
    expect(few).to_have_count(1, timeout=20_000)
    before = int(few.get_attribute("data-separable") or 0)
    page.fill("#probe-seed", "7")
    page.click('[data-action="probe"]')
    expect(page.locator('[data-shape-of="q"]')).to_have_text("5×3", timeout=20_000)
    page.wait_for_function(
        f"Number(document.querySelector('[data-separable]')?.dataset.separable) > {before}", timeout=20_000
    )
    assert page.locator("[data-probe] pre").count() == 4
    assert "seed 7" in (page.locator("[data-probe] pre").first.text_content() or "")
    page.fill("#probe-seed", "many")
    page.click('[data-action="probe"]')
    expect(page.locator('[data-error-for="probe"]')).to_contain_text("whole number")


def npz(**arrays: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


def test_a_file_with_every_array_finds_its_places(lab) -> None:
    page = lab.page
    lab.open("lab=check")
    heads = [RNG.standard_normal(shape) for shape in ((1, 6, 2, 4), (1, 6, 2, 4), (1, 6, 2, 3))]
    q, k, v = (np.swapaxes(a, 1, 2) for a in heads)
    out = np.swapaxes(attend(q, k, v, Options(scale="none")).output, 1, 2)
    content = npz(query=heads[0], key=heads[1], value=heads[2], attn_output=out)
    page.set_input_files("#files", [{"name": "case.npz", "mimeType": "application/zip", "buffer": content}])
    expect(page.locator("#files-found")).to_be_visible()
    assert verdict(lab) == ("mistake", ["S1"])
    assert page.input_value("[data-file-layout]") == "blhd"
    page.select_option("[data-file-layout]", "bhld")
    expect(page.locator('[data-shape-of="q"]')).to_have_text("1×6×2×4")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("broken.npy", b"\x93NUMPY\x01\x00"),
        (
            "object.npy",
            b"\x93NUMPY\x01\x00\x46\x00{'descr': '|O', 'fortran_order': False, 'shape': (1,), }" + b" " * 18,
        ),
        ("cut.npz", npz(q=np.ones((3, 3)))[:60]),
        (
            "huge.npy",
            b"\x93NUMPY\x01\x00\x56\x00"
            + b"{'descr': '<f8', 'fortran_order': False, 'shape': (1000000, 1000000), }".ljust(86),
        ),
        ("<img src=x onerror=alert(1)>.json", b"{"),
        ("empty.csv", b""),
    ],
)
def test_a_bad_file_is_refused_in_one_sentence(lab, name: str, content: bytes) -> None:
    page = lab.page
    lab.open("lab=check")
    page.set_input_files(
        "#files", [{"name": name, "mimeType": "application/octet-stream", "buffer": content}]
    )
    error = page.locator('[data-error-for="files"]')
    expect(error).to_be_visible()
    assert Path(name).name[:20] in error.inner_text() and len(error.inner_text()) > 20
    assert page.locator("img").count() == 0


def test_the_meter_stays_when_only_the_look_changes(lab) -> None:
    lab.open("lab=check&example=cross")
    meter = lab.page.locator('[data-slot="check-meter"]')
    expect(meter).to_contain_text("This input can tell apart")
    text = meter.inner_text()
    lab.page.select_option("#decimals", "2")
    lab.page.wait_for_function("location.hash.includes('decimals=2')")
    assert meter.inner_text() == text
