"""Readers of InfiniBand and link tools: what a host or a fabric-wide tool prints about its ports.

One module per tool; the modules without a `Reader` class hold what several tools share (names,
rates, states, counter names). Nothing here judges a port.
"""
