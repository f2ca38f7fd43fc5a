"""Recordings: what the engine wrote, byte for byte, in compressed chunks, and an index made by the server's own fold.

tables.py    what is stored
database.py  opening one: SQLite file or PostgreSQL, checked and locked
writer.py    the one thread that writes
reader.py    seek, frames, steps, requests
export.py    one session as one file
"""
