"""Colours, of Okabe and Ito: people who see few colours tell them apart, on white and on black."""

CAUSE_COLOURS = {
    "useful": "#009E73",
    "idle": "#8FD0BA",
    "compute": "#006D50",
    "fill": "#56B4E9",
    "input": "#0072B2",
    "weights": "#E69F00",
    "output": "#D55E00",
    "dependency": "#CC79A7",
    "launch": "#8C8C8C",
}
CAUSE_MEANINGS = {
    "useful": "work that keeps all lanes of a unit busy",
    "idle": "a unit works, but some of its lanes have nothing to do",
    "compute": "a unit works on the operator",
    "fill": "a pipeline fills or drains",
    "input": "waiting for activations to be loaded",
    "weights": "waiting for weights or constants to be loaded",
    "output": "waiting for results to be stored",
    "dependency": "waiting for a unit or for results of another operator",
    "launch": "the machine is started",
}
LANE_MEANINGS = {
    "useful": "useful work",
    "channels": "too few input channels for the lanes",
    "filters": "too few output channels for the lanes",
    "positions": "too few rows and columns of the result for the lanes",
    "window": "the window does not fill the lanes for its elements",
    "depthwise": "each channel is worked on alone",
    "edges": "the last tile, block or fold is not full",
    "cores": "some cores have nothing to do",
    "types": "operands take several passes, or a slower rate",
    "sums": "partial sums are added up",
    "feeding": "operands are on their way inside the unit",
    "results": "results leave more slowly than they are computed",
    "passes": "other work of the operator, beside its products",
    "runs": "copies of few bytes at a time",
    "other": "not taken apart further",
}
"""What lanes do, by the names of `sim.report.LANES`."""
UNIT_COLOURS = {"array": "#009E73", "vector": "#E69F00", "reduction": "#CC79A7", "dma": "#0072B2"}
CONTENT_COLOURS = {
    "input": "#56B4E9",
    "constant": "#E69F00",
    "temporary": "#009E73",
    "output": "#CC79A7",
    "sums": "#A6A6A6",
}
"""What the scratchpad holds."""
CONTENT_NAMES = {
    "input": "inputs",
    "constant": "constants",
    "temporary": "between operators",
    "output": "outputs",
    "sums": "accumulators",
}
OPERATOR_COLOURS = ("#56B4E9", "#E69F00", "#009E73", "#F0E442", "#CC79A7", "#A6A6A6")
"""In turn: neighbours differ, and black letters are read on each."""
TRACK_COLOURS = ("#74B4E4", "#EDBB63", "#6FCBAA", "#DD9FC3", "#CCC25C", "#AAB2BC")
"""Softer ones for pages, where they stand beside those of causes: black letters are read on each."""
SERIES_COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#8C8C8C")
"""In turn, for kinds of points and lines."""
OTHER = "#8C8C8C"


def unit_colour(unit: str) -> str:
    """The colour of a unit; channels of the DMA have that of the DMA."""
    return UNIT_COLOURS.get(unit.split(" ")[0], OTHER)


# Pages: names of colours of the style sheet, for readers who prefer light and for those who prefer dark.

PAGE_LIGHT = {
    "page": "#f4f5f7",
    "surface": "#ffffff",
    "float": "#ffffff",
    "head": "#f4f5f7",
    "text": "#1a1f26",
    "muted": "#5a6572",
    "line": "#d6dbe1",
    "grid": "#e3e7ec",
    "grid-faint": "#f0f2f5",
    "lane": "#f0f2f5",
    "chosen": "#d9ebf7",
    "accent": "#0067a3",
    "alarm": "#b03a00",
    "veil": "rgba(255, 255, 255, .62)",
    "mark": "#d55e00",
    "dim": "#c3c9d1",
    "scale": "#440154 #482878 #3e4989 #31688e #26828e #1f9e89 #35b779 #6ece58 #b5de2b",
}
PAGE_DARK = {
    "page": "#0d1117",
    "surface": "#151b23",
    "float": "#1d2530",
    "head": "#1b222c",
    "text": "#e8edf3",
    "muted": "#9aa6b2",
    "line": "#303944",
    "grid": "#28313c",
    "grid-faint": "#1d242d",
    "lane": "#1d242d",
    "chosen": "#123a56",
    "accent": "#6cbcf0",
    "alarm": "#ff9457",
    "veil": "rgba(13, 17, 23, .6)",
    "mark": "#ff9e4a",
    "dim": "#3f4a57",
    "scale": "#5d55a5 #3e6fa0 #2f8493 #26988b #35b779 #6ece58 #b5de2b #fde725",
}
