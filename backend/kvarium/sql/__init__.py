"""A recording as tables that SQL asks: which there are, how they are made of the records, and where the query runs.

    SELECT … ──plan──▶ which tables, columns and steps ──walk──▶ arrays ──▶ DuckDB in memory ──▶ rows
               │                                        │
               └ on the same tables, empty              └ chunks, decompressed one by one

Only what the query reads is made. DuckDB holds it within a memory limit, sees no file, no network and no extension, and
is gone with the query.
"""
