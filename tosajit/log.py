"""The logger `tosajit`: what is compiled, what the cache has, and what is done the slow way.

Silent unless a program asks: `logging.basicConfig(level=logging.INFO)`, or DEBUG for every stage and kernel.
"""

import logging

LOG = logging.getLogger("tosajit")
LOG.addHandler(logging.NullHandler())
