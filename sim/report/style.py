"""Colours, of Okabe and Ito: people who see few colours tell them apart, on white and on black."""

CAUSE_COLOURS = {
    "compute": "#009E73",
    "fill": "#56B4E9",
    "input": "#0072B2",
    "weights": "#E69F00",
    "output": "#D55E00",
    "dependency": "#CC79A7",
    "launch": "#8C8C8C",
}
UNIT_COLOURS = {"array": "#009E73", "vector": "#E69F00", "reduction": "#CC79A7", "dma": "#0072B2"}
CONTENT_COLOURS = {
    "input": "#56B4E9",
    "constant": "#E69F00",
    "temporary": "#009E73",
    "output": "#CC79A7",
    "sums": "#A6A6A6",
}
"""What the scratchpad holds."""
OPERATOR_COLOURS = ("#56B4E9", "#E69F00", "#009E73", "#F0E442", "#CC79A7", "#A6A6A6")
"""In turn: neighbours differ, and black letters are read on each."""
OTHER = "#8C8C8C"


def unit_colour(unit: str) -> str:
    """The colour of a unit; channels of the DMA have that of the DMA."""
    return UNIT_COLOURS.get(unit.split(" ")[0], OTHER)
