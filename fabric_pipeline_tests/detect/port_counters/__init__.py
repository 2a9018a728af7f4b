"""Tests of the snapshot counter rules."""
