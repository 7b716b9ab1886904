"""Arm's Ethos-U55, U65 and U85: what their array and output stage take, after Vela 5.2.0.

All that only these NPUs have is here. Begin with `parts`: their figures, and what a layer is. `u55` and
`u85` choose blocks for a layer (with `search`, and `area` for work that reads each channel once), `cycles`
says what it takes. `stages` cuts the scalar work of a nest into what the output stage does in one go,
`passes` says what that takes, `blocks` brings both together for a tile.

Each module imports only what comes before it: `parts`, `search`, `area`, `u55`, `u85`, `cycles`, `stages`,
`passes`, `blocks`.
"""
