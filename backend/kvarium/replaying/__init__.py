"""Replaying: a recording is sent to a server as if its engine ran, so that whatever takes a live session can be tried on it.

frames.py    which records are sent, and what stands in for those that the recording lacks
process.py   who sends them: an uplink like an engine's, timed or as fast as it is taken
command.py   ``kvarium replay``, and the server that it starts
"""
