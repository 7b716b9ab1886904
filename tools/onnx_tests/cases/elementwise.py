"""Operators that work on one element of each operand."""

from __future__ import annotations

from drawing import Array, Random, array, shape_of

from onnx_tests.cases import NARROW, REAL, WIDE, Drawn, case, chance, one_of

DOMAINS = {
    "Acos": (-1, 1), "Asin": (-1, 1), "Atanh": (-0.9, 0.9), "Acosh": (1, 9), "Log": (0.1, 9), "Sqrt": (0, 9),
    "Reciprocal": (0.3, 4), "Tan": (-1.2, 1.2),
}  # fmt: skip
LATER = (20, 21, 22, 23)


@case("Acos Acosh Asin Asinh Atan Atanh Cos Cosh Sin Sinh Tan Tanh Exp Log Sqrt Reciprocal Sigmoid Erf "
      "Softsign Softplus HardSwish Mish Round Floor Ceil Identity")  # fmt: skip
def functions(rng: Random, name: str) -> Drawn:
    """Functions of real numbers."""
    return Drawn((array(rng, one_of(rng, *REAL), shape_of(rng), *DOMAINS.get(name, (-4, 4))),))


@case("Abs Neg Sign Relu")
def signs(rng: Random, name: str) -> Drawn:
    """Functions of numbers of all types."""
    return Drawn((array(rng, one_of(rng, *REAL, "int32", "int8", "int64"), shape_of(rng)),))


@case("Elu LeakyRelu Selu Celu ThresholdedRelu HardSigmoid Shrink Swish")
def activations(rng: Random, name: str) -> Drawn:
    """Activations with numbers of their own."""
    kind = "float32" if name == "Celu" else one_of(rng, *REAL)
    names = {
        "Selu": ("alpha", "gamma"), "HardSigmoid": ("alpha", "beta"), "Shrink": ("lambd", "bias"),
    }.get(name, ("alpha",))  # fmt: skip
    attributes = {one: float(rng.uniform(0.1, 1.5)) for one in names if chance(rng, 0.7)}
    return Drawn(
        (array(rng, kind, shape_of(rng)),), attributes, opsets=(24,) if name == "Swish" else (22, 23)
    )


@case("Gelu")
def gelu(rng: Random, name: str) -> Drawn:
    """GELU, by the error function or by a hyperbolic tangent."""
    attributes = {"approximate": one_of(rng, "none", "tanh")} if chance(rng) else {}
    return Drawn((array(rng, one_of(rng, *REAL), shape_of(rng)),), attributes, opsets=LATER)


@case("IsNaN IsInf")
def kinds(rng: Random, name: str) -> Drawn:
    """What is no finite number."""
    given = array(rng, one_of(rng, *REAL), shape_of(rng, 1))
    for value in ("nan", "inf", "-inf"):
        given.flat[rng.integers(given.size)] = float(value)
    directions = {"detect_negative": int(chance(rng)), "detect_positive": int(chance(rng))}
    return Drawn((given,), directions if name == "IsInf" and chance(rng) else {}, opsets=LATER)


@case("Not BitwiseNot")
def inverted(rng: Random, name: str) -> Drawn:
    """Bits and truths."""
    kind = "bool" if name == "Not" else one_of(rng, *NARROW, "int32")
    return Drawn((array(rng, kind, shape_of(rng), -200, 200),))


@case("PRelu")
def prelu(rng: Random, name: str) -> Drawn:
    """A slope for each channel, or element."""
    value, slope = _pair(rng, one_of(rng, *REAL), both=False)
    return Drawn((value, slope), constant=(1,) if chance(rng) else ())


@case("Add Sub Mul")
def sums(rng: Random, name: str) -> Drawn:
    """Sums and products, which wrap in integers."""
    return _drawn(rng, _pair(rng, one_of(rng, *REAL, *WIDE, "int8", "uint8")))


@case("Div")
def quotients(rng: Random, name: str) -> Drawn:
    """Quotients, cut towards zero in integers."""
    left, right = _pair(rng, one_of(rng, *REAL, "int32", "int64", "int8", "uint8"))
    return _drawn(rng, (left, _without_zero(right)))


@case("Mod")
def remainders(rng: Random, name: str) -> Drawn:
    """Remainders with the sign of either operand."""
    kind = one_of(rng, "float32", "int32", "int8", "uint8", "int64")
    left, right = _pair(rng, kind, low=-100, high=100)
    fmod = kind == "float32" or chance(rng)
    return _drawn(rng, (left, _without_zero(right)), {"fmod": 1} if fmod else {})


