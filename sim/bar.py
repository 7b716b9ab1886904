"""The bar that shows on a terminal how far long work is, and whether there is a notebook in place of one."""

import sys

WIDTH = 30


def bar_text(done: int, total: int, width: int = WIDTH) -> str:
    """A bar as far as `done` of `total`."""
    filled = width * done // total
    return "█" * filled + "░" * (width - filled)


def in_notebook() -> bool:
    """Whether a cell of a notebook runs."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return getattr(shell, "kernel", None) is not None
