"""The command line: `tosajit info model.tosa`, and what `tosajit --help` lists.

One module for each command, found by `arguments.py`, which is the place to begin; a command's module is
imported when it is called. It may import everything, and nothing imports it.
"""

from tosajit.cli.arguments import main

__all__ = ["main"]
