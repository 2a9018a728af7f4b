"""Incident records, ticket drafts and the review verdict, as validated models and pure rules.

Building a record from findings happens here; storing it belongs to `store`, writing text to `drafting`.
"""
