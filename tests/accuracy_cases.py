"""Results drawn near their bounds: what our rules say of them, and how Arm's library is asked the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tosajit import accuracy
from tosajit.accuracy import Format

ULPS = (0.0, 0.5, 1.0, 2.0, 5.0)
FUNCTIONS: Mapping[str, Callable[[Any], Any]] = {
    "EXP": np.exp,
    "TANH": np.tanh,
    "SIGMOID": lambda x: 1 / (1 + np.exp(-x)),
    "LOG": np.log,
    "SIN": np.sin,
    "COS": np.cos,
}


@dataclass(frozen=True)
class Case:
    """A result, what our rules say of it, and the form in which Arm's library takes it."""

    kind: Format
    mode: str
    found: np.ndarray
    reference: np.ndarray
    ours: accuracy.Result
    bounds: np.ndarray | None = None
    info: Mapping[str, Any] = field(default_factory=dict)

    @property
    def compliance(self) -> dict[str, Any]:
        """The description of a test whose output this is."""
        about: dict[str, Any] = {"mode": self.mode, "data_type": self.kind.name}
        about |= {"shape": list(self.found.shape)}
        if self.info:
            about[f"{self.mode.lower()}_info"] = dict(self.info)
        return {"version": "1.2", "tensors": {"output": about}}


