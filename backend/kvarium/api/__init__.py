"""The routes: REST and websockets over the hub and the reader.

sessions.py   lists, seek, frames, the index, download
lanes.py      what each request did, for a timeline
answers.py    answers of many megabytes
commands.py   what a person asks of an engine
engine.py     the websocket of engines
live.py       the websocket of viewers
pages.py      the built page
"""
