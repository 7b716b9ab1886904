"""Exported programs: PyTorch is imported here and in the reader, and exports modules."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from tosajit.errors import InputError
from tosajit.frontends.torch.records import Program

_ROUNDS = 3
"""How often operators are taken apart: parts may have parts."""


def program_of(exported: Any) -> Program:
    """The records of an exported program, whose operators are taken apart where they have no lowering."""
    from tosajit.frontends.torch.lowering import unknown
    from tosajit.frontends.torch.reader import read_program

    program = read_program(exported)
    for _ in range(_ROUNDS):
        missing = unknown(program)
        known = _torch().export.default_decompositions() if missing else {}
        table = {one: how for one, how in known.items() if str(one) in missing}
        if not table:
            break
        exported = exported.run_decompositions(table)
        program = read_program(exported)
    return program


def _torch() -> Any:
    try:
        import torch
    except ImportError:
        raise InputError(
            "PyTorch is not installed, which exports modules: pip install tosajit[torch]"
        ) from None
    return torch


def exported_program(module: Any, inputs: Any, keywords: Mapping[str, Any] | None = None) -> Any:
    """The exported program of a module."""
    torch = _torch()
    if isinstance(module, torch.export.ExportedProgram):
        if inputs is not None or keywords is not None:
            raise InputError("an ExportedProgram has its example inputs already: leave them out")
        return module
    if not isinstance(module, torch.nn.Module):
        raise InputError(
            f"{type(module).__name__} is no PyTorch module: expected a torch.nn.Module or an "
            "ExportedProgram; put a function into the forward of a module"
        )
    if inputs is None and keywords is None:
        raise InputError("example inputs are missing: tj.from_torch(module, (tensor, …))")
    if isinstance(inputs, Mapping):
        raise InputError(
            "example_inputs is a dictionary: give example_keywords={…} if forward takes its keys, "
            "or (dictionary,) if it takes the dictionary"
        )
    given = (inputs,) if isinstance(inputs, torch.Tensor) else tuple(inputs or ())
    training = [one for one in module.modules() if one.training]
    try:
        with suppress(NotImplementedError):  # what has been exported has one mode
            module.eval()
        return torch.export.export(module, given, dict(keywords or {}))
    except Exception as error:
        text = str(error).strip().split("\n\n")[0] or type(error).__name__
        raise InputError(
            f"torch.export cannot export the module: {text}; "
            "branches and sizes must not depend on elements; torch.export.export(module, inputs) says more"
        ) from error
    finally:
        for one in training:
            one.training = True
