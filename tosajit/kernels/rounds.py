"""The compiled loop: calls the driver again and again, on rows that it brings and takes away.

The text of this module is itself a kernel. Its arguments: the driver, its arguments in rounds of even and of
odd number, how many rounds there are, and how many rows each takes and makes; then, for each of these, the
first row, what there is from one to the next, where a round has it, and its bytes.
"""

from tosajit.kernels.intrinsics import call, copy_bytes, reload_i64


def kernel(args: int) -> None:
    """Run all rounds."""
    taken, made = reload_i64(args, 4), reload_i64(args, 5)
    for number in range(reload_i64(args, 3)):
        row = args + 48
        for _ in range(taken):
            source = reload_i64(row, 0) + number * reload_i64(row, 1)
            copy_bytes(reload_i64(row, 2), source, reload_i64(row, 3))
            row += 32
        call(reload_i64(args, 0), reload_i64(args, 1 + number % 2))
        for _ in range(made):
            target = reload_i64(row, 0) + number * reload_i64(row, 1)
            copy_bytes(target, reload_i64(row, 2), reload_i64(row, 3))
            row += 32
