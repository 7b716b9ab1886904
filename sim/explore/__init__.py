"""Exploration of designs: a space of machines, a strategy, objectives, and what came of them.

Begin with `explore.py` and `run.py`, the loop over points. `space.py` is which machines there are, with
`fields.py`, `values.py` and the expressions of constraints; `strategies.py` says which to look at,
`work.py` what is asked of one, `workers.py` and `cluster.py` where; `store.py` keeps what is known, and
`exploration.py` is the result (what it knows is `explored.py`), with its tables, plots and pages. The top
of `sim`: all of it may be imported.
"""
