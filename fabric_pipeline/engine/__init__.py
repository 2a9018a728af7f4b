"""Where shards are worked on: in this process, or on the workers of a Dask cluster. What a shard is, is decided elsewhere."""
