"""Storage: Parquet lake, ledger, audit file. The only package that opens DuckDB or SQLite."""
