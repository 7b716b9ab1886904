"""Where numbers are in the arguments of a chain (`chain.py`), in its links, and in what is copied."""

DRIVER, LINKS, LINK_COUNT, CALLS, THREAD, BEGUN, PATIENCE, TABLE, PLACED, ARRAYS, DATA = range(11)
"""The arguments: address of the driver; links, and how many there are; for each link the driver's arguments
in rounds of even and of odd number, 0 for a thread that has no part in it; the number of the thread (0: there
are no others, 1: the caller); how many rounds have begun, before zeroed counters of all of them; how many
pauses a thread waits before it rests; addresses of values, by number; which of them a call brings; the
address of a word that tells where its arrays are listed, and where such an object keeps the address of its
data.

What a call brings: how many values, the first ones; then how many words of programs' tables are theirs, and
for each of these the value and the address of the word."""

ROUNDS, COUNTS, BEFORE, TAKEN, MADE, AFTER, COPIES, LINK = range(8)
"""A link: rounds; bytes of a round's counters; how much is copied before all rounds, before and after each,
and after all of them; the address of these copies, in this order, those after rounds of even number and of
odd number apart; its size."""

SOURCE, SOURCE_START, SOURCE_STEP, TARGET, TARGET_START, TARGET_STEP, BYTES, COPY = range(8)
"""A copy: the value, where the first round has it in there, and how far the next is; the same of where it
goes; how many bytes; its size."""

COUNTED = 3
"""The argument of the driver that says where the counters of its run are."""
