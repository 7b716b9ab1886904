"""Benchmarks of tosajit against its peers; `tools/bench.py` is the command."""
