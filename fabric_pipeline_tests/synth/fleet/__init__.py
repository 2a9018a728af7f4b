"""Tests of the random fleets."""
