"""Grades ticket drafters on incidents that the real diagnosis makes from synthetic drops.

Every grade is deterministic code; no model judges another. Run: python -m benchmarks.drafter
"""
