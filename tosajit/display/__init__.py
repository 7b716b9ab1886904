"""Text for people: summaries of graphs, and tables for terminals.

May import `checks`, `operators` and `graph`. Begin with `summary.py`; `columns.py` aligns any table.
"""
