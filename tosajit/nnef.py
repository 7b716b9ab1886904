"""Models and operators in SkriptND, the language of NNEF 2.0.

`parse` makes a graph of a text. `operator` makes a function of an operator that you write yourself, which is
compiled, tiled and timed as TOSA's are:

```python
import numpy as np
import tosajit as tj
from tosajit import nnef

smooth = nnef.operator('''
    operator smooth {
        @attrib { w: int; }
        @input { x: real[n]; }
        @output { y: real[n]; }
        @lower { y[i] += x[|i + j - w/2|] / real(w), i < n, j < w; }
    }
''', w=3)

smooth(np.ones(8, np.float32))            # on arrays

@tj.jit
def layer(x):
    return tj.ops.tanh(smooth(x))         # in a traced function, fused with its neighbours
```
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tiling.records import replace
from tosajit.arrays import Array
from tosajit.dtypes import BOOL, FP32, INT32, DType
from tosajit.errors import TraceError
from tosajit.frontends.common.custom import cut
from tosajit.frontends.nnef.loading import parse
from tosajit.frontends.nnef.model import Definition, Operation, tensors_of, tensors_told
from tosajit.frontends.nnef.nests.assignment import largest_shape
from tosajit.frontends.nnef.nests.bound import definition_of, operation_of, operator_names
from tosajit.frontends.nnef.nests.custom import KINDS
from tosajit.frontends.nnef.nests.text import DOMAIN, Written, encoded
from tosajit.frontends.nnef.values.value import Value
from tosajit.ops import custom
from tosajit.tracing import jit
from tosajit.tracing.numbers import typed
from tosajit.tracing.recorder import current_trace
from tosajit.tracing.tensor import Tensor

__all__ = ["Operator", "operator", "parse"]

_NUMBERS = {bool: np.bool_, int: np.int32, float: np.float32}
_TYPES = {"int": INT32, "bool": BOOL}


def operator(
    text: str,
    name: str | None = None,
    /,
    *,
    types: Sequence[str] = (),
    modules: Mapping[str, str] | None = None,
    **attributes: Any,
) -> Operator:
    """An operator of a module in SkriptND, to be called on arrays or on traced tensors.

    * `text` is the module; the standard modules can be imported.
    * `name` is the operator; it can be left out if there is one only.
    * `modules` are the texts of other modules that it imports, by name.
    * `types` are its generic types, where operands do not tell them.
    * `attributes` are those of the operator.

    Raises `ScriptError` with every fault of the text.
    """
    texts = tuple(sorted((modules or {}).items()))
    if name is None:
        names = operator_names(text, texts)
        if len(names) != 1:
            raise TraceError(f"say which operator: the text has {', '.join(names) or 'none'}")
        (name,) = names
    try:
        definition = definition_of(text, name, texts)
    except ValueError as error:
        raise TraceError(str(error)) from None
    given = {key: _value(definition, key, value) for key, value in attributes.items()}
    written = Written(text, name, tuple(types), tuple(sorted(given.items())), modules=texts)
    return Operator(written, definition)


@dataclass(frozen=True)
class Operator:
    """An operator with its attributes, which is called on its inputs in the order of their declaration.

    A pack is a list, and None stands for an optional input that is left out. Results are as the operator's
    outputs: one, or a tuple of them; a pack is a list. Real numbers have the type of the first real input.
    Results whose shape data decide are cut to size on arrays; in a traced function they are as large as they
    can be.
    """

    written: Written
    """The text and what is said besides operands."""
    definition: Definition = field(repr=False)
    _compiled: dict[object, Any] = field(default_factory=dict, repr=False, compare=False)

    @property
    def name(self) -> str:
        """What the text calls it."""
        return self.written.operator

    def __call__(self, *inputs: Any) -> Any:
        """Call it: record a CUSTOM operator in a traced function; on arrays, compile and run it."""
        declared = self.definition.operator.inputs
        if len(inputs) > len(declared):
            raise TraceError(f"{self.name} has {len(declared)} inputs, but got {len(inputs)}")
        groups = [*inputs, *(None for _ in declared[len(inputs) :])]
        counts = tuple((one.name, _count(group)) for one, group in zip(declared, groups, strict=True))
        flat = [_operand(one) for group in groups for one in _flat(group)]
        call = replace(self.written, inputs=counts)
        if current_trace() is not None or any(isinstance(one, Tensor) for one in flat):
            return self._recorded(call, flat)
        if counts not in self._compiled:
            self._compiled[counts] = jit(lambda *operands: self._recorded(call, operands, cuts=True))
        return self._compiled[counts](*flat)

    def _recorded(self, call: Written, operands: Sequence[Any], *, cuts: bool = False) -> Any:
        """The CUSTOM operator of a call; `cuts` makes results as large as data decide."""
        types = [one.dtype if isinstance(one, Tensor) else typed(one)[1] for one in operands]
        forms = [(self._kind(dtype), tuple(one.shape)) for dtype, one in zip(types, operands, strict=True)]
        operation = operation_of(call, forms)
        real = next((dtype for dtype in types if dtype.is_float), FP32)
        outputs = [tensor for one in operation.outputs.values() for tensor in tensors_of(one)]
        count = len(outputs)
        if cuts and operation.is_open:
            call, outputs = replace(call, opened=((),) * len(forms)), tensors_told(operation.outputs.values())
        found = custom(
            *operands,
            operator_name=self.name,
            domain_name=DOMAIN,
            outputs=[(_TYPES.get(one.type, real).name.lower(), largest_shape(one)) for one in outputs],
            implementation_attrs=encoded(call),
        )
        results = [found] if len(outputs) == 1 else list(found)
        extents: dict[object, Tensor] = dict(zip(outputs[count:], results[count:], strict=True))
        told = [extents.get(tensor.extents) for tensor in outputs[:count]]
        pairs = zip(results, told, strict=False)
        return _grouped(operation, [one if size is None else cut(one, size) for one, size in pairs])

    def _kind(self, dtype: DType) -> str:
        kind = KINDS.get(dtype.kind)
        if kind is None or dtype.compute == "i64":
            raise TraceError(f"{self.name}: SkriptND has no type for {dtype}")
        return kind


def _value(definition: Definition, name: str, value: Any) -> Value:
    """An attribute from Python; whole numbers may stand for real ones."""
    declared: Mapping[str, str] = {one.name: one.type.name for one in definition.operator.attributes}
    if isinstance(value, list | tuple | np.ndarray):
        items = [_value(definition, name, one) for one in value]
        return tuple(one for one in items if isinstance(one, int | float | bool | str))
    item = value.item() if isinstance(value, np.generic) else value
    if type(item) is int and declared.get(name) == "real":
        return float(item)
    if not isinstance(item, int | float | bool | str | None):
        raise TraceError(f"{definition.operator.name} {name}: expected a number, got {type(value).__name__}")
    return item


def _count(group: Any) -> int | None:
    if group is None:
        return None
    return len(group) if isinstance(group, list | tuple) else -1


def _flat(group: Any) -> Sequence[Any]:
    if group is None:
        return ()
    return group if isinstance(group, list | tuple) else (group,)


def _operand(value: Any) -> Tensor | Array:
    """A tensor or an array; a Python number has the type that the language gives it."""
    if isinstance(value, Tensor):
        return value
    found = np.asarray(value, _NUMBERS.get(type(value)))
    return (
        found.astype(np.float32) if found.dtype == np.float64 and not isinstance(value, np.ndarray) else found
    )


def _grouped(operation: Operation, results: Sequence[Any]) -> Any:
    """Results as the operator's outputs are."""
    rest = list(results)
    found = []
    for one in operation.outputs.values():
        taken, rest = rest[: len(tensors_of(one))], rest[len(tensors_of(one)) :]
        found.append(taken if isinstance(one, tuple) else taken[0] if taken else None)
    return found[0] if len(found) == 1 else tuple(found)
