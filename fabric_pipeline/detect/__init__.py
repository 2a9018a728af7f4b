"""Detection: readings, timings and limits in, spikes, stragglers and state findings out.

Pure functions; set-based work is SQL text run on a connection that is handed in. Deciding which
component is the cause belongs to `diagnose`.
"""
