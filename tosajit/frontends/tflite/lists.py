"""Writing to a list of tensors, as TensorFlow's converter says it: by slices whose extents are computed.

What stands before the item, the item, and what stands behind it are concatenated. Extents that are computed
have no form in TOSA, but the whole has the shape of the list: it is the list with the item put in its place.
"""

from __future__ import annotations

from tiling.records import replace
from tosajit.frontends.tflite.options import ConcatenationOptions
from tosajit.frontends.tflite.records import Operator, Subgraph


def with_updates(subgraph: Subgraph) -> tuple[Operator, ...]:
    """The operators, with DYNAMIC_UPDATE_SLICE where an item is put into a list."""
    makers = {place: one for one in subgraph.operators for place in one.outputs}
    updates = {}
    for one in subgraph.operators:
        before = _sliced_before(one, subgraph, makers)
        if before is not None:
            # The size of what stands before: where it is -1, or a whole extent, the update begins at 0.
            inputs = before.inputs[0], one.inputs[1], before.inputs[2]
            updates[one.place] = replace(one, name="DYNAMIC_UPDATE_SLICE", inputs=inputs, version=1)
    if not updates:
        return subgraph.operators
    found = [updates.get(one.place, one) for one in subgraph.operators]
    used = {*subgraph.outputs, *(place for one in found for place in one.inputs)}
    return tuple(one for one in found if one.name != "SLICE" or used.intersection(one.outputs))


def _sliced_before(operator: Operator, subgraph: Subgraph, makers: dict[int, Operator]) -> Operator | None:
    """What slices a list before an item, if the operator joins that with the item and what stands behind."""
    options, tensors = operator.options, subgraph.tensors
    if operator.name != "CONCATENATION" or len(operator.inputs) != 3:
        return None
    if not isinstance(options, ConcatenationOptions) or options.axis != 0:
        return None
    before, behind = makers.get(operator.inputs[0]), makers.get(operator.inputs[2])
    if before is None or behind is None or before.name != "SLICE" or behind.name != "SLICE":
        return None
    start, size = tensors[before.inputs[1]].data, tensors[before.inputs[2]].data
    is_first = start is not None and not start.any() and size is None
    is_same = before.inputs[0] == behind.inputs[0]
    is_list = tensors[operator.outputs[0]].shape == tensors[before.inputs[0]].shape
    return before if is_first and is_same and is_list else None
