"""The generic kernel: walks a tile by vectors, and calls the steps of a nest's program for each.

The text of this module is itself a kernel. Its arguments are words of its own, which `program.py` writes,
behind the box and the bases of the tile (`layout.py`). A walk is an axis of the nest, or several that are
one. The last two kept ones are the rows and columns of a vector; reduced ones come behind them. Steps work on
a frame in the thread's own memory.
"""

from tosajit.kernels.generic.words import (
    AFTER,
    AXES,
    AXIS,
    BASE,
    BEFORE,
    COLUMNS,
    CONSTANT,
    COORDINATES,
    COUNT,
    EACH,
    FACTOR,
    FRAME,
    FRAME_PLACES,
    KEPT,
    LANES,
    LENGTH,
    LIBRARY,
    ONCE,
    OPERANDS,
    PLACE,
    PLACE_COUNT,
    ROWS,
    TABLE,
    WALK,
    WALKS,
)
from tosajit.kernels.intrinsics import call, reload_i64, store_i64
from tosajit.kernels.layout import BOX, SCRATCH


def run(args: int, steps: int, frame: int) -> None:
    """Call the steps of a list."""
    record, end = args + 8 * reload_i64(args, steps), args + 8 * reload_i64(args, steps + 1)
    while record < end:
        store_i64(record, FRAME, frame)
        call(reload_i64(record, LIBRARY), record)
        record += 8 * reload_i64(record, LENGTH)


def find_places(args: int, frame: int) -> None:
    """Note where in each operand the vector at the present coordinates begins."""
    walks, bases = reload_i64(args, WALKS), args - 8 * reload_i64(args, OPERANDS)
    place = args + 8 * (reload_i64(args, TABLE) + WALK * walks)
    for number in range(reload_i64(args, PLACE_COUNT)):
        base, found = reload_i64(place, BASE), reload_i64(place, CONSTANT)
        if base >= 0:
            found += reload_i64(bases, base)
        for walk in range(walks):
            found += reload_i64(frame, COORDINATES + walk) * reload_i64(place, PLACE + walk)
        store_i64(frame, FRAME_PLACES + number, found)
        place += 8 * (PLACE + walks)


def limit(args: int, walk: int, side: int) -> int:
    """Return the first coordinate of the tile along a walk (side 0), or the end (side 1)."""
    row = args + 8 * (reload_i64(args, TABLE) + WALK * walk)
    axis, axes = reload_i64(row, AXIS), reload_i64(args, AXES)
    found = side
    if axis >= 0:
        box = args - 8 * (reload_i64(args, OPERANDS) + 2 * axes)
        found = reload_i64(box, axes * side + axis) * reload_i64(row, FACTOR)
    return found


def points(args: int, first: int, behind: int) -> int:
    """Return how many points several walks have together."""
    found = 1
    for walk in range(first, behind):
        found *= limit(args, walk, 1) - limit(args, walk, 0)
    return found


def go_to(args: int, frame: int, first: int, behind: int, number: int) -> None:
    """Set the coordinates along several walks, the last one fastest, to the point of a number."""
    walk = behind - 1
    while walk >= first:
        low = limit(args, walk, 0)
        extent = limit(args, walk, 1) - low
        store_i64(frame, COORDINATES + walk, low + number % extent)
        number //= extent
        walk -= 1


def set_size(frame: int, rows: int, columns: int) -> None:
    """Note how large vectors are; scalars may be computed for some elements more."""
    store_i64(frame, ROWS, rows)
    store_i64(frame, COLUMNS, columns)
    store_i64(frame, COUNT, (rows * columns + 15) // 16 * 16)


def run_vector(args: int, frame: int, parts: int) -> None:
    """Run the program for the vector at the present coordinates."""
    kept, walks = reload_i64(args, KEPT), reload_i64(args, WALKS)
    go_to(args, frame, kept, walks, 0)
    find_places(args, frame)
    run(args, BEFORE, frame)
    for part in range(parts):
        if part > 0:
            go_to(args, frame, kept, walks, part)
            find_places(args, frame)
        run(args, EACH, frame)
    run(args, AFTER, frame)


def run_block(args: int, frame: int, parts: int) -> None:
    """Run the program along rows and columns, at the present coordinates along the other walks."""
    kept, lanes = reload_i64(args, KEPT), reload_i64(args, LANES)
    first, last = limit(args, kept - 1, 0), limit(args, kept - 1, 1)
    columns = min(last - first, lanes)
    rows = lanes // columns
    row, end = limit(args, kept - 2, 0), limit(args, kept - 2, 1)
    while row < end:
        store_i64(frame, COORDINATES + kept - 2, row)
        column = first
        while column < last:
            store_i64(frame, COORDINATES + kept - 1, column)
            set_size(frame, min(rows, end - row), min(columns, last - column))
            run_vector(args, frame, parts)
            column += columns
        row += rows


def kernel(args: int) -> None:
    """Run a nest's program on a tile."""
    kept, walks, lanes = reload_i64(args, KEPT), reload_i64(args, WALKS), reload_i64(args, LANES)
    box = args - 8 * (reload_i64(args, OPERANDS) + 2 * reload_i64(args, AXES))
    frame = reload_i64(box, SCRATCH - BOX)
    total, parts = points(args, 0, kept), points(args, kept, walks)
    if total > 0:
        go_to(args, frame, 0, walks, 0)
        find_places(args, frame)
        set_size(frame, 1, lanes)
        run(args, ONCE, frame)
        for number in range(points(args, 0, kept - 2)):
            go_to(args, frame, 0, kept - 2, number)
            run_block(args, frame, parts)
