"""Parts of lowerings that several front ends need, written once.

Each module writes TOSA for one kind of thing, such as windows, layouts or scaling, through `tosajit.ops`,
and knows no format. It may import `ops` and all below, never `frame` or a front end.
"""
