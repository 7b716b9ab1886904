"""Finds Arm's tools, which live in an environment of their own: they pin old versions of our libraries."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

DEFAULT = Path(__file__).parents[2] / ".venv-arm"


class ArmToolsMissing(RuntimeError):
    """There is no environment with Arm's tools."""


@dataclass(frozen=True)
class ArmTools:
    """The environment into which `tosa-tools` is installed."""

    root: Path

    @cached_property
    def packages(self) -> Path:
        """The folder of installed packages."""
        found = sorted(self.root.glob("lib/python3.*/site-packages"))
        if not found or not (found[0] / "tosa_reference_model").is_dir():
            raise ArmToolsMissing(f"no tosa-tools in {self.root}: run `make test`, or set TOSAJIT_ARM")
        return found[0]

    @property
    def reference_model(self) -> Path:
        """The native program: it starts in 5 ms, and a crash ends only itself."""
        return self.packages / "bin" / "tosa_reference_model"

    @property
    def verify_library(self) -> Path:
        """The library that judges results which need not be exact."""
        return self.packages / "tosa_reference_model" / "libtosa_reference_verify_lib.so"

    @property
    def suite_configuration(self) -> Path:
        """What the suite's generator makes for each operator."""
        return self.packages / "conformance" / "cts-config_v1.0.json"

    def call(self, name: str, arguments: Sequence[str]) -> subprocess.CompletedProcess[bytes]:
        """Call a command of the environment, which finds its other commands on the path."""
        binaries = self.root.absolute() / "bin"
        environment = os.environ | {"PATH": f"{binaries}{os.pathsep}{os.environ['PATH']}"}
        return subprocess.run([str(binaries / name), *arguments], env=environment, check=True)

    def evaluate(
        self, description: Path, output: Path, *, seconds: float = 600, precise: bool = True
    ) -> tuple[int, str]:
        """Run the reference model on a test: 0 (valid), 1 (unpredictable) or 2 (error), and its messages."""
        command = [str(self.reference_model), "--test_desc", str(description), "--output_dir", str(output)]
        done = subprocess.run(
            [*command, "--tosa_level", "EIGHTK", f"--precise_mode={precise:d}"],
            env=os.environ | {"TOSA_MODEL_NO_BACKTRACE": "1"},
            capture_output=True,
            text=True,
            errors="replace",
            timeout=seconds,
            check=False,
        )
        return done.returncode, done.stdout + done.stderr


def arm_tools() -> ArmTools:
    """Find the environment in $TOSAJIT_ARM, or beside the sources."""
    tools = ArmTools(Path(os.environ.get("TOSAJIT_ARM") or DEFAULT))
    assert tools.packages  # raises where there is none
    return tools
