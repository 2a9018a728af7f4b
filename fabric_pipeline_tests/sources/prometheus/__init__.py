"""Tests of the readers for Prometheus text and query answers."""
