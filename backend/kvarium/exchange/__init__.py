"""A session for other programs: Parquet tables, lines of JSON, a trace for Perfetto's page; and kvarium's own file.

Each is written under a temporary name beside its place and renamed at the end: there is never half a file.
"""
