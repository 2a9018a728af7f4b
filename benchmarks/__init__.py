"""Measurements of accuracy, speed and memory; run by hand, never as tests with time limits."""
