"""The command line: `tosajit info model.tosa`, and what `tosajit --help` lists."""

from tosajit.cli.arguments import main

__all__ = ["main"]
