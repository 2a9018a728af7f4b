"""Readers of the Prometheus family: scraped text, and answers of the query API as JSON.

Nothing is re-exported here; the registry names each reader's module. Judging any value belongs to
`detect`.
"""
