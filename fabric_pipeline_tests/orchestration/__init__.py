"""Tests of `orchestration`."""
