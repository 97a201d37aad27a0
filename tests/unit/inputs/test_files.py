"""Array files: what NumPy and safetensors write reads back exactly; damaged, huge and foreign files are refused."""

from __future__ import annotations

import io
import json
import struct
import time
import tracemalloc
import zipfile
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from attention_lab.core import LabError
from attention_lab.inputs.files import FileError, read_arrays

A = np.arange(6.0).reshape(2, 3) - 2.5


def npy(array: Any, version: tuple[int, int] | None = None, **options: Any) -> bytes:
    stream = io.BytesIO()
    np.lib.format.write_array(stream, np.asanyarray(array), version=version, **options)
    return stream.getvalue()


def header(text: str, version: int = 1, body: bytes = b"") -> bytes:
    """An .npy file with any header."""
    raw = text.encode() + b"\n"
    return (
        b"\x93NUMPY"
        + bytes([version, 0])
        + len(raw).to_bytes(2 if version == 1 else 4, "little")
        + raw
        + body
    )


def safetensors(
    tensors: dict[str, tuple[str, list[int], bytes]], metadata: dict[str, str] | None = None
) -> bytes:
    entries: dict[str, Any] = {"__metadata__": metadata} if metadata else {}
    body = b""
    for name, (kind, shape, raw) in tensors.items():
        entries[name] = {"dtype": kind, "shape": shape, "data_offsets": [len(body), len(body) + len(raw)]}
        body += raw
    text = json.dumps(entries).encode()
    return struct.pack("<Q", len(text)) + text + body


@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
@pytest.mark.parametrize(
    "kind",
    [
        "<f8",
        ">f8",
        "<f4",
        ">f4",
        "<f2",
        ">f2",
        "<i8",
        ">i8",
        "<i4",
        "<i2",
        "|i1",
        "<u8",
        "<u4",
        "<u2",
        "|u1",
        "?",
    ],
)
def test_npy(kind: str, version: tuple[int, int]) -> None:
    """Every version, kind and byte order; the dtype stays and is in native order."""
    array = (np.arange(24) % 5).reshape(2, 3, 4).astype(kind)
    read = read_arrays("q.npy", npy(array, version))["q"]
    assert read.dtype == array.dtype.newbyteorder("=")
    assert read.dtype.isnative
    np.testing.assert_array_equal(read, array)


@pytest.mark.parametrize("shape", [(), (1,), (5,), (2, 3), (2, 3, 4), (1, 2, 3, 4), (1,) * 16])
def test_npy_orders_and_shapes(shape: tuple[int, ...]) -> None:
    array = np.random.default_rng(1).normal(size=shape)
    for ordered in (array, np.asfortranarray(array)):
        read = read_arrays("a.npy", npy(ordered))["a"]
        np.testing.assert_array_equal(read, array)
        assert read.flags.c_contiguous
        assert read.flags.writeable


def test_npy_not_finite_bits() -> None:
    array = np.array([[np.nan, np.inf], [-np.inf, -0.0]])
    read = read_arrays("a.npy", npy(array))["a"]
    assert read.tobytes() == array.tobytes()


def test_booleans_are_zero_or_one() -> None:
    """Any byte that is not 0 counts as True; NumPy itself would keep the odd byte."""
    data = npy(np.array([True, False, True]))[:-3] + b"\x07\x00\xff"
    assert read_arrays("m.npy", data)["m"].tolist() == [True, False, True]


def test_npz() -> None:
    stream = io.BytesIO()
    np.savez(stream, q=A, k=A.astype(np.float16), mask=A > 0)
    arrays = read_arrays("case.npz", stream.getvalue())
    assert list(arrays) == ["q", "k", "mask"]
    np.testing.assert_array_equal(arrays["q"], A)
    assert arrays["k"].dtype == np.float16
    assert arrays["mask"].dtype == np.bool_
    assert arrays.skipped == {}
    stream = io.BytesIO()
    np.savez_compressed(stream, A, A.T)
    assert {name: a.shape for name, a in read_arrays("x.npz", stream.getvalue()).items()} == {
        "arr_0": (2, 3),
        "arr_1": (3, 2),
    }


def test_npz_leaves_out_what_is_not_numbers_and_says_so() -> None:
    stream = io.BytesIO()
    np.savez(
        stream,
        q=A,
        names=np.array(["a", "b"]),
        config=np.array({"h": 2}, dtype=object),
        none=np.zeros((0, 3)),
    )
    arrays = read_arrays("case.npz", stream.getvalue())
    assert list(arrays) == ["q"]
    assert sorted(arrays.skipped) == ["config", "names", "none"]
    assert "pickle, which is never opened" in arrays.skipped["config"]
    assert "type '<U1' came" in arrays.skipped["names"]
    assert "has no entries" in arrays.skipped["none"]


