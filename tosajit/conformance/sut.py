"""A system under test for Arm's own runner: `tosa_verif_run_tests --sut-module tosajit.conformance.sut`."""

from __future__ import annotations

import sys
import traceback
from typing import Any

from runner.tosa_test_runner import TosaTestRunner

import tosajit as tj
from tosajit.conformance.entry import FILE_TYPES, run
from tosajit.conformance.suite import read_test
from tosajit.dtypes import DTYPES
from tosajit.files.npy import save_npy

MEMORY_TYPES = {FILE_TYPES[name]: DTYPES[name].storage for name in ("BF16", "FP8E4M3")}
"""`np.save` writes types of no name in a form that Arm's reader refuses."""


class TosaSUTRunner(TosaTestRunner):  # type: ignore[misc]
    """Runs a test with tosajit and leaves its outputs where Arm's runner looks for them."""

    def runTestGraph(self) -> tuple[Any, str | None]:
        """Run the test's graph: the kind of its result, and the message of an error."""
        test = read_test(self.testDirPath)
        status = TosaTestRunner.TosaGraphResult
        try:
            outputs = run(test.tosa_path, test.load_inputs())
        except tj.TosaError as error:
            return status.TOSA_ERROR, str(error)
        except Exception:
            traceback.print_exc(file=sys.stderr)
            return status.OTHER_ERROR, traceback.format_exc()
        for name, file in test.outputs.items():
            array = outputs[name]
            save_npy(test.folder / file, array.view(MEMORY_TYPES.get(array.dtype, array.dtype)))
        return status.TOSA_VALID, None
