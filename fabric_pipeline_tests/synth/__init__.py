"""Tests of the generator of synthetic drops."""
