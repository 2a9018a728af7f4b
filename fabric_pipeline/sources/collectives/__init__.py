"""Readers of collective and training timing: benchmark tables, profiler records, step logs.

One module per tool; what several tools share (rank tags in front of lines, JSON records inside text,
compressed traces) has a module of its own. Nothing here judges a bandwidth or a duration.
"""
