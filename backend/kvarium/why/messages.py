"""What a server and a question's process say to one another."""

import msgspec

from kvarium.why.questions import Question


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """``database`` is a file or a URL (with its password: so it is no argument).

    ``cpu_seconds``: so much of a processor's time it may take. Not of the clock's: on a machine that has other things to do, or
    stands still for a while, an answer takes longer, and is no less wanted.
    """

    database: str
    session: int
    question: Question
    cpu_seconds: float


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """Why there is no answer, and the status with which a server says so."""

    message: str
    status: int
