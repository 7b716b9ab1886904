"""The compiled driver: walks the command stream of a program and calls its kernels by address.

The text of this module is itself a kernel. Its arguments: the image of the program, the table of operand
addresses, whether threads share the tiles, two counters a section for that (zeroed, 64 bytes apart: tiles begun
and tiles done), memory of this thread's own, where its scratchpad begins in it, the first section to run and the
end, memory for reports. Threads may come late or not at all: a section is done when its tiles are.
"""

from tosajit.kernels.intrinsics import *  # noqa: F403

SPINS = 2000
ARGUMENTS = 4096
"""Bytes at the start of a thread's memory for the argument array; the odometer of copies stands behind."""


def wait_for_tiles(counters, tiles):  # type: ignore[no-untyped-def]
    """Return when so many tiles of a section are done, by whichever threads came."""
    spins = 0
    while load_acquire(counters, 1) < tiles:
        spins += 1
        if spins < SPINS:
            pause()
        else:
            yield_core()


def copy_box(record, axes, image, memory, arguments, scratch, store):  # type: ignore[no-untyped-def]
    """Copy the box of one access between memory and the scratchpad; return the base that its kernel sees."""
    size, dimensions = reload_i64(record, 3), reload_i64(record, 4)
    image_base = scratch + reload_i64(record, 2)
    base, large = image_base + reload_i64(record, 5), memory
    row, odometer = record + 64, arguments + ARGUMENTS
    for d in range(dimensions):
        low = reload_i64(row, 3)
        high = low + reload_i64(row, 4)
        for a in range(axes):
            c = reload_i64(row, 5 + a)
            first, end = reload_i64(arguments, 4 + a), reload_i64(arguments, 4 + axes + a)
            low += c * first if c > 0 else c * (end - 1)
            high += c * (end - 1) if c > 0 else c * first
        extent = reload_i64(row, 0)
        low, high = max(low, 0), min(high, extent - 1)
        base -= low * reload_i64(row, 2)
        large += low * reload_i64(row, 1)
        store_i64(odometer, 2 * d, high - low + 1)
        store_i64(odometer, 2 * d + 1, 0)
        row += 8 * (5 + axes)
    empty = False
    total = 1
    for d in range(dimensions):
        extent = reload_i64(odometer, 2 * d)
        empty = empty or extent <= 0
        if d < dimensions - 1:
            total *= extent
    if not empty:
        width = size
        if dimensions > 0:
            width = size * reload_i64(odometer, 2 * (dimensions - 1))
        for _ in range(total):
            near, far = image_base, large
            row = record + 64
            for d in range(dimensions - 1):
                at = reload_i64(odometer, 2 * d + 1)
                far += at * reload_i64(row, 1)
                near += at * reload_i64(row, 2)
                row += 8 * (5 + axes)
            if store:
                copy_bytes(far, near, width)
            else:
                copy_bytes(near, far, width)
            d = dimensions - 2
            while d >= 0:
                at = reload_i64(odometer, 2 * d + 1) + 1
                if at < reload_i64(odometer, 2 * d):
                    store_i64(odometer, 2 * d + 1, at)
                    break
                store_i64(odometer, 2 * d + 1, 0)
                d -= 1
    return base


def box_base(record, axes, arguments, base):  # type: ignore[no-untyped-def]
    """The base of a box that is written, not loaded."""
    base += reload_i64(record, 5)
    row = record + 64
    for _ in range(reload_i64(record, 4)):
        low = reload_i64(row, 3)
        for a in range(axes):
            c = reload_i64(row, 5 + a)
            low += c * reload_i64(arguments, 4 + a) if c > 0 else c * (reload_i64(arguments, 4 + axes + a) - 1)
        base -= max(low, 0) * reload_i64(row, 2)
        row += 8 * (5 + axes)
    return base


def set_tile(loops, first, count, tile, arguments, axes):  # type: ignore[no-untyped-def]
    """Set the box along the axes of `count` loops for tile number `tile`; inner loops run fastest."""
    for back in range(count):
        loop = loops + 32 * (first + count - 1 - back)
        axis, extent = reload_i64(loop, 0), reload_i64(loop, 1)
        step, steps = reload_i64(loop, 2), reload_i64(loop, 3)
        begin = (tile % steps) * step
        tile //= steps
        store_i64(arguments, 4 + axis, begin)
        store_i64(arguments, 4 + axes + axis, min(begin + step, extent))


