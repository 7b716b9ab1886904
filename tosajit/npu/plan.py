"""`tj.plan`: what the planner chooses for a graph on a machine, as a value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tosajit.compiler.planning import schedule_for
from tosajit.npu.simulate import Model, Network, named_graph
from tosajit.plans.checks import check_parts
from tosajit.plans.given import plan_of
from tosajit.plans.mapping import Rules, rules_of
from tosajit.plans.plan import Plan
from tosajit.profiles import LevelName
from tosajit.runtime.making import machine_of

if TYPE_CHECKING:
    from sim import Machine


def plan(
    model: Model,
    machine: Machine | str | Path = "ethos-u55-128",
    *,
    plan: Plan | str | Path | None = None,
    mapping: Mapping[str, Any] | str | Path | None = None,
    level: LevelName = "8K",
    example_inputs: Sequence[Any] | None = None,
) -> Plan:
    """The plan of a model on a machine: tiles, orders, boxes, stripes and what lives in the scratchpad.

    * `model` and `machine` are those of `simulate`; nothing is run.
    * `plan` says some of it already; the planner chooses what it leaves out, and all is in the result.
    * `mapping` says what is wanted of groups that patterns match, by names of operators or their types, as a
      dictionary or a file: `{"**/depthwise": {"tile": {"oy": 4}, "order": ["c", "oy"]}}`.
    * `level` sets the limits that the graph must keep.
    * `example_inputs` are arguments of a jitted function; without them, it is the graph of its only call.

    `simulate` and `compile` take what it gives as `plan=`. Raises what `simulate` raises.
    """
    _, graph = named_graph(model, example_inputs=example_inputs)
    chosen, network, given = machine_of(machine), Network.of(graph, level), plan_of(plan)
    if given is not None:
        check_parts(given, [groups.name for groups in network.parts])
    if (rules := rules_of(mapping)) or mapping is not None:
        known = Rules(rules, network.opcodes)
        known.check([nest for part in network.parts for nest in part.nests])
        made = [network.wished(one, chosen, given, known) for one in network.parts]
    else:
        made = [network.planned(one, chosen, given) for one in network.parts]
    return Plan(chosen.name, {one.name: schedule_for(one, chosen) for one in made})
