"""The computation as a program, stage by stage, each stage asserted against the numbers of the Trace.

Writes the part that all frameworks share. What a framework's own attention function makes of the same arguments is
in the file of that framework.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from attention_lab.core import LabError
from attention_lab.core.masks import offset
from attention_lab.core.options import Precision
from attention_lab.core.precision import round_to
from attention_lab.export.material import AnyArray, Material, inputs_of, refuse_too_many, stages_of
from attention_lab.export.scripts.dialect import Dialect

TOLERANCES = {"float64": 1e-12, "float32": 1e-5, "float16": 2e-3, "bfloat16": 1.6e-2}
SINGLE_LIMIT = 1e38
MOST_EXPECTED = 4096
"""Numbers of a stage that a program spells out; of a larger one only the output is asserted."""


@dataclass
class Program:
    """Lines of a program in one framework, for one material."""

    material: Material
    dialect: Dialect
    lines: list[str] = field(default_factory=list)
    checks: int = 0

    def __post_init__(self) -> None:
        trace, problem = self.material.trace, self.material.problem
        for name in ("q", "k", "v"):
            if not np.isfinite(getattr(problem, name)).all():
                raise LabError(f"A program needs finite numbers in {name.upper()}; it holds NaN or ∞.", name)
        refuse_too_many(inputs_of(problem) | {"output": trace.output})
        largest = max(
            float(np.abs(array[np.isfinite(array)]).max(initial=0.0)) for array in stages_of(trace).values()
        )
        if self.single and largest > SINGLE_LIMIT:
            raise LabError(f"{self.dialect.name} computes in float32, which cannot hold {largest:.3g}.")

    @property
    def single(self) -> bool:
        """True when the program computes in float32 whatever the Trace was computed in."""
        return self.dialect.types["float64"] == self.dialect.types["float32"]

    @property
    def low(self) -> bool:
        """True when weights and output are rounded to something narrower than what stages are kept in."""
        return self.material.options.precision in ("float16", "bfloat16")

    @property
    def dtype(self) -> str:
        return self.dialect.types["float64" if self.material.options.precision == "float64" else "float32"]

    def add(self, *lines: str) -> None:
        self.lines.extend(lines)

    def put(self, template: str, **names: Any) -> str:
        """One of the dialect's templates, filled."""
        return str(getattr(self.dialect, template)).format(**names)

    def check(self, name: str, variable: str, expected: AnyArray) -> None:
        if expected.size <= MOST_EXPECTED or name == "output":
            self.add(f'check("{name}", {variable}, {literal(expected)})')
            self.checks += 1
        else:
            self.add(
                f"# {name}: {expected.size:,} numbers, too many to write out; the output below is asserted."
            )

    def narrow(self, expression: str) -> str:
        """`expression` rounded to the chosen precision where that is narrower than float32."""
        if not self.low:
            return expression
        wrapped = expression if expression.isidentifier() else f"({expression})"
        return self.dialect.narrow[self.material.options.precision].format(x=wrapped)

    def text(self) -> str:
        if not any("math." in line for line in self.lines):
            at = self.lines.index("import math")
            del self.lines[at : at + 2]
        return "\n".join(self.lines) + "\n"


def literal(array: AnyArray, indent: str = "") -> str:
    """`[[1.0, 2.0],\\n [3.0, 4.0]]` with every float exact; −∞ as -inf, which the program defines."""
    values = array.tolist()
    if array.ndim < 2:
        return str(values)
    rows = (literal(part, indent + "    ") for part in array) if array.ndim > 2 else map(str, values)
    inner = "".join(f"{indent}    {row},\n" for row in rows)
    return f"[\n{inner}{indent}]"


def opening(program: Program, title: str) -> None:
    """Docstring, imports, tolerance, the check function and the inputs."""
    material, dialect = program.material, program.dialect
    precision = material.options.precision
    program.add(f'"""{title}', "", "Runs as it is: every number is compared with those of Attention Lab.")
    if material.link:
        program.add(material.link.replace("\\", "%5C").replace('"', "%22").replace("\n", " "))
    program.add('"""', "", "import math", "", *dialect.imports, "")
    program.add('inf, nan = float("inf"), float("nan")')
    kept: Precision = "float32" if program.single and precision == "float64" else precision
    accuracy = tolerance(material, kept)
    why = kept if accuracy == TOLERANCES[kept] else f"{kept}, and numbers as large as these"
    if kept != precision:
        program.add(
            f"# {dialect.name} turns float64 into float32 on most of its backends, so this computes in float32."
        )
    program.add(f"TOLERANCE = {accuracy!r}  # relative and absolute, for {why}", "", "")
    program.add(*dialect.check.split("\n"), "", "")
    if program.low and (helper := dialect.narrow_help.get(precision)):
        program.add(*helper.split("\n"), "", "")
    inputs(program)


