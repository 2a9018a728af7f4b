"""Vocabulary of the field: components, counters, records that readers make, topology.

Imports nothing else of ours and no third-party package. Judging anything belongs to `detect` and
`diagnose`; reading files belongs to `sources`.
"""
