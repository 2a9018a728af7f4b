"""One module per table: grain, key, columns with units and rules. Asset = table = module = docs page.

From one `Table` come the DuckDB types, the pandera validation, the column pane in the Dagster UI, the
comments in the audit file and the reference page. Moving or judging data belongs elsewhere.
"""
