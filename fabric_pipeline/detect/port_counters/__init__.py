"""Judges counters of InfiniBand and Ethernet ports that come without a time span.

`evaluate` is the door. Rates over time are judged elsewhere; here a count is a total since an
unknown moment, or the growth between two captures of unknown distance.
"""
