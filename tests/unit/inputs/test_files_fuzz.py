"""Mutated files: nothing outside the error family, none takes a second, none takes much memory.

20 000 files with ATTENTION_LAB_FUZZ=1, a tenth of it by default.
"""

from __future__ import annotations

import io
import json
import struct
import time
import tracemalloc
from typing import Any

import numpy as np
import pytest
from fuzzing import SECONDS_PER_INPUT, budget, mutate_bytes
from hypothesis import given, settings
from hypothesis import strategies as st

from attention_lab.core import LabError
from attention_lab.inputs.files import FileError, assign_roles, read_arrays


def _npy(array: Any) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array, allow_pickle=True)
    return stream.getvalue()


def _npz(write: Any) -> bytes:
    stream = io.BytesIO()
    write(stream, q=np.ones((3, 2)), k=np.arange(6.0).reshape(3, 2), mask=np.eye(3, dtype=bool))
    return stream.getvalue()


def _safetensors() -> bytes:
    header = json.dumps(
        {
            "__metadata__": {"format": "pt"},
            "q": {"dtype": "F32", "shape": [2, 2], "data_offsets": [0, 16]},
            "k": {"dtype": "BF16", "shape": [2, 2], "data_offsets": [16, 24]},
            "m": {"dtype": "BOOL", "shape": [4], "data_offsets": [24, 28]},
        }
    ).encode()
    return struct.pack("<Q", len(header)) + header + bytes(range(28))


FILES = {
    "a.npy": _npy(np.arange(12.0).reshape(3, 4)),
    "f.npy": _npy(np.asfortranarray(np.arange(12.0).reshape(3, 4).astype(">f4"))),
    "o.npy": _npy(np.array([{"a": 1}], dtype=object)),
    "b.npy": _npy(np.eye(3, dtype=bool)),
    "a.npz": _npz(np.savez),
    "c.npz": _npz(np.savez_compressed),
    "a.safetensors": _safetensors(),
    "a.json": b'{"q": [[1, 2], [3, 4]], "k": {"shape": [1, 2], "data": [5, 6]}}',
    "a.csv": b",a,b\n0,0.25,-1.5\n1,12,-7.125\n",
    "a.tsv": "0,25\t-1,5\r\n12\t−7,125\r\n".encode("utf-8-sig"),
    "u.txt": "1\t2\r\n3\t4\r\n".encode("utf-16"),
}


def check(name: str, data: bytes) -> bool:
    """Read one file within a second of processor time; True if it held arrays."""
    begin = time.process_time()
    try:
        arrays = read_arrays(name, data)
    except LabError as error:
        assert isinstance(error, FileError), (name, data)
        assert str(error), (name, data)
        arrays = None
    assert time.process_time() - begin < SECONDS_PER_INPUT, (name, data[:200])
    if arrays is None:
        return False
    assert len(arrays) > 0
    for array in arrays.values():
        assert array.dtype.kind in "fiub" and array.dtype.isnative, (name, data)
        assert array.size > 0, (name, data)
    assign_roles(list(arrays), arrays)
    return True


@pytest.mark.parametrize("name", FILES)
def test_the_files_are_good_before_they_are_mutated(name: str) -> None:
    assert check(name, FILES[name]) == (name != "o.npy")  # objects are never read


@pytest.mark.parametrize("name", FILES)
def test_mutated_files(name: str) -> None:
    """Bits flipped, bytes cut, inserted and overwritten, most of them in the header."""
    rng = np.random.default_rng(len(name) + FILES[name][0])
    tracemalloc.start()
    # In the page 200 in all: Python is several times slower there.
    for _ in range(budget(16_500, 165) // len(FILES)):
        check(name, mutate_bytes(FILES[name], rng))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 64 * 2**20


@pytest.mark.parametrize("name", FILES)
def test_every_length_of_a_cut_file(name: str) -> None:
    """Cut after every byte: never more than an error."""
    data = FILES[name]
    for length in range(0, len(data), max(1, len(data) // budget(3_000, 60))):
        check(name, data[:length])


@settings(max_examples=budget(500, 20))
@given(
    data=st.binary(max_size=400),
    name=st.sampled_from(["x", "x.npy", "x.npz", "x.safetensors", "x.json", "x.csv", "../../x"]),
)
def test_any_bytes(name: str, data: bytes) -> None:
    check(name, data)


@settings(max_examples=budget(500, 20))
@given(
    data=st.binary(max_size=200),
    prefix=st.sampled_from([d[:k] for d in FILES.values() for k in (4, 8, 10, 60)]),
)
def test_any_bytes_after_a_true_beginning(data: bytes, prefix: bytes) -> None:
    check("x", prefix + data)


@settings(max_examples=budget(500, 20))
@given(header=st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.sampled_from(["F32", "BF16", "dtype", "shape"]),
    lambda inner: st.lists(inner, max_size=4)
    | st.dictionaries(st.sampled_from(["q", "dtype", "shape", "data_offsets", "__metadata__"]), inner, max_size=4),
    max_leaves=20,
))  # fmt: skip
def test_any_safetensors_header(header: Any) -> None:
    """Valid JSON that is not a valid header."""
    text = json.dumps(header).encode()
    check("x.safetensors", struct.pack("<Q", len(text)) + text + b"\0" * 64)
