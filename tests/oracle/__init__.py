"""An oracle for integer TOSA: what every operator means, written from the text alone, slow and plain.

Nothing here knows the package under test, except the field names of its graphs (see graphs.py).
"""

from .graphs import Context, run_graph
from .modes import MODES, Mode
from .numbers import BITS, STORAGE, Illegal, Unpredictable, maximum, minimum
from .operators import OPERATORS, run

__all__ = [
    "BITS",
    "MODES",
    "OPERATORS",
    "STORAGE",
    "Context",
    "Illegal",
    "Mode",
    "Unpredictable",
    "maximum",
    "minimum",
    "run",
    "run_graph",
]
