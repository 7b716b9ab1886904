"""`python -m tosajit` is `tosajit`."""

import sys

from tosajit.cli import main

if __name__ == "__main__":
    sys.exit(main())
