"""An estimate of how many bytes weights take in the stream that the Ethos-U decodes.

Weights go in the order and with the padding that the array wants. The stream (as Vela 5.2.0 writes it) is cut
into slices; each codes magnitude and sign as Golomb-Rice numbers, either all of them or a palette's indices,
and runs of zeros apart where zeros are frequent. Here sections of a fixed length take the best of these.
"""

from __future__ import annotations

import weakref
from collections.abc import Collection, Mapping, Sequence
from math import prod

import numpy as np

from sim.arrays import Array
from sim.cost.ethos.cycles import SCALE_BYTES
from sim.cost.ethos.stages import scales
from sim.cost.geometry import contracts_constant, geometry, kept, roles_of
from sim.machine.machine import Machine
from tiling.expr import BYTES
from tiling.nest import Nest

SECTION = 4096
"""Weights that share a way of coding."""
HEADER_BITS = 40
PALETTE = 32
ZERO_RATIO = 1.5
"""How much more frequent than any other value zeros have to be for runs of them to be coded."""
LARGEST_QUOTIENT = 31
IMPOSSIBLE = 1 << 20
PHASES, TILES = "phases", "tiles"


_sizes: dict[tuple[int, bool, str, int], int] = {}


def stored_sizes(
    nests: Sequence[Nest], constants: Mapping[str, Array], machine: Machine, apart: Collection[str] = ()
) -> dict[str, int]:
    """The sizes of weights that are coded or packed, by operand; machines take others as they are.

    Weights that are `apart` serve several nests, whose biases and scales do not come with them.
    """
    family = coding(machine)
    if not family:
        return _packed_sizes(nests, constants, machine)
    if family == PHASES:
        return _in_phases(nests, constants) | _packed_sizes(nests, constants, machine)
    if family.startswith(TILES):
        return _in_tiles(nests, constants, *map(int, family.split()[1:]))
    found = {}
    for nest in nests:
        roles = roles_of(nest) if nest.verb == "contract" else None
        if roles is None or roles.weights is None or not contracts_constant(nest):
            continue
        access, bits = nest.reads[roles.weights], 8 * BYTES[nest.reads[roles.data].type]
        array = constants.get(access.operand)
        if array is not None and array.dtype == np.int8:
            shape = access.shape if len(access.shape) > 1 else (_columns(nest), -1)
            found[access.operand] = _size(array, shape, roles.depthwise, family, bits)
            _add_scales(found, nest, access.operand, constants, family, access.operand in apart)
    return found


def _add_scales(
    found: dict[str, int],
    nest: Nest,
    weights: str,
    constants: Mapping[str, Array],
    family: str,
    apart: bool,
) -> None:
    """Biases and scales come with the weights, in one stream: they have no bytes of their own.

    If they come apart, the first of them that no other nest reads has those of all.
    """
    names = [nest.reads[number].operand for number in scales(nest)]
    beside = [name for name in names if name in constants and name != weights]
    own = next((name for name in beside if name not in found), None) if apart else weights
    for name in beside:
        found[name] = found.get(name, 0) if apart else 0
    if own is not None:
        found[own] += scale_bytes(_columns(nest), family)


def _packed_sizes(nests: Sequence[Nest], constants: Mapping[str, Array], machine: Machine) -> dict[str, int]:
    """Sizes of weights of which half are skipped: the others, each with two bits that say where it is.

    Where zeros are skipped wherever they are, a bit of each weight says whether it is one, as NVDLA's do.
    """
    array = machine.array
    if array is not None and array.skips_zeros:
        masked = {one.operand for nest in nests for one in nest.reads if one.kept is not None}
        return {name: _masked(constants[name]) for name in sorted(masked & constants.keys())}
    if array is None or not array.skips_pruned:
        return {}
    pruned = {access.operand for nest in nests for access in nest.reads if access.pruned}
    return {name: _packed(constants[name]) for name in sorted(pruned & constants.keys())}


