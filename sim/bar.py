"""The bar that shows on a terminal how far long work is."""

WIDTH = 30


def bar_text(done: int, total: int, width: int = WIDTH) -> str:
    """A bar as far as `done` of `total`."""
    filled = width * done // total
    return "█" * filled + "░" * (width - filled)