@case("Pow")
def powers(rng: Random, name: str) -> Drawn:
    """Powers of positive numbers, and whole ones of all."""
    if chance(rng):
        left, right = _pair(rng, "float32", low=0.2, high=3)
        return _drawn(rng, (left, right))
    left, right = _pair(rng, one_of(rng, "float32", "int32"), low=1, high=4)
    return _drawn(rng, (left, right))


@case("Max Min Sum Mean")
def several(rng: Random, name: str) -> Drawn:
    """Any number of operands."""
    kind = (
        one_of(rng, *REAL)
        if name in ("Sum", "Mean")
        else one_of(rng, *REAL, "int32", "int8", "uint8", "int64")
    )
    given = list(_pair(rng, kind))
    while chance(rng):
        given.append(given[rng.integers(2)])
    return Drawn(tuple(given[: int(rng.integers(1, len(given) + 1))]))


@case("Less LessOrEqual Greater GreaterOrEqual Equal")
def compared(rng: Random, name: str) -> Drawn:
    """Comparisons of few different numbers."""
    return _drawn(rng, _pair(rng, one_of(rng, "float32", "int32", "int64", "int8", "uint8"), low=-2, high=2))


@case("And Or Xor")
def truths(rng: Random, name: str) -> Drawn:
    """Truths."""
    return _drawn(rng, _pair(rng, "bool"))


@case("BitwiseAnd BitwiseOr BitwiseXor")
def bits(rng: Random, name: str) -> Drawn:
    """Bits."""
    return _drawn(rng, _pair(rng, one_of(rng, *NARROW, "int32"), low=-200, high=200))


@case("BitShift")
def shifts(rng: Random, name: str) -> Drawn:
    """Shifts of numbers without sign."""
    shape = shape_of(rng)
    given = array(rng, "uint8", shape, 0, 255), array(rng, "uint8", shape, 0, 7)
    return Drawn(given, {"direction": one_of(rng, "LEFT", "RIGHT")})


@case("Where")
def chosen(rng: Random, name: str) -> Drawn:
    """One of two, by a truth."""
    kind = one_of(rng, *REAL, "int32", "int64", "uint8", "bool")
    left, right = _pair(rng, kind)
    condition, _ = _pair(rng, "bool", like=left)
    return Drawn((condition, left, right))


@case("Clip")
def clipped(rng: Random, name: str) -> Drawn:
    """Bounds that are there, or not."""
    kind = one_of(rng, *REAL, "int32", "int8", "uint8", "int64")
    low = array(rng, kind, (), 0, 1) if chance(rng, 0.7) else None
    high = array(rng, kind, (), 2, 3) if chance(rng, 0.7) else None
    return Drawn((array(rng, kind, shape_of(rng)), low, high), constant=(1, 2) if chance(rng, 0.7) else ())


@case("Cast")
def casts(rng: Random, name: str) -> Drawn:
    """From each type to each."""
    kinds = {
        "float32": 1,
        "uint8": 2,
        "int8": 3,
        "int16": 5,
        "int32": 6,
        "int64": 7,
        "bool": 9,
        "float16": 10,
    }
    source, target = one_of(rng, *kinds), one_of(rng, *kinds)
    low = 0 if target == "uint8" and "float" in source else -100
    return Drawn((array(rng, source, shape_of(rng), low, 100),), {"to": kinds[target]})


@case("CumSum")
def running_sums(rng: Random, name: str) -> Drawn:
    """Sums of all that is before."""
    given = array(rng, one_of(rng, "float32", "int32", "int64"), shape_of(rng, 1))
    axis = array(rng, "int32", (), -given.ndim, given.ndim - 1)
    attributes = {one: 1 for one in ("exclusive", "reverse") if chance(rng)}
    return Drawn((given, axis), attributes, constant=(1,))


def _pair(
    rng: Random, kind: str, low: float = -4, high: float = 4, both: bool = True, like: Array | None = None
) -> tuple[Array, Array]:
    """Two operands of shapes that broadcast."""
    shape = shape_of(rng) if like is None else like.shape
    narrow = tuple(extent if chance(rng, 0.6) else 1 for extent in shape)[int(rng.integers(len(shape) + 1)) :]
    given = array(rng, kind, shape, low, high), array(rng, kind, narrow, low, high)
    return (given[1], given[0]) if both and like is None and chance(rng, 0.3) else given


def _without_zero(given: Array) -> Array:
    given[given == 0] = 3
    return given


def _drawn(rng: Random, given: tuple[Array, ...], attributes: dict[str, int] | None = None) -> Drawn:
    return Drawn(given, attributes or {}, constant=one_of(rng, (), (), (0,), (1,)))