def _masked(array: Array) -> int:
    return min(array.nbytes, int(np.count_nonzero(array)) * array.itemsize + -(-array.size // 8))


def _packed(array: Array) -> int:
    count: int = array.size // array.shape[-1] * kept(array.shape[-1])
    return min(array.nbytes, count * array.itemsize + -(-count // 4))


def coding(machine: Machine) -> str:
    """How a machine stores weights: as the `u55` or `u85` does, in `phases`, in `tiles`, or as they are."""
    array = machine.array
    if array is None:
        return ""  # a machine without an array codes nothing
    return array.weight_coding if machine.memory.compressed_weights else array.weight_layout


def _in_phases(nests: Sequence[Nest], constants: Mapping[str, Array]) -> dict[str, int]:
    """Sizes of weights of convolutions with strides, for windows of whole strides."""
    found = {}
    for nest in nests:
        one = geometry(nest, nest.extents) if nest.verb == "contract" else None
        if one is None or one.weights is None or one.stride == (1, 1):
            continue
        name = nest.reads[one.weights].operand
        if name in constants:
            whole = prod(_up(size, step) for size, step in zip(one.kernel, one.stride, strict=True))
            found[name] = constants[name].nbytes // prod(one.kernel) * whole
    return found


def _in_tiles(
    nests: Sequence[Nest], constants: Mapping[str, Array], rows: int, columns: int
) -> dict[str, int]:
    """Sizes of weights in whole tiles of products × filters, but of those of depthwise convolutions."""
    found = {}
    for nest in nests:
        one = geometry(nest, nest.extents) if nest.verb == "contract" else None
        if one is None or one.weights is None or one.kind == "depthwise":
            continue
        access = nest.reads[one.weights]
        if access.operand in constants:
            window = prod(one.kernel) * one.in_channels
            tiles = one.groups * _up(window, rows) * _up(one.columns, columns)
            found[access.operand] = tiles * BYTES[access.type]
    return found


def _columns(nest: Nest) -> int:
    roles = roles_of(nest)
    assert roles is not None
    return prod(nest.axes[axis].extent for axis in roles.filters)


def _size(array: Array, shape: tuple[int, ...], depthwise: bool, family: str, bits: int) -> int:
    """The coded size of an array, computed once as long as it lives."""
    key = (id(array), depthwise, family, bits)
    if key not in _sizes:
        _sizes[key] = coded_bytes(array.reshape(shape), depthwise, family, bits=bits)
        weakref.finalize(array, _sizes.pop, key, None)
    return _sizes[key]


def coded_bytes(
    values: Array,
    depthwise: bool = False,
    family: str = "u55",
    kernel_first: bool | None = None,
    bits: int = 8,
) -> int:
    """Bytes of a coded weight tensor, O × KH × KW × I (or O × I), or KH × KW × C × M if depthwise.

    What they are multiplied with has so many `bits`.
    """
    if values.size == 0:
        return 0
    stream = ordered(values, depthwise, family, kernel_first, bits)
    whole = -(-stream.size // SECTION) * SECTION
    counts = _histograms(stream, whole // SECTION)
    bits = _section_bits(counts).sum() + HEADER_BITS * len(counts)
    return -(-int(bits) // 128) * 16


def scale_bytes(channels: int, family: str) -> int:
    """Bytes of the biases and scales of so many channels, of which the U85 takes sixteen at a time."""
    return _up(SCALE_BYTES * (_up(channels, 16) if family == "u85" else channels), 16)


def ordered(
    values: Array, depthwise: bool, family: str, kernel_first: bool | None = None, bits: int = 8
) -> Array:
    """The weights in about the order of the stream, with the zeros that fill up microblocks."""
    array = np.asarray(values).astype(np.int16, copy=False)
    if depthwise:
        rows, columns = array.shape[0], array.shape[1]
        taps = array.reshape(rows * columns, -1)
        return _padded(taps, _taps(rows * columns, family, True, bits), 16 if family == "u85" else 8).ravel()
    window = array.reshape(array.shape[0], -1, array.shape[-1])
    count, elements, channels = window.shape
    first = _kernel_first(elements, channels, family, bits) if kernel_first is None else kernel_first
    deep = _depth(channels, first, family, bits)
    wide = np.zeros(
        (_up(count, 8), _taps(elements, family, False, bits) if first else elements, deep), np.int16
    )
    wide[:count, :elements, :channels] = window
    # Eights of results, then the kernel or the channels, so that sections see neighbours.
    return wide.reshape(len(wide) // 8, 8, wide.shape[1], deep).transpose(0, 2, 3, 1).ravel()


def _kernel_first(elements: int, channels: int, family: str, bits: int) -> bool:
    """Whether the elements of the kernel come before channels: where that fills the array better."""
    if family == "u85":
        taps = elements // 5 * 5 + max(elements % 5, 2)
        return channels / _up(channels, 16) * (elements / taps) >= channels / _up(channels, 64)
    if channels <= 8:
        return True
    taps = _taps(elements, family, False, bits)
    return channels / _up(channels, 8) * (elements / taps) >= channels / _depth(channels, False, family, bits)


def _taps(elements: int, family: str, depthwise: bool, bits: int) -> int:
    if family == "u85":
        return _up(elements, 10 if depthwise else 5) if elements > 1 or depthwise else elements
    return _up(elements, 4 if bits == 8 else 2)


def _depth(channels: int, kernel_first: bool, family: str, bits: int) -> int:
    if family == "u85":
        return _up(channels, 16)
    return _up(channels, 8 if kernel_first else 32 if bits == 8 else 16)


def _padded(array: Array, rows: int, columns: int) -> Array:
    wide = np.zeros((rows, _up(array.shape[1], columns)), np.int16)
    wide[: array.shape[0], : array.shape[1]] = array
    return wide


def _histograms(stream: Array, sections: int) -> Array:
    """How often each value from -256 to 255 occurs in each section."""
    bins = np.zeros(sections * SECTION, np.int64)
    bins[: stream.size] = stream
    bins.reshape(sections, SECTION)[...] += 512 * np.arange(sections)[:, None] + 256
    found: Array = np.bincount(bins[: stream.size], minlength=sections * 512).reshape(sections, 512)
    return found


_VALUES = np.arange(-256, 256)
_INDEX = np.where(_VALUES < 0, -2 * _VALUES + 1, 2 * _VALUES)
"""Magnitude and sign of a value as one number."""


def _rice(indices: Array) -> Array:
    """Bits of indices by divisor, full and cut short; one row a way."""
    rows = []
    for divisor in range(6):
        quotient = indices >> divisor
        rows.append(np.where(quotient > LARGEST_QUOTIENT, IMPOSSIBLE, quotient + 1 + divisor))
        rows.append(np.where(quotient > 2, IMPOSSIBLE, np.minimum(quotient + 1, 2) + divisor))
    return np.stack(rows)


_DIRECT = _rice(_INDEX).T.astype(float)
_RANKED = _rice(np.arange(512)).T.astype(float)
"""As floats, whose products are found sooner than those of integers, and as exactly."""


def _section_bits(counts: Array) -> Array:
    """Bits of each section, coded in the best way."""
    direct = _plain_bits(counts)
    zeros = counts[:, 256]
    others = counts.copy()
    others[:, 256] = 0
    frequent = zeros > ZERO_RATIO * others.max(axis=1)
    if not frequent.any():
        return direct
    apart = _plain_bits(others) + _run_bits(zeros, others.sum(axis=1))
    return np.where(frequent, np.minimum(direct, apart), direct)


def _plain_bits(counts: Array) -> Array:
    """Bits without runs of zeros: by value, by palette, or as they are."""
    total, used = counts.sum(axis=1), counts > 0
    largest = np.where(used, _INDEX, 0).max(axis=1)
    width = np.maximum(2, np.ceil(np.log2(largest + 1)).astype(np.int64))
    bits: Array = np.minimum(_least(counts, _DIRECT), total * width)
    size = used.sum(axis=1)
    (small,) = np.nonzero(size <= PALETTE)
    if small.size:
        counts, total, size = counts[small], total[small], size[small]
        index = np.maximum(1, np.ceil(np.log2(np.maximum(size, 2))).astype(np.int64))
        ranked = np.sort(counts, axis=1)[:, ::-1]
        by_rank = np.minimum(_least(ranked, _RANKED), total * index) + size * width[small]
        bits[small] = np.minimum(bits[small], by_rank)
    return bits


def _least(counts: Array, ways: Array) -> Array:
    """Bits of the best way, one a column, to code values that occur so often."""
    found: Array = (counts @ ways).min(axis=1).astype(np.int64)
    return found


def _run_bits(zeros: Array, others: Array) -> Array:
    """Bits of the runs of zeros between other values, for runs of random lengths."""
    gaps = others + 1
    mean = zeros / gaps
    ways = [gaps * (1 + divisor + mean / (1 << divisor)) for divisor in range(4)]
    found: Array = np.minimum.reduce(ways).astype(np.int64)
    return found


def _up(value: int, granule: int) -> int:
    return -(-value // granule) * granule
