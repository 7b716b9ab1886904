"""The host as a target: cheaper expressions, and groups for the array kernels.

`prepare.py` and `simplify.py` are stages of the pipeline and the places to begin. `match.py` recognises
contractions, `reasons.py` says why a group is none. May import `kernels` and `tiling`; it knows neither
graphs nor operators.
"""
