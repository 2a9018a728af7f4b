"""Tests of the port state rules."""
