"""Stragglers: when a run was slower than its baseline, and which ranks came late."""
