"""What a server and a question's process say to one another."""

import msgspec

from kvarium.why.questions import Question


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """``database`` is a file or a URL (with its password: so it is no argument)."""

    database: str
    session: int
    question: Question


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """Why there is no answer, and the status with which a server says so."""

    message: str
    status: int