def compute(section, image, arguments):  # type: ignore[no-untyped-def]
    """Call the kernel; one of the array unit gets words of its own, derived from the tile and the bases."""
    row = image + 8 * reload_i64(section, 14)
    job = arguments + 8 * reload_i64(section, 16)
    for _ in range(reload_i64(section, 15)):
        first = reload_i64(arguments, reload_i64(row, 2)) * reload_i64(row, 3)
        second = reload_i64(arguments, reload_i64(row, 4)) * reload_i64(row, 5)
        store_i64(job, reload_i64(row, 0), reload_i64(row, 1) + first + second)
        row += 48
    call(reload_i64(section, 0), job)


def run_tile(section, image, table, arguments, scratch, number, reduced, fresh):  # type: ignore[no-untyped-def]
    """Load what moved, compute, and store what is complete."""
    axes, transfers = reload_i64(section, 1), reload_i64(section, 10)
    red_tiles = reload_i64(section, 5)
    record = image + 8 * reload_i64(section, 13)
    for _ in range(transfers):
        access, slot = reload_i64(record, 0), reload_i64(record, 7)
        store = reload_i64(record, 1)
        if fresh or store or number % reload_i64(record, 6) == 0:
            memory = reload_i64(table, slot)
            base = scratch + reload_i64(record, 2)
            if store:
                base = box_base(record, axes, arguments, base)
            else:
                base = copy_box(record, axes, image, memory, arguments, scratch, False)
            store_i64(arguments, 4 + 2 * axes + access, base)
        record += 8 * (8 + reload_i64(record, 4) * (5 + axes))
    store_i64(arguments, 0, (1 if reduced == 0 else 0) | (2 if reduced == red_tiles - 1 else 0))
    compute(section, image, arguments)
    if reduced == red_tiles - 1:
        record = image + 8 * reload_i64(section, 13)
        for _ in range(transfers):
            if reload_i64(record, 1):
                memory = reload_i64(table, reload_i64(record, 7))
                copy_box(record, axes, image, memory, arguments, scratch, True)
            record += 8 * (8 + reload_i64(record, 4) * (5 + axes))


def set_up(section, image, table, memory, scratch, report):  # type: ignore[no-untyped-def]
    """Fill this thread's argument array for a section."""
    copy_bytes(memory, image + 8 * reload_i64(section, 8), 8 * reload_i64(section, 7))
    store_i64(memory, 1, scratch + reload_i64(section, 9))
    store_i64(memory, 2, scratch)
    store_i64(memory, 3, report)
    bases = memory + 8 * (4 + 2 * reload_i64(section, 1))
    where = image + 8 * reload_i64(section, 12)
    for k in range(reload_i64(section, 6)):
        slot = reload_i64(where, 2 * k)
        if slot >= 0:
            store_i64(bases, k, reload_i64(table, slot) + reload_i64(where, 2 * k + 1))


def run_section(section, image, table, shared, counters, memory, scratch, report):  # type: ignore[no-untyped-def]
    """Run the tiles of one section that fall to this thread; those of a shared section fall to who comes first."""
    axes = reload_i64(section, 1)
    out_tiles, red_tiles = reload_i64(section, 4), reload_i64(section, 5)
    tile, previous = 0, -2
    if shared:
        tile = fetch_add(counters, 0, 1)
    if tile < out_tiles:
        set_up(section, image, table, memory, scratch, report)
    loops, out_loops = image + 8 * reload_i64(section, 11), reload_i64(section, 2)
    while tile < out_tiles:
        if out_tiles * red_tiles == 1 and reload_i64(section, 10) == 0:
            store_i64(memory, 0, 3)
            compute(section, image, memory)
        else:
            set_tile(loops, 0, out_loops, tile, memory, axes)
            for reduced in range(red_tiles):
                set_tile(loops, out_loops, reload_i64(section, 3), reduced, memory, axes)
                fresh = tile != previous + 1 and reduced == 0
                run_tile(section, image, table, memory, scratch, tile * red_tiles + reduced, reduced, fresh)
        previous = tile
        if shared:
            fetch_add(counters, 1, 1)
            tile = fetch_add(counters, 0, 1)
        else:
            tile += 1
    if shared:
        wait_for_tiles(counters, out_tiles)


def kernel(args):  # type: ignore[no-untyped-def]
    """Run a program's sections from first to end."""
    image, table, shared, sync = (reload_i64(args, 0), reload_i64(args, 1), reload_i64(args, 2), reload_i64(args, 3))
    memory, report = reload_i64(args, 4), reload_i64(args, 8)
    scratch = memory + reload_i64(args, 5)
    for number in range(reload_i64(args, 6), reload_i64(args, 7)):
        section = image + 8 * reload_i64(image, number)
        run_section(section, image, table, shared, sync + 64 * number, memory, scratch, report)