KINDS = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "i1",
         "U64": "<u8", "U32": "<u4", "U16": "<u2", "U8": "u1", "BOOL": "?"}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_safetensors(kind: str) -> None:
    array = (np.arange(6) % 2).reshape(2, 3).astype(KINDS[kind])
    arrays = read_arrays(
        "m.safetensors", safetensors({"q": (kind, [2, 3], array.tobytes())}, {"format": "pt"})
    )
    assert list(arrays) == ["q"]
    assert arrays["q"].dtype == np.dtype(KINDS[kind])
    np.testing.assert_array_equal(arrays["q"], array)


def test_safetensors_bfloat16() -> None:
    """bfloat16 is the upper half of a float32: 1.0 is 0x3F80, -2.5 is 0xC020, π to 8 bits is 0x4049 = 3.140625."""
    raw = struct.pack("<6H", 0x3F80, 0xC020, 0x4049, 0x0000, 0x7F80, 0xFF80)
    array = read_arrays("m.safetensors", safetensors({"v": ("BF16", [6], raw)}))["v"]
    assert array.dtype == np.float32
    assert array.tolist() == [1.0, -2.5, 3.140625, 0.0, np.inf, -np.inf]


def test_safetensors_other_types_are_left_out() -> None:
    data = safetensors({"w": ("F8_E4M3", [4], b"abcd"), "q": ("F32", [1, 1], struct.pack("<f", 1.5))})
    arrays = read_arrays("m.safetensors", data)
    assert list(arrays) == ["q"]
    assert "type F8_E4M3 came" in arrays.skipped["w"]
    with pytest.raises(FileError, match="F8_E4M3"):
        read_arrays("m.safetensors", safetensors({"w": ("F8_E4M3", [4], b"abcd")}))


@pytest.mark.needs_cpython
def test_safetensors_own_writer() -> None:
    """A file written by the safetensors package."""
    package = pytest.importorskip(
        "safetensors.numpy", reason="safetensors is installed for tests on CPython only"
    )
    tensors = {"q": A.astype(np.float32), "mask": A > 0, "lse": np.arange(2.0)}
    arrays = read_arrays("m.safetensors", package.save(tensors, {"source": "test"}))
    assert sorted(arrays) == sorted(tensors)
    for name, tensor in tensors.items():
        np.testing.assert_array_equal(arrays[name], tensor)


TEXTS: dict[str, tuple[bytes, dict[str, Any]]] = {
    "q.csv": (b"a,b\n1,2\n3,4\n", {"q": [[1, 2], [3, 4]]}),
    "path/to/k.tsv": ("0,5\t1\r\n2\t3\r\n".encode("utf-8-sig"), {"k": [[0.5, 1], [2, 3]]}),
    "excel.txt": ("1\t2\r\n3\t4\r\n".encode("utf-16"), {"excel": [[1, 2], [3, 4]]}),
    "western.txt": ("1 2 # größer".encode("cp1252"), {"western": [[1, 2]]}),
    "one.json": (b"[[1, 2], [3, 4]]", {"one": [[1, 2], [3, 4]]}),
    "named.json": (
        b'{"q": [[1, 2]], "k": {"shape": [2, 1], "data": [3, 4]}}',
        {"q": [[1, 2]], "k": [[3], [4]]},
    ),
    "print.log": (b"tensor([[1., 2.]])", {"print": [[1, 2]]}),
    "notes.md": (b"Q = [[1, 2]]\nK = [[3, 4]]", {"Q": [[1, 2]], "K": [[3, 4]]}),
    "mask.csv": (b"True,False\nTrue,True\n", {"mask": [[True, False], [True, True]]}),
}


@pytest.mark.parametrize("name", TEXTS)
def test_text(name: str) -> None:
    data, expected = TEXTS[name]
    arrays = read_arrays(name, data)
    assert {label: array.tolist() for label, array in arrays.items()} == expected


def test_text_warnings_are_kept() -> None:
    assert read_arrays("q.csv", b"a,b\n1,2\n3,4").warnings == ("header row left out",)


