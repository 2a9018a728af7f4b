"""Use cases that the assets, the CLI and the portal share: read a drop, diagnose, draft, review, publish.

Each is a plain function that gets its connection, clock and settings handed in.
"""
