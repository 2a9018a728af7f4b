"""Tests of what measures the project: baselines and scoring."""
