"""Which tests belong to a source file: the most specific entry decides."""

from __future__ import annotations

PLANNING = (
    "tests/planning/test_menu.py",
    "tests/planning/test_choose.py",
    "tests/planning/test_normal.py",
    "tests/planning/test_share.py",
    "tests/planning/test_contraction.py",
    "tests/planning/test_allocate.py",
    "tests/planning/test_verify_places.py",
    "tests/planning/test_cascade_stripes.py",
    "tests/planning/test_verify.py",
    "tests/planning/test_rewrites.py",
    "tests/planning/test_fuse.py",
    "tests/planning/test_golden_groups.py",
    "tests/sim/test_golden_machines.py",
    "tests/planning",
    "tests/sim/test_golden_plans.py",
)
KERNELS = (
    "tests/test_intrinsics.py",
    "tests/test_scalars.py",
    "tests/test_vocabulary.py",
    "tests/test_cpu.py",
    "tests/test_emit.py",
    "tests/test_floating.py",
    "tests/test_float_narrow.py",
    "tests/test_float_subnormals.py",
    "tests/test_interpret.py",
    "tests/test_operator_values.py",
)
ARRAYS = (
    "tests/test_plain_kernels.py",
    "tests/test_golden_units.py",
    "tests/test_contraction.py",
    "tests/test_zero_points.py",
    "tests/test_host.py",
    "tests/test_contract_kernels.py",
    "tests/test_float_contractions.py",
    "tests/test_float_depthwise.py",
    "tests/test_transposing.py",
    "tests/test_models.py",
)
MACHINES = (
    "tests/sim/test_golden_blocks.py",
    "tests/sim/test_golden_costs.py",
    "tests/sim/test_golden_machines.py",
    "tests/sim/test_costs.py",
    "tests/sim/test_geometry.py",
    "tests/sim/test_vector.py",
    "tests/sim/test_transfer.py",
    "tests/sim/test_systolic.py",
    "tests/sim/test_block.py",
    "tests/sim/test_passes.py",
    "tests/sim/test_rows.py",
    "tests/sim/test_array_kinds.py",
    "tests/sim/test_events.py",
    "tests/sim/test_events_following.py",
    "tests/sim/test_events_tiles.py",
    "tests/sim/test_scratchpad.py",
    "tests/sim/test_analytic.py",
    "tests/sim/test_golden_plans.py",
)
REPORTS = (
    "tests/sim/test_report.py",
    "tests/sim/test_report_trace.py",
    "tests/sim/test_page.py",
    "tests/sim/test_report_real.py",
    "tests/sim/test_laws.py",
    "tests/test_cli_simulate.py",
)
PARTS = (
    "tests/sim/test_machines.py",
    "tests/sim/test_machines_bits.py",
    "tests/sim/test_machines_files.py",
    "tests/sim/test_variants.py",
    "tests/sim/test_golden_machines.py",
    "tests/sim/test_golden_costs.py",
    "tests/test_npu.py",
)
EXPLORING = (
    "tests/sim/explore",
    "tests/test_explore.py",
    "tests/test_cluster.py",
    "tests/test_cli_explore.py",
)
OPERATORS = (
    "tests/test_operators.py",
    "tests/test_validate.py",
    "tests/test_validate_rules.py",
    "tests/test_lowering.py",
    "tests/test_operator_values.py",
    "tests/test_float_operators.py",
    "tests/test_conformance_sample.py",
)
TFLITE = (
    "tests/test_tflite_operators.py",
    "tests/test_tflite_reader.py",
    "tests/test_tflite_limits.py",
    "tests/test_frontends.py",
    "tests/test_tflite_control.py",
    "tests/test_tflite_variables.py",
    "tests/test_tflite_refusals.py",
    "tests/test_tflite_models.py",
)
TENSORFLOW = ("tests/test_tensorflow.py", "tests/test_frontends.py")

