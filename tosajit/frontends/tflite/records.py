"""What is in a TFLite file, as frozen values; nothing here knows TOSA."""

from __future__ import annotations

from dataclasses import field

from tiling.records import dataclass
from tosajit.arrays import Array
from tosajit.frontends.tflite.fields import Options
from tosajit.frontends.tflite.schema import Type


@dataclass(frozen=True, slots=True, eq=False)
class Quantization:
    """What the integers of a tensor mean: `scale * (integer - zero_point)`."""

    scale: tuple[float, ...]
    """One number for the tensor, or one for each index along `axis`; each is exactly a float32."""
    zero_point: tuple[int, ...]
    axis: int = 0
    details: str = ""
    """A kind of quantisation that these fields do not say, such as `blockwise`."""

    @property
    def per_axis(self) -> bool:
        """Whether there are several scales."""
        return len(self.scale) > 1


@dataclass(frozen=True, slots=True, eq=False)
class Dimension:
    """How one dimension of a sparse tensor is stored: densely, or as compressed rows."""

    dense_size: int
    segments: tuple[int, ...] | None = None
    indices: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Sparsity:
    """How the elements of a sparse constant are ordered."""

    traversal_order: tuple[int, ...]
    block_map: tuple[int, ...]
    dimensions: tuple[Dimension, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Tensor:
    """A tensor of a subgraph."""

    place: int
    name: str
    type: Type
    shape: tuple[int, ...]
    signature: tuple[int, ...] = ()
    """The shape with -1 for open extents, where the file has one."""
    data: Array | None = field(default=None, repr=False)
    """The elements of a constant, with zeros between them where it is sparse."""
    quantization: Quantization | None = None
    is_variable: bool = False
    sparsity: Sparsity | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Operator:
    """One use of an operator; operands are places of tensors, -1 for one that is left out."""

    place: int
    name: str
    """A builtin operator, or the name of a custom one."""
    custom: bool
    version: int
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    options: Options
    custom_options: bytes = b""
    intermediates: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Subgraph:
    """Tensors and operators, in an order in which they can be run."""

    place: int
    name: str
    tensors: tuple[Tensor, ...]
    operators: tuple[Operator, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Signature:
    """A named way to call a subgraph; inputs and outputs are names with places of tensors."""

    key: str
    subgraph: int
    inputs: tuple[tuple[str, int], ...]
    outputs: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True, eq=False)
class Model:
    """A file."""

    description: str
    subgraphs: tuple[Subgraph, ...]
    signatures: tuple[Signature, ...]
    metadata: tuple[str, ...] = ()
    """The names of what else is in the file."""
