"""The bench's own arithmetic: medians of ratios, growth, and bytes as a static host sends them."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
from pathlib import Path

import pytest

from site_builder import bench
from site_builder.bench.memory import memory_of
from site_builder.console import BuildError

pytestmark = pytest.mark.needs_cpython


RESULT = {
    "date": "2026-01-01",
    "machine": "m",
    "browsers": {"Chromium": "1"},
    "pairs": 7,
    "bytes": {"parts": {"x": 1_000_000}, "until ready": 1_000_000, "single file": 2_000_000},
    "real head": True,
}


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


def test_without_the_model_the_table_says_so() -> None:
    assert bench.table(RESULT | {"real head": False}, [])[-1] == bench.NO_HEAD


@pytest.mark.skipif(not Path("/proc/self/smaps_rollup").exists(), reason="only Linux tells a process's share")
def test_the_memory_of_a_page_is_that_of_its_largest_process() -> None:
    program = "import sys; held = b'x' * int(sys.argv[1]); print('up', flush=True); sys.stdin.read()"
    started = [
        subprocess.Popen(
            [sys.executable, "-c", program, str(size), kind], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        for size, kind in (
            (1, "--type=renderer"),
            (80_000_000, "--type=renderer"),
            (200_000_000, "--type=gpu"),
        )
    ]
    try:
        for process in started:
            assert process.stdout is not None and process.stdout.readline() == b"up\n"
        found = memory_of(os.getpid())
        assert found is not None and 80_000_000 <= found < 140_000_000
    finally:
        for process in started:
            process.communicate()
    assert memory_of(None) is None


def test_a_missed_limit_is_named_in_the_table() -> None:
    figure = bench.figure_of("ready", "Chromium", "ms", [(5.0, 10.0)], 0.3)
    text = "\n".join(bench.table(RESULT, [figure]))
    assert "| ready | Chromium | 5 ms | 10 ms | 0.50 | 0.50–0.50 | 0.3 (missed) |" in text
    assert "1.00 MB, at most 12 (x 1.00)" in text
