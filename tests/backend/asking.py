"""Recordings that the real engine makes for a question whose true answer is known, and the question asked of them."""

from typing import Any

from kvarium.why.answers import answer
from kvarium.why.past import Past
from kvarium.why.questions import Question
from kvarium_ledger import codec
from tests.backend.hand_engine import hello
from tests.backend.running_server import RunningServer
from tests.engine.mirrored import Mirrored


def record(server: RunningServer, engine: Mirrored, **changes: Any) -> str:
    """Let a server record all that an engine did; the session's id. ``changes``: of its hello."""
    engine.mirror()
    config = engine.engine.config
    greeting = hello(num_blocks=config.num_blocks, block_size=config.block_size, **changes)
    link = server.engine(greeting)
    link.send(codec.seal(each) for each in engine.records)
    last = engine.records[-1].record
    link.wait_acked(last)
    link.bye()
    server.wait_indexed(greeting.session, last)
    return greeting.session


def past(server: RunningServer, session: str) -> Past:
    place = server.hub.shelf.place(session)
    return Past(place.reader, place.seeker, place.number)


def ask(server: RunningServer, session: str, question: Question) -> Any:
    return answer(past(server, session), question)
