"""Tests of the same modules."""