def tolerance(material: Material, precision: Precision) -> float:
    """What two correct programs may differ by: rounding grows with the size of the products and values."""
    trace = material.trace
    unit = 2.0**-52 if precision == "float64" else 2.0**-23
    products = float((np.abs(trace.q) @ np.abs(trace.k).swapaxes(-1, -2)).max())
    reach = products * max(1.0, abs(trace.scale), abs(trace.scale) / trace.options.temperature)
    reach *= max(1.0, float(np.abs(trace.v).max()))
    return float(f"{max(TOLERANCES[precision], 16 * unit * reach):.1g}")


def inputs(program: Program) -> None:
    """Q, K, V, and keep and bias where given, with packed heads split and shared heads repeated."""
    material = program.material
    options, problem = material.options, material.problem
    if options.precision != "float64":
        program.add(f"# The inputs, already rounded to {options.precision}.")
    for name in ("q", "k", "v"):
        array = round_to(getattr(problem, name), options.precision)
        program.add(f"{name.upper()} = {program.put('array', x=literal(array), dtype=program.dtype)}")
    if problem.keep is not None:
        program.add(
            f"keep = {program.put('booleans', x=literal(np.asarray(problem.keep, bool)))}  # True = may attend"
        )
    if problem.bias is not None:
        program.add(
            f"bias = {program.put('array', x=literal(np.asarray(problem.bias, float)), dtype=program.dtype)}"
        )
    program.add("")
    shapes = {name: np.shape(getattr(problem, name)) for name in ("q", "k", "v")}
    if options.heads is not None:
        query_heads, kv_heads = options.heads
        program.add(
            f"# {query_heads} query heads and {kv_heads} key/value heads lie side by side in the last axis."
        )
        for name, count in (("q", query_heads), ("k", kv_heads), ("v", kv_heads)):
            *lead, length, columns = shapes[name]
            split = (*lead, length, count, columns // count)
            shape = ", ".join(map(str, split))
            reshaped = program.put("reshape", x=name.upper(), shape=shape)
            program.add(f"{name.upper()} = {program.put('swap', x=reshaped, a=-3, b=-2)}")
            shapes[name] = (*lead, count, length, columns // count)
    for name in ("k", "v"):
        own, wanted = shapes[name][:-2], shapes["q"][:-2]
        if own and wanted and 1 < own[-1] < wanted[-1] and wanted[-1] % own[-1] == 0:
            count = wanted[-1] // own[-1]
            repeated = program.put("repeat", x=name.upper(), count=count)
            program.add(
                f"{name.upper()} = {repeated}  # each key/value head serves {count} query heads in a row"
            )
    if program.lines[-1]:
        program.add("")


def stages(program: Program) -> None:
    """Scores to output, each asserted."""
    material = program.material
    trace, options = material.trace, material.options
    expected = stages_of(trace)
    place = iter(range(1, 20))

    def stage(name: str, title: str, *code: str) -> None:
        program.add(f"# {next(place)} {title}", *code)
        program.check(name, name, expected[name])
        program.add("")

    swapped = program.put("swap", x="K", a=-1, b=-2)
    stage(
        "scores", "Scores: every query with every key", f"scores = {program.put('matmul', x='Q', y=swapped)}"
    )
    last = "scores"
    if trace.scaled is not trace.scores:
        d_k = trace.q.shape[-1]
        root = options.scale == "sqrt_dk"
        factor = f"1 / math.sqrt({d_k})" if root else repr(float(trace.scale))
        title = f"Scaled by 1/√dₖ, dₖ = {d_k}" if root else "Scaled by a number of its own"
        stage("scaled", title, f"scaled = {last} * ({factor})")
        last = "scaled"
    if trace.tempered is not trace.scaled:
        stage("tempered", "Divided by the temperature", f"tempered = {last} / {options.temperature!r}")
        last = "tempered"
    if trace.capped is not trace.tempered:
        capped = program.put("tanh", x=f"{last} / {options.softcap!r}")
        stage("capped", "Softcap, before bias and mask", f"capped = {options.softcap!r} * {capped}")
        last = "capped"
    if trace.biased is not trace.capped:
        stage("biased", "The additive bias", f"biased = {last} + bias")
        last = "biased"
    if trace.rules:
        program.add(*mask(program), "")
        if trace.masked is not trace.biased:
            hidden = program.put("where", c="mask", x=last, y="-inf")
            stage("masked", "Masked keys get −∞", f"masked = {hidden}")
            last = "masked"
    softmax(program, last, expected, next(place))
    output = program.narrow(program.put("matmul", x="weights", y="V"))
    program.add(f"# {next(place)} Output: values, averaged with the weights", f"output = {output}")
    if options.heads is not None:
        merged = ", ".join(map(str, trace.output.shape))
        swapped = program.put("swap", x="output", a=-3, b=-2)
        program.add("heads_output = output", f"output = {program.put('reshape', x=swapped, shape=merged)}")
    program.check("output", "output", expected["output"])


def mask(program: Program) -> list[str]:
    """The mask as one line for each rule."""
    trace, options, problem = program.material.trace, program.material.options, program.material.problem
    n, m = trace.scores.shape[-2:]
    shift = offset(options, n, m)
    lines: list[tuple[str, str]] = []
    moved = "i" if shift == 0 else f"i + {shift}" if shift > 0 else f"i - {-shift}"
    if options.causal is not None:
        aligned = options.causal if isinstance(options.causal, str) else f"offset {options.causal}"
        lines.append((f"j <= {moved}", f"causal, {aligned}"))
    if options.window is not None:
        left, right = options.window
        sides = [] if left is None else [f"(j >= {moved} - {left})"]
        sides += [] if right is None else [f"(j <= {moved} + {right})"]
        if sides:
            lines.append((" & ".join(sides), "sliding window, inclusive"))
    if options.lengths is not None:
        if len(options.lengths) == 1:
            lines.append((f"j < {options.lengths[0]}", "valid keys"))
        else:
            shape = ", ".join(["-1", *["1"] * (trace.scores.ndim - 1)])
            valid = program.put(
                "reshape", x=f"{INTEGERS[program.dialect.name].format(x=list(options.lengths))}", shape=shape
            )
            lines.append((f"j < {valid}", "valid keys of each batch entry"))
    if problem.keep is not None:
        lines.append(("keep", "the keep mask"))
    if problem.bias is not None and np.isneginf(problem.bias).any():
        lines.append(("bias != -inf", "−∞ in the bias"))
    code = ["# Which key each query may attend to"]
    if any(name in condition for condition, _ in lines for name in ("i ", "j ")):
        arange = program.put("arange", x=n)
        code += [f"i, j = {arange}[:, None], {program.put('arange', x=m)}"]
    if not lines:
        return []
    code.append(f"mask = {lines[0][0]}  # {lines[0][1]}")
    for condition, word in lines[1:]:
        code.append(f"mask = mask & {condition if condition.isidentifier() else f'({condition})'}  # {word}")
    return code


INTEGERS = {
    "NumPy": "np.array({x})",
    "PyTorch": "torch.tensor({x})",
    "JAX": "jnp.array({x})",
    "Keras": "ops.convert_to_tensor({x})",
}


def softmax(program: Program, last: str, expected: dict[str, AnyArray], place: int) -> None:
    """Exponentials and weights, with what an empty row gives."""
    trace, options = program.material.trace, program.material.options
    empty = bool(trace.empty_rows.any())
    m = trace.scores.shape[-1]
    rest = "; the row maximum keeps exp from overflowing"
    program.add(f"# {place} Softmax of each row{rest}", f"row_max = {program.put('row_max', x=last)}")
    if empty:
        fill = {"zero": "weights 0", "nan": "weights NaN", "uniform": f"weights 1/{m}"}[options.empty_row]
        program.add(f"empty = row_max == -inf  # a query that may attend to nothing: {fill}")
        zero = program.put("where", c="empty", x="0.0", y="row_max")
        program.add(f"row_max = {zero}")
    program.add(f"exponentials = {program.put('exp', x=f'{last} - row_max')}")
    if empty and options.empty_row == "uniform":
        program.add(f"exponentials = {program.put('where', c='empty', x='1.0', y='exponentials')}")
    program.check("exponentials", "exponentials", expected["exponentials"])
    program.add(f"denominators = {program.put('row_sum', x='exponentials')}")
    divisor = "denominators"
    if empty and options.empty_row == "zero":
        divisor = program.put("where", c="empty", x="1.0", y="denominators")
    weights = program.narrow(f"exponentials / {divisor}")
    if empty and options.empty_row == "nan" and program.dialect.name == "NumPy":
        program.add('with np.errstate(invalid="ignore"):  # 0/0', f"    weights = {weights}")
    else:
        program.add(f"weights = {weights}")
    program.check("weights", "weights", expected["weights"])
    program.add("")


def compare_own(program: Program, name: str, own: str, tolerance: str = "") -> None:
    """Assert the result `own` of a framework's function; rows that may attend to nothing are left to its convention."""
    result = "heads_output" if program.material.options.heads is not None else "output"
    if program.material.trace.empty_rows.any():
        own, result = (program.put("where", c="empty", x="0.0", y=each) for each in (own, result))
    if tolerance:
        tolerance = f", {tolerance}"
    as_numbers = f"ops.convert_to_numpy({result})" if program.dialect.name == "Keras" else result
    program.add(f'check("{name}", {own}, {as_numbers}{tolerance})')
    program.checks += 1


def has_leading_axes_to_spread(program: Program) -> bool:
    """True where Q, K and V reach the leading axes of the scores only by broadcasting."""
    trace, problem = program.material.trace, program.material.problem
    if program.material.options.heads is not None:
        return False
    wanted = trace.scores.shape[:-2]
    shapes = (problem.q.shape[:-2], problem.k.shape[:-2], problem.v.shape[:-2])
    return any(
        len(own) != len(wanted) or any(a == 1 < b for a, b in zip(own, wanted, strict=True)) for own in shapes
    )


def closing(program: Program) -> str:
    """The last line, and the whole text."""
    program.add("", f'print("All {program.checks} comparisons hold.")')
    return program.text()
