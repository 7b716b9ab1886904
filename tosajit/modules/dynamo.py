"""`torch.compile(module, backend="tosajit")` for inference; what is refused runs as PyTorch runs it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

from tosajit.errors import InputError, TosaError
from tosajit.frontends.torch.functional import functional
from tosajit.frontends.torch.loading import exported_program, program_of
from tosajit.modules.calling import of_program


def backend(module: Any, example_inputs: Sequence[Any], **options: Any) -> Callable[..., Any]:
    """Compile a part of a model that `torch.compile` has found; `options` are those of `tosajit.compile`.

    Parameters and buffers are constants, as they are at that time.
    """
    try:
        return _compiled(module, example_inputs, options)
    except TosaError as error:
        warnings.warn(f"tosajit: a part of the model runs as PyTorch runs it: {error}", stacklevel=2)
        forward: Callable[..., Any] = module.forward
        return forward


def _compiled(module: Any, inputs: Sequence[Any], options: dict[str, Any]) -> Callable[..., Any]:
    import torch

    if torch.is_grad_enabled() and any(getattr(one, "requires_grad", False) for one in inputs):
        raise InputError("gradients are wanted, and tosajit has none: call it under torch.inference_mode()")
    if not all(isinstance(one, torch.Tensor) for one in inputs):
        raise InputError('its sizes change: torch.compile(module, backend="tosajit", dynamic=False)')
    held = _held(module, inputs)
    frozen = _frozen(module, inputs, held)
    given = [place for place in range(len(inputs)) if place not in held]
    example = tuple(inputs[place] for place in given)
    exported = exported_program(frozen, example)
    program = program_of(exported)
    if functional(program).mutations:
        raise InputError("it writes to a tensor of its module or its caller, which tosajit cannot reach")
    run = of_program(exported, program).compile(**options)
    return lambda *tensors: run(*(tensors[place] for place in given))


def _held(module: Any, inputs: Sequence[Any]) -> set[int]:
    """The places of parameters and buffers among the inputs."""
    import torch

    nodes = [node for node in module.graph.nodes if node.op == "placeholder"]
    found = set()
    for place, (node, one) in enumerate(zip(nodes, inputs, strict=True)):
        notes = node.meta.get("tensor_dict", {})
        if isinstance(one, torch.nn.Parameter) or "_dynamo_static_input_type" in notes:
            found.add(place)
    return found


def _frozen(module: Any, inputs: Sequence[Any], held: set[int]) -> Any:
    """A module that has those as buffers of its own."""
    import torch

    class Frozen(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.inner = module
            for place in held:
                self.register_buffer(f"held_{place}", inputs[place].detach())

        def forward(self, *given: Any) -> Any:
            rest = iter(given)
            every = [getattr(self, f"held_{place}") if place in held else next(rest)
                     for place in range(len(inputs))]  # fmt: skip
            return self.inner(*every)

    return Frozen().eval()
