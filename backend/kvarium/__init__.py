"""kvarium: a glass tank in which you watch the KV blocks of a paged LLM engine live. This package is the server.

engine ──records──▶ hub ──▶ viewers           app.py makes the application, hub.py holds the live sessions
                     ├──▶ recording/          what was received, byte for byte, and an index of it
                     └──▶ follower.py         the server's own mirror: verifies, makes keyframes and the index
"""

__version__ = "0.1.0"
