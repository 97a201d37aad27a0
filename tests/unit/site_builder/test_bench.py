"""The bench's own arithmetic: medians of ratios, growth, and bytes as a static host sends them."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from site_builder import bench
from site_builder.console import BuildError

pytestmark = pytest.mark.needs_cpython


def test_a_ratio_is_the_median_of_the_pairs_ratios() -> None:
    figure = bench.figure_of("x", "Chromium", "ms", [(1.0, 10.0), (3.0, 10.0), (2.0, 4.0)], 0.4)
    assert (figure.ratio, figure.low, figure.high) == pytest.approx((0.3, 0.1, 0.5))
    assert (figure.ours, figure.baseline, figure.pairs) == (2.0, 10.0, 3)


def test_the_growth_exponent_is_the_slope_on_logarithmic_axes() -> None:
    assert bench.exponent([(64, 3.0), (128, 12.0), (256, 48.0)]) == pytest.approx(2.0)
    assert bench.exponent([(64, 3.0)]) is None


def test_bytes_until_ready_count_text_compressed_and_archives_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_bytes(b"a" * 1000)
    (tmp_path / "snapshot-1.bin").write_bytes(b"b" * 1000)
    sizes = bench.bytes_until_ready(
        tmp_path,
        ["/lab/index.html", "/lab/snapshot-1.bin", "/lab/index.html", "/lab/bare.html", "/stock/a.js"],
    )
    assert sizes == {"page and style": len(gzip.compress(b"a" * 1000, 9)), "memory snapshot": 1000}


def test_too_few_pairs_are_refused() -> None:
    with pytest.raises(BuildError, match="at least 7"):
        bench.bench(pairs=6)


def test_a_missed_limit_is_named_in_the_table() -> None:
    figure = bench.figure_of("ready", "Chromium", "ms", [(5.0, 10.0)], 0.3)
    result = {
        "date": "2026-01-01",
        "machine": "m",
        "browsers": {"Chromium": "1"},
        "pairs": 7,
        "bytes": {"parts": {"x": 1_000_000}, "until ready": 1_000_000, "single file": 2_000_000},
    }
    text = "\n".join(bench.table(result, [figure]))
    assert "| ready | Chromium | 5 ms | 10 ms | 0.50 | 0.50–0.50 | 0.3 (missed) |" in text
    assert "1.00 MB, at most 12 (x 1.00)" in text
