"""Tests of the readers of InfiniBand and link tools."""
