"""What the stages make of a graph: an executable that knows them."""

from __future__ import annotations

from time import perf_counter

from tosajit.compiler.options import Options
from tosajit.compiler.stages import WHOLE, new_journal, through
from tosajit.graph import Graph
from tosajit.kernels.objects import prepare
from tosajit.kernels.workspace import driver_text
from tosajit.log import LOG
from tosajit.runtime.build import build
from tosajit.runtime.executable import Executable
from tosajit.runtime.interface import Interface
from tosajit.runtime.meanwhile import Meanwhile


def built(graph: Graph, options: Options) -> Executable:
    """What the stages make of a graph."""
    began = perf_counter()
    if not options.interpret:
        prepare((driver_text(),))
    journal = new_journal()
    graph = through(WHOLE, graph, options, journal)
    meanwhile = Meanwhile(options, journal)
    body = build(graph, options, journal, meanwhile)
    meanwhile.start()
    found = Executable(interface_of(graph, options), body, graph, lambda: journal, meanwhile)
    LOG.info("%r compiled in %.0f ms", found, 1000 * (perf_counter() - began))
    return found


def interface_of(graph: Graph, options: Options) -> Interface:
    """What an executable of this graph takes and gives."""
    return Interface(graph.inputs, graph.outputs, graph.outside, options.target, options.interpret)
