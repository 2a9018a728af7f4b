"""Readers of what the command `nvidia-smi` prints: link states, error counters, maps and queries.

One module per output; the grammar that several outputs share (terminal captures, link rows, the
record of one queried GPU) stands in modules of its own. Nothing here judges a value.
"""
