"""Judging benchmark-type timing: size sweeps, pair tables, per-rank records, step logs, job events.

Pure functions from records to findings. Series over hours with counters beside them are judged
elsewhere; nothing here names a link that the data does not name.
"""
