"""Tests of the link-state rules."""