def test_long_json() -> None:
    """Above a megabyte JSON goes another way; names, shapes and refusals are the same."""
    q = np.random.default_rng(2).normal(size=(250, 300))
    document = {"q": q.tolist(), "k": {"shape": [300, 250], "data": q.ravel().tolist()}, "n": 3, "bad": [[1], [2, 3]], "words": ["a"],
                "keep": [[True, False]]}  # fmt: skip
    text = json.dumps(document)
    assert len(text) > 2**20
    arrays = read_arrays("case.json", text.encode())
    np.testing.assert_array_equal(arrays["q"], q)
    np.testing.assert_array_equal(arrays["k"], q.reshape(300, 250))
    assert arrays["keep"].dtype == np.bool_
    assert sorted(arrays.skipped) == ["bad", "words"]
    np.testing.assert_array_equal(read_arrays("q.json", json.dumps(q.tolist()).encode())["q"], q)
    with pytest.raises(FileError, match="not valid JSON"):
        read_arrays("case.json", text[:-1].encode())
    with pytest.raises(FileError, match="nests too deep"):
        read_arrays("case.json", b"[" * 2**21)


def test_the_content_decides_not_the_name() -> None:
    assert read_arrays("q.bin", npy(A))["q"].shape == (2, 3)
    stream = io.BytesIO()
    np.savez(stream, q=A)
    assert list(read_arrays("unnamed", stream.getvalue())) == ["q"]
    assert list(read_arrays("x", safetensors({"k": ("U8", [1], b"\x01")}))) == ["k"]


GOOD = npy(A)
SHAPE = "{'descr': '<f8', 'fortran_order': False, 'shape': %s, }"
BAD = {
    "empty": ("q.npy", b"", "the file is empty"),
    "signature": ("q.npy", b"NUMPY" + GOOD, "does not begin with the .npy signature"),
    "cut in the signature": ("q.npy", GOOD[:8], "truncated inside"),
    "cut in the header": ("q.npy", GOOD[:40], "truncated inside"),
    "cut in the data": ("q.npy", GOOD[:-1], "need 48 bytes, the file has 47"),
    "too long": ("q.npy", GOOD + b"\0", "need 48 bytes, the file has 49"),
    "version": ("q.npy", GOOD[:6] + b"\x09" + GOOD[7:], "version 9 came"),
    "huge": ("q.npy", header(SHAPE % "(1000000, 1000000)", body=b"x" * 64), "8,000,000,000,000 bytes"),
    "huger": ("q.npy", header(SHAPE % "(9999999999999999999, 9999999999999999999)"), "at most"),
    "huge header": ("q.npy", b"\x93NUMPY\x02\0" + b"\xff\xff\xff\xff" + b"x" * 100, "header of at most"),
    "negative": ("q.npy", header(SHAPE % "(-1, 3)"), "header is damaged"),
    "no shape": ("q.npy", header("{'descr': '<f8', 'fortran_order': False}"), "header is damaged"),
    "no dictionary": ("q.npy", header("hello"), "header is damaged"),
    "code in the header": ("q.npy", header(SHAPE % "(__import__('os').getpid(),)"), "header is damaged"),
    "many axes": ("q.npy", header(SHAPE % ("(" + "1, " * 40 + ")")), "no usable shape"),
    "objects": (
        "q.npy",
        npy(np.array([{}], dtype=object), allow_pickle=True),
        "pickle, which is never opened",
    ),
    "complex": ("q.npy", npy(A.astype(complex)), "'<c16' came"),
    "words": ("q.npy", npy(np.array(["ab"])), "'<U2' came"),
    "dates": ("q.npy", npy(np.array(["2026-11-29"], dtype="datetime64[D]")), "'<M8[D]' came"),
    "structured": ("q.npy", npy(np.zeros(2, dtype=[("a", "<f8")])), "structured array came"),
    "raw bfloat16": (
        "q.npy",
        header("{'descr': '|V2', 'fortran_order': False, 'shape': (1,), }", body=b"ab"),
        "bfloat16",
    ),
    "long double": (
        "q.npy",
        header("{'descr': '<f16', 'fortran_order': False, 'shape': (1,), }", body=b"a" * 16),
        "'<f16' came",
    ),
    "no entries": ("q.npy", npy(np.zeros((0, 3))), "has no entries"),
    "not an archive": ("q.npz", b"hello", "not a readable .npz"),
    "empty archive": ("q.npz", b"PK\x05\x06" + b"\0" * 18, "holds no arrays"),
    "short safetensors": ("m.safetensors", b"\x08\0\0", "truncated before"),
    "cut safetensors": ("m.safetensors", struct.pack("<Q", 100) + b"{", "truncated inside"),
    "huge safetensors header": ("m.safetensors", struct.pack("<Q", 2**62) + b"{}", "header of at most"),
    "no JSON": ("m.safetensors", struct.pack("<Q", 3) + b"{a}", "is not JSON"),
    "deep JSON": ("m.safetensors", struct.pack("<Q", 5000) + b"[" * 5000, "damaged"),
    "list header": ("m.safetensors", struct.pack("<Q", 2) + b"[]", "should be an object"),
    "no offsets": ("m.safetensors", struct.pack("<Q", 24) + b'{"q": {"dtype": "F32" }} ', "data_offsets"),
    "past the end": ("m.safetensors", safetensors({"q": ("F32", [2], b"1234" * 2)})[:-1], "ends at byte 8"),
    "wrong length": (
        "m.safetensors",
        safetensors({"q": ("F32", [3], b"1234" * 2)}),
        "need 12 bytes, the file has 8",
    ),
    "huge tensor": ("m.safetensors", safetensors({"q": ("F32", [10**6, 10**6], b"1234")}), "at most"),
    "no tensors": ("m.safetensors", safetensors({}), "holds no arrays"),
    "pickle": ("q.pkl", b"\x80\x04\x95\x00", "a pickle, which is never opened"),
    "HDF5": ("q.h5", b"\x89HDF\r\n\x1a\n", "HDF5"),
    "MATLAB": ("q.mat", b"MATLAB 5.0 MAT-file", "MATLAB .mat"),
    "gzip": ("q.npy.gz", b"\x1f\x8b\x08\0", "gzip"),
    "image": ("q.png", b"\x89PNG\r\n", "an image"),
    "other binary": ("q.dat", b"\0\1\2\3", "other binary data came"),
    "ragged CSV": ("q.csv", b"1,2\n3.5\n", "q.csv: line 2, column 1"),
    "prose": ("q.txt", b"hello", "q.txt: line 1, column 1"),
    "JSON without lists": ("q.json", b'{"a": 1}', "q.json"),
}


