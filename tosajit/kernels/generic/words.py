"""What the generic kernel and its steps find where: plain numbers, which both texts import."""

AXES, OPERANDS, WALKS, KEPT, LANES, PLACE_COUNT, TABLE, ONCE, BEFORE, EACH, AFTER = range(11)
"""The kernel's words: axes of the nest and operands; walks, and how many are kept; elements of a full vector;
places, and the word where walks and places begin; and the words where four lists of steps begin: what is
the same for all vectors, what is done before a reduction, for each point of it, and after it."""
WORDS = 12
"""One more than these: the last one is the end of the steps."""

AXIS, FACTOR, WALK = range(3)
"""A walk: along which axis of the nest (-1: one point), and points of the walk to each of that axis."""

BASE, CONSTANT, PLACE = range(3)
"""A place: the operand whose address it begins with (-1: none), what is added, and bytes along each walk."""

LENGTH, LIBRARY, NUMBER, FRAME, RESULT = range(5)
"""The record of a step: its words, the address of its library, its number there, the address of the frame,
and the register of the result; operands follow. Registers are offsets in the frame."""

COUNT, ROWS, COLUMNS, COORDINATES = range(4)
"""The frame: elements of a vector, also in rows and columns; coordinates along each walk; then places, where
in each operand the vector begins; then registers."""
MOST_WALKS = 16
FRAME_PLACES = COORDINATES + MOST_WALKS
