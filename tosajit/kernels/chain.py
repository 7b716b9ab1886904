"""The compiled chain: calls the driver for one program after the other, and again and again for a loop.

The text of this module is itself a kernel; `chain_layout.py` says what its arguments are. A link is a program
that runs so many rounds, on two sets of arguments in turns; bytes are copied before and after. The caller
does that. Other threads come to the round that is under way, late or not at all.
"""

from tosajit.kernels.chain_layout import (
    AFTER,
    ARRAYS,
    BEFORE,
    BEGUN,
    BYTES,
    CALLS,
    COPIES,
    COPY,
    COUNTED,
    COUNTS,
    DATA,
    DRIVER,
    LINK,
    LINK_COUNT,
    LINKS,
    MADE,
    PATIENCE,
    PLACED,
    ROUNDS,
    SOURCE,
    SOURCE_START,
    SOURCE_STEP,
    TABLE,
    TAKEN,
    TARGET,
    TARGET_START,
    TARGET_STEP,
    THREAD,
)
from tosajit.kernels.intrinsics import (
    call,
    copy_bytes,
    load_acquire,
    pause,
    reload_i64,
    rest,
    store_i64,
    store_release,
)
from tosajit.kernels.layout import COUNTERS


def place(args: int) -> None:
    """Put the addresses of a call's arrays where copies and programs look for them."""
    table, entry = reload_i64(args, TABLE), reload_i64(args, PLACED)
    arrays = reload_i64(reload_i64(args, ARRAYS), 0)
    for number in range(reload_i64(entry, 0)):
        array = reload_i64(arrays, number)
        store_i64(table, number, reload_i64(array + reload_i64(args, DATA), 0))
    for word in range(reload_i64(entry, 1)):
        address = reload_i64(table, reload_i64(entry, 2 + 2 * word))
        store_i64(reload_i64(entry, 3 + 2 * word), 0, address)


def copy_all(copies: int, count: int, table: int, number: int) -> None:
    """Copy what goes with a round."""
    for _ in range(count):
        source = reload_i64(table, reload_i64(copies, SOURCE)) + reload_i64(copies, SOURCE_START)
        target = reload_i64(table, reload_i64(copies, TARGET)) + reload_i64(copies, TARGET_START)
        source += number * reload_i64(copies, SOURCE_STEP)
        target += number * reload_i64(copies, TARGET_STEP)
        copy_bytes(target, source, reload_i64(copies, BYTES))
        copies += 8 * COPY


def lead(args: int, link: int, calls: int, counters: int, moment: int) -> None:
    """Run all rounds of a link, the first of which is the one of this number, as the caller."""
    driver, table = reload_i64(args, DRIVER), reload_i64(args, TABLE)
    before = reload_i64(link, COPIES)
    taken = before + 8 * COPY * reload_i64(link, BEFORE)
    made = taken + 8 * COPY * reload_i64(link, TAKEN)
    turn_bytes = 8 * COPY * reload_i64(link, MADE)
    after = made + 2 * turn_bytes
    copy_all(before, reload_i64(link, BEFORE), table, 0)
    for number in range(reload_i64(link, ROUNDS)):
        copy_all(taken, reload_i64(link, TAKEN), table, number)
        turn = reload_i64(calls, number % 2)
        if reload_i64(args, THREAD) == 1:
            store_i64(turn, COUNTED, counters + COUNTERS)
            counters += reload_i64(link, COUNTS)
            store_release(reload_i64(args, BEGUN), 0, moment + number + 1)
        call(driver, turn)
        copy_all(made + number % 2 * turn_bytes, reload_i64(link, MADE), table, number)
    copy_all(after, reload_i64(link, AFTER), table, 0)


def is_under_way(begun: int, moment: int, patience: int) -> bool:
    """Wait until a round has begun; tell whether it is still the last one that has."""
    spins, now = 0, load_acquire(begun, 0)
    while now < moment:
        spins += 1
        if spins < patience:
            pause()
        else:
            rest()
        now = load_acquire(begun, 0)
    return now == moment


def join_in(args: int, link: int, calls: int, counters: int, moment: int) -> None:
    """Take a part in the rounds of a link for which it is not too late."""
    begun, patience = reload_i64(args, BEGUN), reload_i64(args, PATIENCE)
    for number in range(reload_i64(link, ROUNDS)):
        if is_under_way(begun, moment + number + 1, patience):
            turn = reload_i64(calls, number % 2)
            store_i64(turn, COUNTED, counters + COUNTERS)
            call(reload_i64(args, DRIVER), turn)
        counters += reload_i64(link, COUNTS)


def kernel(args: int) -> None:
    """Run all links."""
    thread = reload_i64(args, THREAD)
    link, calls = reload_i64(args, LINKS), reload_i64(args, CALLS)
    counters, moment = reload_i64(args, BEGUN) + COUNTERS, 0
    if thread <= 1:
        place(args)
    for _ in range(reload_i64(args, LINK_COUNT)):
        if thread <= 1:
            lead(args, link, calls, counters, moment)
        elif reload_i64(calls, 0) != 0:
            join_in(args, link, calls, counters, moment)
        moment += reload_i64(link, ROUNDS)
        counters += reload_i64(link, ROUNDS) * reload_i64(link, COUNTS)
        link += 8 * LINK
        calls += 16
