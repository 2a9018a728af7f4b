"""Tests of the maps that people keep."""