@pytest.mark.parametrize("kind", BAD)
def test_refused(kind: str) -> None:
    """A sentence that names the file, within a second."""
    name, data, part = BAD[kind]
    begin = time.process_time()
    with pytest.raises(FileError) as caught:
        read_arrays(name, data)
    assert time.process_time() - begin < 1
    assert isinstance(caught.value, LabError)
    assert str(caught.value).startswith(f"{name}")
    assert part in str(caught.value)


def test_a_header_that_claims_a_trillion_entries_allocates_nothing() -> None:
    for data in (
        header(SHAPE % "(1000000, 1000000)", body=b"x" * 64),
        safetensors({"q": ("F64", [10**12], b"x" * 64)}),
    ):
        tracemalloc.start()
        with pytest.raises(FileError, match="at most"):
            read_arrays("q", data)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 2**20


def archive(members: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", method) as file:
        for name, data in members.items():
            file.writestr(name, data)
    return stream.getvalue()


def test_an_archive_that_unpacks_to_too_much_is_refused() -> None:
    """Zeros pack a thousandfold. Nothing beyond what the header claims is unpacked, and claims have a limit."""
    shape = "(40000000,)"  # 320 MB as float64
    bomb = archive({"q.npy": header(SHAPE % shape) + b"\0" * 10**7})
    begin = time.process_time()
    with pytest.raises(FileError, match="at most 268,435,456 bytes"):
        read_arrays("x.npz", bomb)
    more = archive({"q.npy": header(SHAPE % "(2,)") + b"\0" * 10**7})
    with pytest.raises(FileError, match="need 16 bytes"):
        read_arrays("x.npz", more)
    assert time.process_time() - begin < 1


def test_damaged_archives() -> None:
    good = archive({"q.npy": GOOD})
    for data in (good[:60], good[:-30], good.replace(b"q.npy", b"k.npy", 1)):
        with pytest.raises(FileError):
            read_arrays("x.npz", data)
    middle = good.index(b"q.npy") + 20
    with pytest.raises(FileError):
        read_arrays("x.npz", good[:middle] + b"\xff\xff\xff" + good[middle + 3 :])


def test_a_checkpoint_of_pytorch_is_named() -> None:
    with pytest.raises(FileError, match="PyTorch checkpoint"):
        read_arrays("model.pt", archive({"archive/data.pkl": b"\x80\x02}", "archive/data/0": b"1234"}))


def test_members_that_are_not_arrays() -> None:
    arrays = read_arrays("x.npz", archive({"q.npy": GOOD, "readme.txt": b"hello"}))
    assert list(arrays) == ["q"]
    assert "not an .npy member" in arrays.skipped["readme.txt"]


def test_nothing_is_shared_with_the_file() -> None:
    """Arrays can be written to, and do not keep the file's bytes alive."""
    data = bytearray(GOOD)
    read: NDArray[Any] = read_arrays("q.npy", bytes(data))["q"]
    read[0, 0] = 7
    assert bytes(data) == GOOD
