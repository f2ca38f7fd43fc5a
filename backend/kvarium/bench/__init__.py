"""Benches of the server: each answers one question about the stream and its recordings with figures of the real thing.

command.py    the group ``kvarium bench``, which the engine's benches join
recording.py  the recordings that they are made on, kept in the user's cache
started.py    commands that they start, and end whatever happens
stream.py     ``kvarium bench stream``; viewers.py, watchers.py and folding.py are parts of it
"""
