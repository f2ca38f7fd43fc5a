"""The breakpoints that a session ended with, or has so far: told by the commands that set, removed and switched them.

    break {when, hits, mark, breakpoint}      unbreak, enable, disable {breakpoint}      note {hit: count}

An engine tells them of itself only while it is linked; its recording has them for good.
"""

from collections.abc import Iterable

import msgspec

from kvarium.recording.reader import Reader
from kvarium_ledger import codec
from kvarium_ledger.records import Control, Hit, Note


class RecordedBreakpoint(msgspec.Struct, frozen=True, kw_only=True):
    """A breakpoint as of the last record, with who set it.

    ``when`` is None where text is not recorded in full: a predicate may quote it. ``count`` is how often it was met when that
    was told of last: of several times in a step the first that counts is told. ``last`` is that hit.
    """

    id: int
    when: str | None
    hits: int
    mark: bool
    enabled: bool
    count: int
    last: Hit | None
    asked_by: str


def read_breakpoints(reader: Reader, session: int) -> list[RecordedBreakpoint]:
    """Those of a recorded session, by their ids. It reads all of the recording, but for its texts."""
    frames = reader.frames(session, with_text=False)
    told = (codec.open_frame(frame.bytes) for frame in frames if frame.head.type in ("control", "note"))
    return breakpoints_of(each for each in told if isinstance(each, Control | Note))


def breakpoints_of(records: Iterable[Control | Note]) -> list[RecordedBreakpoint]:
    """What is set after these records, by their ids."""
    found: dict[int, RecordedBreakpoint] = {}
    for record in records:
        if isinstance(record, Note):
            hit = record.hit
            if hit is not None and hit.breakpoint in found:
                known = found[hit.breakpoint]
                found[known.id] = msgspec.structs.replace(known, count=hit.count, last=hit)
            continue
        number = record.args.get("breakpoint")
        if record.error is not None or not isinstance(number, int):
            continue
        if record.name == "break" and number in found:
            # It was set already: an engine sets no two that are the same.
            found[number] = msgspec.structs.replace(found[number], enabled=True)
        elif record.name == "break":
            when, hits = record.args.get("when"), record.args.get("hits")
            found[number] = RecordedBreakpoint(
                id=number,
                when=when if isinstance(when, str) else None,
                hits=hits if isinstance(hits, int) else 1,
                mark=record.args.get("mark") is True,
                enabled=True,
                count=0,
                last=None,
                asked_by=record.asked_by,
            )
        elif record.name == "unbreak":
            found.pop(number, None)
        elif record.name in ("enable", "disable") and number in found:
            found[number] = msgspec.structs.replace(found[number], enabled=record.name == "enable")
    return [found[each] for each in sorted(found)]
