"""Names that the bracket readers know: constructors, scalar types, metadata keys, harmless methods.

All in lower case without their module. A name that is not here is a computation, and refused.
"""

from __future__ import annotations

SCALARS = {
    "float16", "float32", "float64", "bfloat16", "half", "single", "double", "longdouble", "float", "int",
    "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool_", "bool", "f16",
    "f32", "f64", "decimal", "number", "intp", "longlong", "float8_e4m3fn", "float8_e5m2",
}  # fmt: skip
RATIONALS = {"fraction", "rational"}
DICTIONARIES = {"ordereddict", "dict", "defaultdict"}
LISTS = {
    "c", "list", "vec", "vector", "seq", "tuple", "arrayof", "listof", "floatarrayof", "doublearrayof",
    "intarrayof", "of", "list_", "rbind",
}  # fmt: skip
WRAPPERS = {
    "array", "asarray", "asanyarray", "as_tensor", "tensor", "parameter", "variable", "constant",
    "ndarray", "matrix", "mat", "devicearray", "masked_array", "from_numpy", "convert_to_tensor",
    "to_tensor", "matrixform", "print", "mutabledensematrix", "immutabledensematrix", "immutablematrix",
    "smatrix", "sa", "arr1", "arr2", "arr3", "disp", "structure", "kerasvariable", "eagertensor",
    "dataframe", "display", "immutabledensendimarray", "repr", "n", "arrayimpl",
}  # fmt: skip
TYPED = {
    "float32", "float64", "float16", "int", "int32", "int64", "float", "double", "bool", "integer", "real",
    "sa", "number", "any", "vec", "array", "matrix", "tensor", "list", "tuple", "c", "smatrix",
}  # fmt: skip
METADATA = {
    "shape", "dtype", "device", "strides", "layout", "ndim", "size", "place", "stop_gradient",
    "requires_grad", "grad_fn", "order", "weak_type", "fill_value", "index", "columns", "axes", "nrow",
    "ncol", "byrow", "dim", "dims", "copy", "kind", "backend", "path", "sharding", "itemsize", "offset",
    "nnz", "grad", "is_leaf", "rows", "cols", "type", "version", "dimnames", "id", "capacity", "const",
    "names", "layer", "row_stride", "mutable", "stride",
}  # fmt: skip
DATA = {"data", "values", "value", "numpy", "array", "object", "buffer", "_data", "entries"}
# Methods that change neither the numbers nor the shape.
HARMLESS = {
    ".to", ".cuda", ".cpu", ".float", ".double", ".numpy", ".detach", ".clone", ".contiguous", ".tolist",
    ".requires_grad_", ".copy", ".to_vec", ".into",
}  # fmt: skip


def base_name(name: str) -> str:
    """`np.array` → `array`, `torch::tensor` → `tensor`, `vec!` → `vec`."""
    return name.replace("::", ".").rstrip("!").rsplit(".", 1)[-1].lower()
