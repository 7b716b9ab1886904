"""The compiled driver: walks the image of a program and calls its kernels by address.

The text of this module is itself a kernel. Its arguments: the image, the table of operand addresses, the
number of this thread (0: there are no others, 1: the caller), zeroed counters for threads, memory of this
thread's own, the first section to run and the end, memory for reports; for the arrays of the call the address
of a word that tells where these objects are listed, with the table entry of each behind it, their count, and
where such an object keeps the address of its data; how many pauses a thread waits before it rests; zeroed
memory for arguments that last, and whether the arrays are the same in all calls.
`layout.py` says where the image has what.

Threads may come late or not at all: a section is done when its tiles are. The caller does what is not shared.
Of shared sections, threads take tiles from both ends, so that each finds the results of its own in its cache.
"""

from tosajit.kernels.intrinsics import (
    call,
    copy_bytes,
    fetch_add,
    load_acquire,
    pause,
    reload_i64,
    rest,
    store_i64,
    store_release,
)
from tosajit.kernels.layout import (
    ACCESS,
    ACCESSES,
    ACCUMULATOR,
    ACCUMULATORS,
    ADDRESS,
    ARGUMENTS,
    AXES,
    BOX,
    COEFFICIENTS,
    CONSTANT,
    COPIES,
    COUNTERS,
    DONE,
    EXTENT,
    FAR,
    FIRST,
    FIRST_FACTOR,
    FLAGS,
    IMAGES,
    JOB,
    KEPT_LOOPS,
    KEPT_TILES,
    KERNEL,
    LASTING,
    LOOP,
    LOOP_AXIS,
    LOOP_COUNT,
    LOOP_EXTENT,
    LOOP_STEP,
    LOOPS,
    NEAR,
    ODOMETER,
    OFFSET,
    OPERAND,
    OWN_BYTES,
    PASSED,
    PERIOD,
    PITCH,
    PLACES,
    RANK,
    REACH,
    REDUCED_LOOPS,
    REDUCED_TILES,
    REPORT,
    SCRATCH,
    SECOND,
    SECOND_FACTOR,
    SHARED,
    SIZE,
    STEP,
    STORE,
    TEMPLATE,
    TRANSFER,
    TRANSFERS,
    WORD,
    WORD_COUNT,
    WORD_SLOT,
    WORDS,
)


def wait_for_tiles(counters: int, tiles: int, patience: int) -> None:
    """Return when so many tiles of a section are done, by whichever threads came."""
    spins = 0
    while load_acquire(counters + DONE, 0) < tiles:
        spins += 1
        if spins < patience:
            pause()
        else:
            rest()