SUITES = {
    "sim/": REPORTS,
    "sim/analytic/": MACHINES,
    "sim/cost/": MACHINES,
    "sim/events/": MACHINES,
    "sim/explore/": EXPLORING,
    "sim/machine/": PARTS,
    "tiling/": PLANNING,
    "tiling/expr.py": (*PLANNING, "tests/test_vocabulary.py"),
    "tiling/scalars.py": ("tests/test_vocabulary.py", *PLANNING),
    "tiling/text.py": ("tests/test_text.py", *PLANNING),
    "tiling/words.py": ("tests/test_text.py", "tests/test_names.py", *PLANNING),
    "tosajit/accuracy/": (
        "tests/test_accuracy.py",
        "tests/test_accuracy_sets.py",
        "tests/test_accuracy_arm.py",
    ),
    "tosajit/checks/": (
        "tests/test_validate.py",
        "tests/test_validate_rules.py",
        "tests/test_validate_sweep.py",
        "tests/test_variables.py",
        "tests/test_messages.py",
    ),
    "tosajit/cli/": ("tests/test_cli.py", "tests/test_cli_simulate.py", "tests/test_cli_explore.py"),
    "tosajit/compiler/": (
        "tests/test_stages.py",
        "tests/test_explain.py",
        "tests/test_log.py",
        "tests/planning/test_verify.py",
        "tests/planning/test_rewrites.py",
        "tests/planning/test_fuse.py",
        "tests/test_npu.py",
        "tests/planning/test_golden_groups.py",
        "tests/sim/test_golden_machines.py",
        "tests/test_models.py",
    ),
    "tosajit/frontends/": ("tests/test_frontends.py", *TFLITE),
    "tosajit/frontends/common/": (*TFLITE, "tests/test_tensorflow.py"),
    "tosajit/frontends/tensorflow/": TENSORFLOW,
    "tosajit/frontends/tflite/": TFLITE,
    "tosajit/conformance/": ("tests/test_conformance_tools.py", "tests/test_conformance_sample.py"),
    "tosajit/display/": ("tests/test_text.py", "tests/test_cli.py", "tests/test_names.py"),
    "tosajit/files/": (
        "tests/test_files.py",
        "tests/test_files_npy.py",
        "tests/test_arrays.py",
        "tests/test_odd_files.py",
        "tests/test_hostile_names.py",
        "tests/test_files_arm.py",
        "tests/test_files_fuzz.py",
    ),
    "tosajit/graph/": (
        "tests/test_graph.py",
        "tests/test_operators.py",
        "tests/test_validate.py",
        "tests/test_ops.py",
        "tests/test_variables.py",
        "tests/test_messages.py",
    ),
    "tosajit/host/": ("tests/test_golden_units.py", "tests/test_simplify.py", *ARRAYS),
    "tosajit/kernels/": (
        *KERNELS,
        "tests/test_kernels_objects.py",
        "tests/test_threads.py",
        "tests/test_cache.py",
    ),
    "tosajit/kernels/sets/": (*ARRAYS, "tests/test_intrinsics.py", "tests/test_cpu.py"),
    "tosajit/kernels/contract/": ARRAYS,
    "tosajit/npu/": ("tests/test_npu.py", "tests/test_explore.py", "tests/test_cli_simulate.py"),
    "tosajit/operators/": OPERATORS,
    "tosajit/runtime/": (
        "tests/test_memory.py",
        "tests/test_moving.py",
        "tests/test_control_flow.py",
        "tests/test_custom.py",
        "tests/test_variables.py",
        "tests/test_dynamic.py",
        "tests/test_concurrency.py",
        "tests/test_models.py",
    ),
    "tosajit/samples/": ("tests/test_samples.py",),
    "tosajit/tracing/": ("tests/test_tracing.py", "tests/test_ops.py", "tests/test_control_flow.py"),
}


def suite_of(path: str) -> tuple[str, ...]:
    """The tests of a file, or none."""
    fitting = [prefix for prefix in SUITES if path.startswith(prefix)]
    return SUITES[max(fitting, key=len)] if fitting else ()
