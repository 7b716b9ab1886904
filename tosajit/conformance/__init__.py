"""Runs TOSA conformance tests: the entry point, and what reads, judges and packs Arm's tests.

`check.py` is the place to begin: it runs and judges one test. It uses tosajit as any user does, and nothing
imports it.
"""

from tosajit.conformance.entry import run

__all__ = ["run"]
