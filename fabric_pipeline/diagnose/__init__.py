"""Diagnosis: which component is the cause, which findings are its symptoms, what else it could be.

Pure functions over what `detect` found, the topology and the events; no storage, no network.
"""
