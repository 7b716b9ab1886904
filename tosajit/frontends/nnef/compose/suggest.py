"""Names that may have been meant."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

_MOST = 8


def suggestion(name: str, names: Iterable[str], have: str = "there are") -> str:
    """What to say where a name is not known: the nearest one, or some of those that are."""
    all_names = list(dict.fromkeys(names))
    close = get_close_matches(name, all_names, 1)
    if close:
        return f"did you mean `{close[0]}`?"
    if not all_names:
        return ""
    more = ", …" if len(all_names) > _MOST else ""
    return f"{have} {', '.join(all_names[:_MOST])}{more}"