def measure_box(transfer: int, axes: int, arguments: int, odometer: int) -> None:
    """Note the first index and the number of indices of the tile's box along each dimension."""
    row = transfer + 8 * TRANSFER
    for d in range(reload_i64(transfer, RANK)):
        low, step = reload_i64(row, OFFSET), reload_i64(row, STEP)
        high = low + reload_i64(row, REACH)
        for a in range(axes):
            c = reload_i64(row, COEFFICIENTS + a)
            first, last = reload_i64(arguments, BOX + a), reload_i64(arguments, BOX + axes + a) - 1
            low += min(c * first, c * last)
            high += max(c * first, c * last)
        high = min(high, reload_i64(row, EXTENT) - 1)
        if low < 0:
            low += (step - 1 - low) // step * step
        store_i64(odometer, 3 * d, low)
        store_i64(odometer, 3 * d + 1, (high - low + step) // step if low <= high else 0)
        store_i64(odometer, 3 * d + 2, 0)
        row += 8 * (COEFFICIENTS + axes)


def box_base(transfer: int, axes: int, odometer: int, near: int) -> int:
    """Return the base that a kernel sees for a box that is in the scratchpad at `near`."""
    base, row = near, transfer + 8 * TRANSFER
    for d in range(reload_i64(transfer, RANK)):
        back = reload_i64(odometer, 3 * d) - reload_i64(row, OFFSET)
        base -= back // reload_i64(row, STEP) * reload_i64(row, NEAR)
        row += 8 * (COEFFICIENTS + axes)
    return base


def advance(odometer: int, dimensions: int) -> bool:
    """Step to the next row of a box; tell whether there is one."""
    d = dimensions - 1
    while d >= 0:
        at = reload_i64(odometer, 3 * d + 2) + 1
        if at < reload_i64(odometer, 3 * d + 1):
            store_i64(odometer, 3 * d + 2, at)
            return True
        store_i64(odometer, 3 * d + 2, 0)
        d -= 1
    return False


def copy_box(transfer: int, axes: int, odometer: int, near: int, far: int) -> None:
    """Copy the measured box between memory and the scratchpad, row by row."""
    rank, width = reload_i64(transfer, RANK), reload_i64(transfer, SIZE)
    row_bytes = 8 * (COEFFICIENTS + axes)
    row, step = transfer + 8 * TRANSFER, 1
    for d in range(rank):
        if reload_i64(odometer, 3 * d + 1) <= 0:
            return
        step = reload_i64(row, STEP)
        far += reload_i64(odometer, 3 * d) * reload_i64(row, FAR)
        row += row_bytes
    if rank > 0 and step == 1:
        rank -= 1
        width *= reload_i64(odometer, 3 * rank + 1)
    more = True
    while more:
        here, there = near, far
        row = transfer + 8 * TRANSFER
        for d in range(rank):
            at = reload_i64(odometer, 3 * d + 2)
            here += at * reload_i64(row, NEAR)
            there += at * reload_i64(row, STEP) * reload_i64(row, FAR)
            row += row_bytes
        if reload_i64(transfer, STORE):
            copy_bytes(there, here, width)
        else:
            copy_bytes(here, there, width)
        more = advance(odometer, rank)


def place_of(transfer: int, scratch: int, number: int) -> int:
    """Return where in the scratchpad the box of a tile is; copies take turns."""
    turn = number // reload_i64(transfer, PERIOD) % reload_i64(transfer, COPIES)
    return scratch + reload_i64(transfer, ADDRESS) + turn * reload_i64(transfer, PITCH)


def load_boxes(
    section: int, image: int, table: int, arguments: int, scratch: int, number: int, fresh: bool
) -> None:
    """Bring the boxes that have moved into the scratchpad, and set the bases of all boxes."""
    axes, odometer = reload_i64(section, AXES), arguments + ODOMETER
    transfer = image + 8 * reload_i64(section, IMAGES)
    for _ in range(reload_i64(section, TRANSFERS)):
        store = reload_i64(transfer, STORE)
        if fresh or store or number % reload_i64(transfer, PERIOD) == 0:
            near = place_of(transfer, scratch, number)
            measure_box(transfer, axes, arguments, odometer)
            if not store:
                copy_box(transfer, axes, odometer, near, reload_i64(table, reload_i64(transfer, OPERAND)))
            base = box_base(transfer, axes, odometer, near)
            store_i64(arguments, BOX + 2 * axes + reload_i64(transfer, ACCESS), base)
        transfer += 8 * (TRANSFER + reload_i64(transfer, RANK) * (COEFFICIENTS + axes))


def store_boxes(section: int, image: int, table: int, arguments: int, scratch: int, number: int) -> None:
    """Bring the boxes that were written back to memory."""
    axes, odometer = reload_i64(section, AXES), arguments + ODOMETER
    transfer = image + 8 * reload_i64(section, IMAGES)
    for _ in range(reload_i64(section, TRANSFERS)):
        if reload_i64(transfer, STORE):
            near = place_of(transfer, scratch, number)
            measure_box(transfer, axes, arguments, odometer)
            copy_box(transfer, axes, odometer, near, reload_i64(table, reload_i64(transfer, OPERAND)))
        transfer += 8 * (TRANSFER + reload_i64(transfer, RANK) * (COEFFICIENTS + axes))


def set_tile(loops: int, first: int, count: int, tile: int, arguments: int, axes: int) -> None:
    """Set the box along the axes of `count` loops for tile number `tile`; inner loops run fastest."""
    for back in range(count):
        loop = loops + 8 * LOOP * (first + count - 1 - back)
        axis, steps = reload_i64(loop, LOOP_AXIS), reload_i64(loop, LOOP_COUNT)
        begin = (tile % steps) * reload_i64(loop, LOOP_STEP)
        tile //= steps
        end = min(begin + reload_i64(loop, LOOP_STEP), reload_i64(loop, LOOP_EXTENT))
        store_i64(arguments, BOX + axis, begin)
        store_i64(arguments, BOX + axes + axis, end)


def compute(section: int, image: int, arguments: int) -> None:
    """Call the kernel; one of the array unit gets words of its own, derived from the tile and the bases."""
    word = image + 8 * reload_i64(section, WORDS)
    job = arguments + 8 * reload_i64(section, JOB)
    for _ in range(reload_i64(section, WORD_COUNT)):
        first = reload_i64(arguments, reload_i64(word, FIRST)) * reload_i64(word, FIRST_FACTOR)
        second = reload_i64(arguments, reload_i64(word, SECOND)) * reload_i64(word, SECOND_FACTOR)
        store_i64(job, reload_i64(word, WORD_SLOT), reload_i64(word, CONSTANT) + first + second)
        word += 8 * WORD
    call(reload_i64(section, KERNEL), job)


def set_up(section: int, image: int, table: int, memory: int, report: int) -> None:
    """Fill this thread's argument array for a section."""
    scratch = memory + OWN_BYTES
    copy_bytes(memory, image + 8 * reload_i64(section, TEMPLATE), 8 * reload_i64(section, ARGUMENTS))
    store_i64(memory, ACCUMULATOR, scratch + reload_i64(section, ACCUMULATORS))
    store_i64(memory, SCRATCH, scratch)
    store_i64(memory, REPORT, report)
    bases = memory + 8 * (BOX + 2 * reload_i64(section, AXES))
    place = image + 8 * reload_i64(section, PLACES)
    for k in range(reload_i64(section, ACCESSES)):
        operand = reload_i64(place, 2 * k)
        if operand >= 0:
            store_i64(bases, k, reload_i64(table, operand) + reload_i64(place, 2 * k + 1))


def run_tile(section: int, image: int, table: int, memory: int, tile: int, fresh: bool) -> None:
    """Run one tile of results: all parts of its reduction, loads before and stores behind."""
    axes, parts = reload_i64(section, AXES), reload_i64(section, REDUCED_TILES)
    loops, kept = image + 8 * reload_i64(section, LOOPS), reload_i64(section, KEPT_LOOPS)
    set_tile(loops, 0, kept, tile, memory, axes)
    for part in range(parts):
        set_tile(loops, kept, reload_i64(section, REDUCED_LOOPS), part, memory, axes)
        load_boxes(
            section, image, table, memory, memory + OWN_BYTES, tile * parts + part, fresh and part == 0
        )
        store_i64(memory, FLAGS, (1 if part == 0 else 0) | (2 if part == parts - 1 else 0))
        compute(section, image, memory)
    store_boxes(section, image, table, memory, memory + OWN_BYTES, tile * parts + parts - 1)


def run_alone(section: int, image: int, table: int, memory: int, report: int) -> None:
    """Run all tiles of a section."""
    set_up(section, image, table, memory, report)
    for tile in range(reload_i64(section, KEPT_TILES)):
        run_tile(section, image, table, memory, tile, tile == 0)


def run_lasting(section: int, image: int, table: int, memory: int, report: int, there: int) -> None:
    """Run a section whose arguments stay as they are: the first run notes them, behind a word that tells."""
    arguments = there + 8
    if reload_i64(there, 0) == 0:
        run_alone(section, image, table, memory, report)
        copy_bytes(arguments, memory, 8 * reload_i64(section, ARGUMENTS))
        store_i64(there, 0, 1)
    else:
        call(reload_i64(section, KERNEL), arguments + 8 * reload_i64(section, JOB))


def claim(counters: int, thread: int, tiles: int) -> int:
    """Take a tile that nobody has begun, odd threads the first and others the last; -1: none is left."""
    step = 1 if thread % 2 == 1 else 1 << 32
    begun = fetch_add(counters, 0, step)
    front, back = begun & 0xFFFFFFFF, begun >> 32
    if front + back >= tiles:
        return -1
    return front if step == 1 else tiles - 1 - back


def run_shared(
    section: int, image: int, table: int, thread: int, counters: int, memory: int, report: int
) -> None:
    """Run the tiles of a section that fall to this thread."""
    tiles, finished = reload_i64(section, KEPT_TILES), 0
    tile = claim(counters, thread, tiles)
    if tile >= 0:
        set_up(section, image, table, memory, report)
    while tile >= 0:
        run_tile(section, image, table, memory, tile, True)
        finished += 1
        tile = claim(counters, thread, tiles)
    if finished > 0:
        fetch_add(counters + DONE, 0, finished)


def place_arrays(table: int, places: int, count: int, offset: int) -> None:
    """Put the addresses of a call's arrays into the table; every thread does, and finds the same."""
    arrays = reload_i64(places, 0)
    for k in range(count):
        store_i64(table, reload_i64(places, 1 + k), reload_i64(reload_i64(arrays, k) + offset, 0))


def kernel(args: int) -> None:
    """Run a program's sections from first to end."""
    image, table, thread = reload_i64(args, 0), reload_i64(args, 1), reload_i64(args, 2)
    counters, memory, report = reload_i64(args, 3), reload_i64(args, 4), reload_i64(args, 7)
    patience, lasting, bound = reload_i64(args, 11), reload_i64(args, 12), reload_i64(args, 13)
    place_arrays(table, reload_i64(args, 8), reload_i64(args, 9), reload_i64(args, 10))
    before = 0
    for number in range(reload_i64(args, 5), reload_i64(args, 6)):
        section = image + 8 * reload_i64(image, number)
        shared = reload_i64(section, SHARED)
        if thread == 1 or (thread > 1 and shared != 0):
            wait_for_tiles(counters - COUNTERS, before, patience)
        if thread != 0 and shared != 0:
            run_shared(section, image, table, thread, counters, memory, report)
        elif thread <= 1:
            there = reload_i64(section, LASTING)
            if there >= 0 and (bound != 0 or reload_i64(section, PASSED) == 0):
                run_lasting(section, image, table, memory, report, lasting + there)
            else:
                run_alone(section, image, table, memory, report)
            if thread == 1:
                store_release(counters + DONE, 0, reload_i64(section, KEPT_TILES))
        before = reload_i64(section, KEPT_TILES)
        counters += COUNTERS
    if thread == 1:
        wait_for_tiles(counters - COUNTERS, before, patience)