def cases(count: int, seed: int) -> Iterator[Case]:
    """Draw results in every format and mode in turn."""
    random = np.random.default_rng(seed)
    kinds = list(accuracy.FORMATS.values())
    for number in range(count):
        mode = MODES[number // len(kinds) % len(MODES)]
        with np.errstate(all="ignore"):
            yield mode(random, kinds[number % len(kinds)])


def stored(kind: Format, values: np.ndarray) -> np.ndarray:
    """Round numbers to a format."""
    return kind.rounded(values).astype(kind.dtype.storage)


def special(random: np.random.Generator, kind: Format, shape: tuple[int, ...]) -> np.ndarray:
    """Draw numbers that have rules of their own."""
    ends = [kind.normal_max, kind.normal_min, kind.normal_min / 2]
    return random.choice([0.0, -0.0, np.inf, -np.inf, np.nan, *ends, *(-end for end in ends)], shape)


def operands(random: np.random.Generator, kind: Format, shape: tuple[int, ...], spread: float) -> np.ndarray:
    """Draw numbers of a format, sometimes special ones."""
    if random.random() < 0.1:
        return kind.rounded(special(random, kind, shape))
    return kind.rounded(random.standard_normal(shape) * np.exp2(random.uniform(-spread, spread)))


def near(random: np.random.Generator, kind: Format, reference: np.ndarray, bound: np.ndarray) -> np.ndarray:
    """Draw results on both sides of a bound, and on it."""
    if random.random() < 0.1:
        return stored(kind, special(random, kind, reference.shape))
    part = np.where(random.random(reference.shape) < 0.2, 1.0, random.uniform(0, 1.5, reference.shape))
    error = np.nan_to_num(bound * part * random.choice([-1, 1]), posinf=0, neginf=0)
    return stored(kind, reference + error)


def ulp(random: np.random.Generator, kind: Format) -> Case:
    """A number of units in the last place, or two of them."""
    low, high = np.log2([kind.normal_min, kind.normal_max])
    size = np.exp2(random.uniform(low - kind.fraction - 2, high + 1.5))
    reference = random.standard_normal(3) * size
    if random.random() < 0.15:
        reference = special(random, kind, (3,))
    ulps = float(random.choice(ULPS))
    lower = 2 * ulps if random.random() < 0.2 else None
    found = near(random, kind, reference, (ulps + 0.3) * accuracy.reference_ulp(reference, kind.dtype))
    info = {"ulp": ulps} | ({} if lower is None else {"ulp_lower": lower})
    ours = accuracy.check(found, reference, kind.dtype, ulps, lower)
    return Case(kind, "ULP", found, reference, ours, None, info)


def exact(random: np.random.Generator, kind: Format) -> Case:
    """Numbers of the format, or neighbours, zero for what is subnormal, or something else altogether."""
    low, high = np.log2([kind.normal_min, kind.normal_max])
    size = np.exp2(random.uniform(low - kind.fraction, high - 1))
    reference = kind.rounded(random.standard_normal(3) * size)
    if random.random() < 0.3:
        reference = kind.rounded(special(random, kind, (3,)))
    found = reference.copy()
    if random.random() < 0.6:
        other = [reference[0] * (1 + kind.epsilon), -reference[0], 0.0, *special(random, kind, (2,))]
        found[0] = random.choice(kind.rounded(np.array(other)))
    ours = accuracy.check(found, reference, kind.dtype, 0)
    return Case(kind, "EXACT", stored(kind, found), reference, ours)


def absolute(name: str) -> Callable[[np.random.Generator, Format], Case]:
    """A function of one operand."""

    def draw(random: np.random.Generator, kind: Format) -> Case:
        x = operands(random, kind, (3,), 6)
        reference = FUNCTIONS[name](x)
        found = near(random, kind, reference, accuracy.bound(name, reference, kind.dtype, x))
        ours = accuracy.check_operator(name, found, reference, kind.dtype, x)
        info, bounds = arm_bounds(name, kind, np.abs(x))
        return Case(kind, "ABS_ERROR", found, reference, ours, bounds, info)

    return draw


def arm_bounds(name: str, kind: Format, size: np.ndarray) -> tuple[dict[str, Any], np.ndarray]:
    """Split the bound of a function as Arm's suite and reference model do."""
    base = 3 if kind.name == "FP32" else 1
    match name:
        case "EXP":
            return {"base_bound": base}, 2 * size
        case "TANH":
            return {"lower_bound": 0.5, "base_bound": 4 * base}, 8 * size
        case "SIGMOID":
            return {}, 2 * (1 + size)
        case "LOG":
            return {"lower_bound": 0.5}, np.full(size.shape, 5.0)
        case "SIN":
            about = {"base_bound": 2.0, "max_compare": np.pi * kind.normal_min}
            return about | {"bound_as_magnitude": True, "normal_divisor": 2}, size
    return {"base_bound": 1.0, "bound_as_magnitude": True, "normal_divisor": 2}, 1 + size


def precomputed(random: np.random.Generator, kind: Format) -> Case:
    """POW, whose bounds Arm's reference model calculates."""
    x, y = np.abs(operands(random, kind, (3,), 2)), operands(random, kind, (3,), 2)
    reference = np.power(x, y)
    bounds = accuracy.bound("POW", reference, kind.dtype, x, y)
    found = near(random, kind, reference, bounds)
    ours = accuracy.check_operator("POW", found, reference, kind.dtype, x, y)
    # By the text a bound that is not finite allows everything; Arm's library wants infinity there.
    return Case(kind, "PRECOMPUTED", found, reference, ours, np.where(np.isnan(bounds), np.inf, bounds))


def product(random: np.random.Generator, kind: Format) -> Case:
    """REDUCE_PRODUCT."""
    x = operands(random, kind, (3, int(random.integers(1, 9))), 3)
    reference = x.prod(axis=1)
    found = near(random, kind, reference, accuracy.bound("REDUCE_PRODUCT", reference, kind.dtype, x))
    ours = accuracy.check_operator("REDUCE_PRODUCT", found, reference, kind.dtype, x)
    return Case(kind, "REDUCE_PRODUCT", found, reference, ours, None, {"n": x.shape[1]})


def relative(random: np.random.Generator, kind: Format) -> Case:
    """RESIZE."""
    x = kind.rounded(random.standard_normal(6) * np.exp2(random.uniform(-9, 6)))
    reference = x[:3] / 3 + x[3:] / 7
    found = near(random, kind, reference, accuracy.bound("RESIZE", reference, kind.dtype, x))
    ours = accuracy.check_operator("RESIZE", found, reference, kind.dtype, x)
    info = {"max": float(np.abs(x).max()), "scale": 0.006, "ulp_bound": 20.0}
    return Case(kind, "MAX_RELATIVE", found, reference, ours, None, info)


def dot_product(random: np.random.Generator, kind: Format) -> Case:
    """Sums of products; errors are large or small, of one sign or both."""
    size, count, number = (int(random.integers(low, high)) for low, high in ((1, 9), (1, 20), (0, 6)))
    a, b = operands(random, kind, (count, size), 9), operands(random, kind, (count, size), 1)
    a = np.where(random.random(a.shape) < 0.1, 0.0, a)
    reference = (a * b).sum(axis=1)
    bounds = (accuracy.magnitudes(a, kind.dtype) * accuracy.magnitudes(b, kind.dtype)).sum(axis=1)
    if random.random() < 0.2:
        reference[0] = random.choice([0.0, reference[0]])
        bounds[0] = random.choice([0.0, np.nan, np.inf, 0.99 * kind.normal_max])
    unit = np.maximum(bounds * 2.0 ** (-1 - kind.fraction), kind.normal_min)
    error = np.abs(random.standard_normal(count)) * random.choice([0.2, 0.5, 1.0]) * size
    signs = random.choice([-1, 1], count) if random.random() < 0.5 else 1
    found = stored(kind, reference + np.nan_to_num(error * signs * unit, posinf=0, neginf=0))
    ours = accuracy.check_dot_product(found, reference, bounds, kind.dtype, size, number)
    info = {"s": number, "ksb": size, "abs_bound": 2 * size, "variance_error_bound": 4 * 0.4 * size}
    return Case(kind, "DOT_PRODUCT", found, reference, ours, bounds, info)


MODES: tuple[Callable[[np.random.Generator, Format], Case], ...] = (
    ulp,
    exact,
    dot_product,
    *(absolute(name) for name in FUNCTIONS),
    precomputed,
    product,
    relative,
)
