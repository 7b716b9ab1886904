"""The bar that shows on a terminal how far long work is."""

WIDTH = 30


def bar_text(done: int, total: int) -> str:
    """A bar as far as `done` of `total`."""
    filled = WIDTH * done // total
    return "█" * filled + "░" * (WIDTH - filled)
