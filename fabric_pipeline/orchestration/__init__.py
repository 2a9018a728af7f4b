"""Dagster: assets, checks, jobs, sensors and schedules. The only package that imports dagster.

Bodies are thin: they call `workflows` and turn results into metadata. Rules live elsewhere.
"""
