"""A question as a process of its own: one on standard input, its answer on standard output, and the end.

Why a process: to look through a long recording takes a processor for seconds, for which the server must not stall.
"""

import contextlib
import signal
import sys

import msgspec

from kvarium.errors import DamagedRecordingError, KvariumError, OutOfRangeError
from kvarium.launch import stand_aside
from kvarium.recording.database import open_for_reading
from kvarium.recording.reader import Reader
from kvarium.recording.seek import Seeker
from kvarium.why.answers import answer
from kvarium.why.messages import Asked, Failure
from kvarium.why.past import Past


def told(asked: Asked) -> bytes:
    """The answer as JSON, or why there is none."""
    try:
        database = open_for_reading(asked.database)
        try:
            reader = Reader(database)
            with contextlib.closing(Seeker(reader)) as seeker:
                found = answer(Past(reader, seeker, asked.session), asked.question)
            return msgspec.json.encode({"answer": found})
        finally:
            database.close()
    except OutOfRangeError as error:
        return msgspec.json.encode(Failure(message=str(error), status=404))
    except DamagedRecordingError as error:
        return msgspec.json.encode(Failure(message=f"the recording is damaged: {error}", status=500))
    except KvariumError as error:
        return msgspec.json.encode(Failure(message=str(error), status=503))


def main() -> None:
    """Answer one question. A process that takes longer than it may is ended by the system, with SIGPROF."""
    stand_aside()
    asked = msgspec.msgpack.decode(sys.stdin.buffer.read(), type=Asked)
    signal.setitimer(signal.ITIMER_PROF, asked.cpu_seconds)
    sys.stdout.buffer.write(told(asked))


if __name__ == "__main__":
    main()
