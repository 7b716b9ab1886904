"""`python -m tosajit` is `tosajit`.

Python has put the current folder before all others by then. From here on nothing is imported from there,
unless this package is; `python -P -m tosajit`, like `tosajit`, never looks there.
"""

import os
import sys


def forget_the_current_folder() -> None:
    """Take the current folder from the modules' search path, if Python has put it there."""
    try:
        here = os.getcwd()
    except OSError:  # it was deleted
        here = ""
    if not sys.flags.safe_path and sys.path[:1] == [here] != [os.path.dirname(os.path.dirname(__file__))]:
        del sys.path[0]


forget_the_current_folder()

from tosajit.cli import main  # noqa: E402

if __name__ == "__main__":
    sys.exit(main())
