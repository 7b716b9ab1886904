"""A graph in memory: values, nodes, blocks and regions; what an operator declares; how nodes bind operands.

It imports nothing of tosajit but types and errors. Begin with `graph.py`, then `operator.py`: an operator
is a class, and `binding.py` gives names to what a node hands it.
"""

from tosajit.arrays import Array
from tosajit.graph.graph import Block, Graph, Node, Region, Value

__all__ = ["Array", "Block", "Graph", "Node", "Region", "Value"]
