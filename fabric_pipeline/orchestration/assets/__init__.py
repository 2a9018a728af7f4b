"""The assets, one module per group of the lineage. Each calls one stage and reports its result."""
