"""Runs TOSA conformance tests: the entry point, and what reads, judges and packs Arm's tests."""

from tosajit.conformance.entry import run

__all__ = ["run"]
