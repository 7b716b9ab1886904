"""Kinds of MAC array: what each is made of. A kind is a class; to define it is to register it.

What tiles take on an array is said beside it, in `sim.cost.arrays`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import prod
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self

from pydantic import BeforeValidator, SerializeAsAny, model_validator

from sim.machine.errors import Fault, MachineError, shown
from sim.machine.figures import Figure, Table, count
from sim.machine.parts import Part, Rates

Side = Annotated[int, count("an array has", 1 << 16, 16, "rows or columns")]
Words = Annotated[int, count("an element keeps", 1 << 20, 24, "words")]
BYTES_ONLY: Table[float] = Table({"8x8": 1.0})
"""Rates of an array that has multipliers of 8 bits, and emulates with these whatever is wider."""

ARRAYS: dict[str, type[MacArray]] = {}
"""All kinds by name, those that users define too."""


class MacArray(Part):
    """The common base of all kinds of MAC array.

    A kind is a subclass with a `kind` of its own (`kind: Literal["mine"] = "mine"`), fields, among them
    `rates`, and `factors`. Machines take it from then on, in Python and in files.
    """

    factors: ClassVar[tuple[str, ...]] = ()
    """The fields whose product is how many products a cycle one array does at its full rate."""

    own_channels: ClassVar[bool] = False
    """Whether it fetches from the off-chip memory itself, so that the DMA's requests do not limit it."""

    kind: str
    if TYPE_CHECKING:  # declared by each kind, behind the fields that say more
        rates: Rates

    @classmethod
    def __pydantic_init_subclass__(cls, **_: Any) -> None:
        kind = cls.model_fields["kind"].default
        if not isinstance(kind, str):
            raise TypeError(f'{cls.__name__} is a kind of array, so it says which: kind: Literal["…"] = "…"')
        missing = [name for name in ("rates", *cls.factors) if name not in cls.model_fields]
        if missing or not cls.factors:
            raise TypeError(f"{cls.__name__}: {_needs(missing)}")
        known = ARRAYS.setdefault(kind, cls)
        if (known.__module__, known.__qualname__) != (cls.__module__, cls.__qualname__):
            raise TypeError(
                f"{cls.__name__}: {kind!r} is the kind of {known.__qualname__}; take another name"
            )
        ARRAYS[kind] = cls  # a cell of a notebook may be run again

    @property
    def full_rate(self) -> int:
        """MACs a cycle of one array, at its full rate."""
        return prod(getattr(self, name) for name in self.factors)

    @property
    def weight_coding(self) -> str:
        """How weights are coded where `memory.compressed_weights` is set: as the `u55` or the `u85` does."""
        return "u55"

    @property
    def keeps_words(self) -> bool:
        """Whether its elements have memories of their own, whose words are counted."""
        return False

    @property
    def skips_pruned(self) -> bool:
        """Whether two of each four weights are skipped where they are zeros."""
        return False

    @property
    def skips_zeros(self) -> bool:
        """Whether weights that are zeros are skipped, wherever they are."""
        return False

    @property
    def pays_latencies(self) -> bool:
        """Whether the latencies of memories are in the array's own costs, and not beside each tile."""
        return False

    @property
    def does_elements(self) -> bool:
        """Whether its own output stage does the work on elements, during which it makes nothing else."""
        return False

    @property
    def weight_layout(self) -> str:
        """How weights are stored where they are not coded: in `phases`, in `tiles`, or as they are."""
        return ""

    @property
    def takes_filling(self) -> bool:
        """Whether what fills up weights as they are stored leaves the scratchpad with them."""
        return True

    def describe(self) -> str:
        """The array in a few words."""
        return f"{' × '.join(str(getattr(self, name)) for name in self.factors)} {self.kind}"

    def remedies(self, reason: str) -> Iterator[tuple[str, dict[str, Any]]]:
        """What might help where lanes idle for a reason, or where all work: in words and in fields."""
        if reason == "useful":
            name = self.factors[-1]
            yield f"twice the {name}", {name: 2 * getattr(self, name)}

    def sizes(self) -> list[dict[str, Any]]:
        """Fields of arrays of other sizes around this one, itself among them, from small to large."""
        name = self.factors[-1]
        own: int = getattr(self, name)
        return [{name: size} for size in (own // 2, own, 2 * own) if size]

    def rules(self, cores: int) -> Iterator[tuple[bool, str, str]]:
        """Contradictions with the rest of a machine: whether there is one, the field, and a remedy."""
        yield from ()


def _needs(missing: list[str]) -> str:
    if missing:
        return f"an array has {' and '.join(missing)} among its fields"
    return "factors names the fields whose product is the array's products a cycle"


class Systolic(MacArray):
    """An array of rows × columns through which operands flow."""

    factors = ("rows", "columns")

    kind: Literal["systolic"] = "systolic"
    rows: Side
    columns: Side
    dataflow: Literal["output", "weight", "input"] = "weight"
    weight_preload: bool = False
    """Whether the operands that stay are loaded while the array works with those before them."""
    packed_depthwise: bool = False
    """Whether products of a single filter, as channels of a depthwise convolution are, share the array."""
    whole_tiles: bool = False
    """Whether weights are stored, and come, as whole tiles of rows × columns."""
    rates: Rates = BYTES_ONLY
    """Products a cycle by operand types, a factor of the full rate: `8x8`, `8x4`, `16x8`, `fp16`, …"""

    @property
    def weight_layout(self) -> str:
        """How weights are stored."""
        return f"tiles {self.rows} {self.columns}" if self.whole_tiles else ""

    def describe(self) -> str:
        """The array in a few words."""
        return f"{self.rows} × {self.columns} {self.dataflow} stationary"

    def remedies(self, reason: str) -> Iterator[tuple[str, dict[str, Any]]]:
        """What it can do where weights stay."""
        yield from super().remedies(reason)
        if reason == "fill" and self.dataflow != "output" and not self.weight_preload:
            yield "with weight_preload", {"weight_preload": True}
        if reason in ("depthwise", "window") and self.dataflow == "weight" and not self.packed_depthwise:
            yield "with packed_depthwise", {"packed_depthwise": True}

    def rules(self, cores: int) -> Iterator[tuple[bool, str, str]]:
        """What only some dataflows can do."""
        yield (
            self.weight_preload and self.dataflow == "output",
            "array.weight_preload",
            "where outputs stay, nothing is loaded before; set it to false, or dataflow to weight or input",
        )
        yield (
            self.packed_depthwise and self.dataflow != "weight",
            "array.packed_depthwise",
            "only rows of weights can belong to several channels; set it to false, or dataflow to weight",
        )
        yield (
            self.whole_tiles and self.dataflow != "weight",
            "array.whole_tiles",
            "only an array whose weights stay takes them in tiles; set it to false, or dataflow to weight",
        )


class Block(MacArray):
    """An array that works in blocks of the result, as the Ethos-U does."""

    factors = ("macs_per_cycle",)
    own_channels = True

    kind: Literal["block"] = "block"
    family: Literal["u55", "u65", "u85"]
    macs_per_cycle: Annotated[int, count("an Ethos-U does", 1 << 20, 256, "products a cycle")]
    """Of one core."""
    rates: Rates = BYTES_ONLY

    @model_validator(mode="after")
    def _is_known(self) -> Self:
        known = BLOCKS[self.family]
        if self.macs_per_cycle not in known:
            sizes = ", ".join(map(str, known))
            text = f"{self.macs_per_cycle} is not a size of the {self.family}; sizes are {sizes}"
            raise MachineError([Fault("macs_per_cycle", text + " (of one core)")])
        return self

    @property
    def weight_coding(self) -> str:
        """How weights are coded: on the U65 as on the U55."""
        return "u85" if self.family == "u85" else "u55"

    @property
    def skips_pruned(self) -> bool:
        """Whether two of each four weights are skipped where they are zeros: on the U85."""
        return self.family == "u85"

    @property
    def pays_latencies(self) -> bool:
        """Whether latencies are in the array's own costs: block by block."""
        return True

    @property
    def does_elements(self) -> bool:
        """Whether its own output stage does the work on elements: commands follow each other."""
        return True

    def describe(self) -> str:
        """The array in a few words."""
        return f"{self.macs_per_cycle} MACs/cycle in blocks"

    def remedies(self, reason: str) -> Iterator[tuple[str, dict[str, Any]]]:
        """The next size of the family."""
        larger = [size for size in BLOCKS[self.family] if size > self.macs_per_cycle]
        if reason == "useful" and larger:
            yield f"{larger[0]} MACs a cycle", {"macs_per_cycle": larger[0]}

    def sizes(self) -> list[dict[str, Any]]:
        """Those of the family."""
        return [{"macs_per_cycle": size} for size in BLOCKS[self.family]]

    def rules(self, cores: int) -> Iterator[tuple[bool, str, str]]:
        """Only the U65 can have two cores."""
        yield (
            cores > (2 if self.family == "u65" else 1),
            "cores",
            f"{cores} is not a number of cores of this family; the u65 has 1 or 2, others have 1",
        )


BLOCKS = {"u55": (32, 64, 128, 256), "u65": (256,), "u85": (128, 256, 512, 1024, 2048)}
"""Products a cycle of one core, by family."""


class RowStationary(MacArray):
    """An array that keeps rows of filters in its elements, as Eyeriss does."""

    factors = ("rows", "columns")

    kind: Literal["row-stationary"] = "row-stationary"
    rows: Side
    columns: Side
    filter_words: Words = 224
    input_words: Words = 12
    sum_words: Words = 24
    mapping: Literal["time", "offchip"] = "time"
    """What mappings are chosen for: the time of each tile, or few words of the off-chip memory."""
    map_banks: Annotated[int, count("a buffer has", 1 << 16, 25, "banks")] = 25
    """Banks of the global buffer that hold inputs or sums, where mappings spare the off-chip memory."""
    bank_bytes: Annotated[int, count("a bank has", 1 << 30, 4096, "bytes")] = 4096
    zero_inputs: Annotated[float, Figure("a share", "zeros are", 0, 1, 0.5, "of all inputs", False)] = 0.0
    """Share of the inputs that are taken to be zero: their products take time, but not their energy."""
    rates: Rates = BYTES_ONLY

    @property
    def keeps_words(self) -> bool:
        """Yes: inputs, filters and sums."""
        return True

    def describe(self) -> str:
        """The array in a few words."""
        return f"{self.rows} × {self.columns} row stationary"


class DotProduct(MacArray):
    """Cells that each add up products of many channels for one filter, as in NVDLA; nothing is skewed.

    The cells hold weights of one element of the window while a stripe of positions passes by; meanwhile the
    next weights come, those of a cell in a cycle.
    """

    factors = ("filters", "channels")

    kind: Literal["dot-product"] = "dot-product"
    filters: Side
    """Cells: each works for a filter of its own."""
    channels: Side
    """Products of a cell in a cycle."""
    stripe: Annotated[int, count("the accumulators hold", 1 << 24, 32, "positions")] = 32
    """Positions whose sums the accumulators hold."""
    loaded_filters: Annotated[int, count("in a cycle come the weights of", 1 << 16, 2, "filters")] = 1
    """Filters of which the next weights come in a cycle."""
    packed_channels: Annotated[
        int, Figure("a number of channels", "images are packed that have up to", 0, 1 << 16, 4, "channels")
    ] = 0
    """Up to how many channels of an image share a cell with the columns of the window."""
    strided: Literal["direct", "phases"] = "direct"
    """Whether a convolution with a stride has weights for whole steps of it, one phase of the image beside
    another as channels: a window of 3 with a stride of 2 has those of 4."""
    depthwise: Literal["single", "cells"] = "single"
    """Whether a depthwise convolution has one channel at a time, or one in each cell."""
    sparsity: Literal["none", "2:4", "zeros"] = "none"
    """Whether weights that are zeros are skipped: two of each four along the channels, where these are zeros
    everywhere, or `zeros` wherever they are, as each cell takes the inputs of its own others."""
    rates: Rates = BYTES_ONLY

    @property
    def skips_pruned(self) -> bool:
        """Whether two of each four weights are skipped where they are zeros."""
        return self.sparsity == "2:4"

    @property
    def skips_zeros(self) -> bool:
        """Whether weights that are zeros are skipped, wherever they are."""
        return self.sparsity == "zeros"

    @property
    def weight_layout(self) -> str:
        """How weights are stored."""
        return "phases" if self.strided == "phases" else ""

    @property
    def takes_filling(self) -> bool:
        """No: of the weights of whole strides it reads those that it multiplies."""
        return False

    def describe(self) -> str:
        """The array in a few words."""
        return f"{self.filters} dot products of {self.channels}"

    def remedies(self, reason: str) -> Iterator[tuple[str, dict[str, Any]]]:
        """What few channels and depthwise convolutions could have."""
        yield from super().remedies(reason)
        if reason == "depthwise" and self.depthwise == "single":
            yield "with depthwise in cells", {"depthwise": "cells"}
        if reason == "channels" and self.packed_channels < 4:
            yield "with packed_channels of 4", {"packed_channels": 4}


def _made(given: object) -> object:
    """The array that a table says, by its kind."""
    if isinstance(given, Mapping):
        kind = given.get("kind")
        part = ARRAYS.get(kind) if isinstance(kind, str) else None
        if part is None:
            raise MachineError(_unknown(shown(kind) if "kind" in given else "missing"))
        return part.model_validate(given)
    if isinstance(given, MacArray) and ARRAYS.get(given.kind) is not type(given):
        raise MachineError(_unknown(f"that of {type(given).__name__}, which another class has taken"))
    return given


def _unknown(kind: str) -> str:
    return f"kind is {kind}, but must be one of {', '.join(ARRAYS)}"


AnyArray = Annotated[SerializeAsAny[MacArray], BeforeValidator(_made)]
"""A field that any kind of array can stand in."""
