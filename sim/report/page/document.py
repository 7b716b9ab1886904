"""One file with all that a page needs: style, scripts and data.

Names come from strangers. They are data only: JSON in which nothing ends the element that holds it, and
which scripts set as text. The policy of the page allows its own style and scripts, by their digests, and no
network.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Mapping, Sequence
from functools import cache
from hashlib import sha256
from html import escape
from importlib.resources import files

from sim.report import style
from tiling.words import plain

SHARED = ("base", "tooltip", "surface", "pixels", "scale", "range", "table")
"""Scripts of every page."""

PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<header><h1>{title}</h1><p>{subtitle}</p></header>
<main><noscript><p>This page draws with JavaScript, which is switched off here.</p></noscript></main>
<script type="application/json" id="data">{data}</script>
<script>{script}</script>
</body>
</html>
"""


def document(title: str, subtitle: str, data: Mapping[str, object], scripts: Sequence[str]) -> str:
    """A page whose scripts, in this order and after those of every page, show the data."""
    sheet, script = _sheet(), _script(tuple(scripts))
    return PAGE.format(
        policy=f"default-src 'none'; script-src '{_digest(script)}'; style-src '{_digest(sheet)}'; "
        "base-uri 'none'; form-action 'none'",
        title=escape(plain(title)),
        subtitle=escape(plain(subtitle)),
        style=sheet,
        data=embedded({**data, "style": _styles()}),
        script=script,
    )


def embedded(data: Mapping[str, object]) -> str:
    """JSON that may stand in a page: nothing in it ends or opens an element."""
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _styles() -> dict[str, object]:
    """Colours and words that scripts need."""
    return {
        "causes": [
            [name, colour, style.CAUSE_MEANINGS[name]] for name, colour in style.CAUSE_COLOURS.items()
        ],
        "lanes": list(style.LANE_MEANINGS.items()),
        "contents": [
            [name, colour, style.CONTENT_NAMES[name]] for name, colour in style.CONTENT_COLOURS.items()
        ],
        "units": style.UNIT_COLOURS,
        "operators": style.TRACK_COLOURS,
        "series": style.SERIES_COLOURS,
        "other": style.OTHER,
    }


def _digest(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"


@cache
def _sheet() -> str:
    """The style sheet with the colours of both themes; paper is light."""
    light, dark = (
        "".join(f"--{name}:{value};" for name, value in colours.items())
        for colours in (style.PAGE_LIGHT, style.PAGE_DARK)
    )
    return (
        f":root{{color-scheme:light dark;{light}}}\n"
        f"@media screen and (prefers-color-scheme:dark){{:root{{{dark}}}}}\n{_asset('page.css')}"
    )


@cache
def _script(names: tuple[str, ...]) -> str:
    """Scripts one after another, in a scope of their own."""
    parts = "\n".join(_asset(f"{name}.js") for name in (*SHARED, *names))
    return f'(() => {{\n"use strict";\n{parts}}})();\n'


def _asset(name: str) -> str:
    return (files("sim.report.page") / "assets" / name).read_text(encoding="utf-8")
