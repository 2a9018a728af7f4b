"""Readers of the normalized drop (design section 10): our own contract, which others write too.

Counters can be large, so `counters` only recognises them and names their columns; the rows are read
set-wise by the ingest step with the SQL of `counters_sql`. The other files are small and read here.
"""
