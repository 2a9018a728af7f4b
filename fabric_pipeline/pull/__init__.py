"""Fetching telemetry from a monitoring server into a drop, as the server stored it.

Reading what was fetched is the business of `sources`; nothing here interprets a counter.
"""
