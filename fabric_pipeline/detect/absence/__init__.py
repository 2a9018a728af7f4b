"""Absence as a signal: series that vanish, nodes that say nothing. Absent is neither zero nor healthy."""
