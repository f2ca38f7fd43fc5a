"""The routes: REST and websockets over the hub and the reader.

sessions.py   lists, seek, frames, the index, download
lanes.py      what each request did, for a timeline: step by step, or in the large
answers.py    answers of many megabytes
bodies.py     JSON that is sent: what it is, or what is wrong with it
refusals.py   what is refused, in one shape
commands.py   what a person asks of an engine
engine.py     the websocket of engines
live.py       the websocket of viewers
pages.py      the built page
"""
