"""The past of one session, as the questions look at it: events that were searched, states that were folded, records in order.

search("op:evict block:42")      rows with their places, owners and generations
before(record, op)               the exact fold of the state that the engine had when ``op`` was the next operation
later(step)                      every batch of records from a step on
"""

import re
from collections.abc import Iterator
from typing import Any, Final

from kvarium.errors import DamagedRecordingError, OutOfRangeError
from kvarium.filtering.search import Direction, Searcher
from kvarium.filtering.sheet import Place
from kvarium.recording.contents import read_contents
from kvarium.recording.index_rows import Row
from kvarium.recording.reader import Reader
from kvarium.recording.seek import Seeker
from kvarium.recording.targets import step_of_operation
from kvarium.sql.walk import Steps, Walk
from kvarium.terminal import shown
from kvarium.why.places import Who
from kvarium_ledger import codec
from kvarium_ledger.codec import FrameError
from kvarium_ledger.filtering.reading import read_filter
from kvarium_ledger.filtering.terms import Numbers, Term
from kvarium_ledger.fold import Fold
from kvarium_ledger.hashes import block_hash, root_hash
from kvarium_ledger.operations import NONE
from kvarium_ledger.records import Keyframe, Step

END: Final = Place(1 << 53, 0)
_PAGE: Final = 500
_SECONDS: Final = 3600.0


class Past:
    """Session ``number`` of ``reader``. ``block_size`` is in slots; ``config`` holds the engine's flags by vLLM's names.

    ``record_text`` says how much of text is recorded: ``full``, ``hash`` or ``none``.
    """

    def __init__(self, reader: Reader, seeker: Seeker, number: int) -> None:
        self.reader = reader
        self.number = number
        self.row = reader.session(number)
        hello = reader.hello(number)[0]
        self.num_blocks, self.block_size, self.config = hello.num_blocks, hello.block_size, hello.config
        self.record_text = hello.record_text
        self._seeker = seeker
        self._searcher = Searcher(reader, seeker)
        self._requests: dict[int, Row] | None = None
        self._hashes: dict[int, bytes] = {}

    # -- requests -----------------------------------------------------------------------------------------------------

    @property
    def requests(self) -> dict[int, Row]:
        """The index's rows of all requests, by their numbers."""
        if self._requests is None:
            self._requests = {row["request"]: row for row in self.reader.requests(self.number)}
        return self._requests

    @property
    def indexed(self) -> bool:
        """Does the index know all that is recorded?"""
        return bool(self.row["indexed_record"] == self.row["last_record"])

    def named(self, request: int) -> str:
        """``r17 (name)``, in an error."""
        row = self.requests.get(request)
        return f"r{request}" if row is None else f"r{request} ({shown(row['name'], 100)})"

    def steps_of(self, request: int) -> Numbers | None:
        """The steps in which a request was in the engine, as the index knows them; None: it does not."""
        row = self.requests.get(request)
        if row is None or row["submitted_step"] is None or row["state"] == "lost" or not self.indexed:
            return None
        return Numbers(row["submitted_step"], row["ended_step"])

    def who(self, request: int | None, sequence: int | None = None, index: int | None = None) -> Who | None:
        """A request by its number; None for None."""
        if request is None:
            return None
        row = self.requests.get(request)
        name = None if row is None else str(row["name"])
        return Who(request=request, name=name, sequence=sequence, index=index)

    def request(self, said: str) -> int:
        """The number of a request that is called ``r17``, ``17`` or by its name (the last one that bore it).

        Raises :class:`OutOfRangeError`.
        """
        digits = said[1:] if said[:1] == "r" else said
        if re.fullmatch("[0-9]{1,9}", digits) and (int(digits) in self.requests or not self.indexed):
            return int(digits)
        named = [number for number, row in self.requests.items() if row["name"] == said]
        if named:
            return max(named)
        last = max(self.requests, default=None)
        held = "has no request yet" if last is None else f"has the requests r{min(self.requests)} to r{last}"
        raise OutOfRangeError(f"there is no request {said[:100]!r}: this recording {held}")

    # -- events -------------------------------------------------------------------------------------------------------

    def search(
        self, typed: str, begin: Place = END, direction: Direction = "earlier", steps: Numbers | None = None
    ) -> Iterator[Row]:
        """The events that meet a filter (docs/events.md) from a place on, in the direction; gaps among them.

        ``steps`` are the only ones looked at. Why no part of the text: a recording's numbers may have more digits than
        those that a person can type.
        """
        read = read_filter(typed)
        if steps is not None:
            read = (*read, Term("step", False, (steps,)))
        at: Place | None = begin
        while at is not None:
            page = self._searcher.search(self.number, read, at, direction, _PAGE, _SECONDS)
            yield from reversed(page["rows"]) if direction == "earlier" else page["rows"]
            at = None if page["next"] is None else Place(page["next"]["record"], page["next"]["index"])

    def event_at(self, op: int, typed: str) -> Row | None:
        """The event of operation ``op`` itself, if it meets a filter. Raises :class:`OutOfRangeError`."""
        step = step_of_operation(self.reader, self.number, op)
        found = self.search(typed, Place(0, 0), "later", Numbers(step, step))
        return next((row for row in found if row["kind"] != "gap" and row["op"] == op), None)

    # -- states -------------------------------------------------------------------------------------------------------

    def check_step(self, step: int) -> None:
        """Raises :class:`OutOfRangeError` for a step that is not in the recording."""
        self.reader.records_of_step(self.number, step)

    def after_step(self, step: int | None, trusting: bool = True) -> Fold:
        """The state after a step; None: after the last one. Raises :class:`OutOfRangeError`.

        Not ``trusting``: who asks wants it even where the fold finds a violation, and looks at that.
        """
        if step is None:
            step = self.row["last_step"]
        if step is None:
            raise OutOfRangeError("the recording holds no step yet")
        record, _ = self.reader.records_of_step(self.number, step)
        return self._folded(record, trusting)[0]

    def before(self, record: int, op: int) -> tuple[Fold, Step]:
        """The state when ``op`` was the next operation, of the step that ``record`` tells, and that step."""
        fold, last = self._folded(record)
        if not isinstance(last, Step):
            raise DamagedRecordingError(f"record {record} is no step's")
        fold.stand(last, op)
        return fold, last

    def _folded(self, record: int, trusting: bool = True) -> tuple[Fold, Any]:
        found = self._seeker.sought(self.number, record, record, 0)
        fold = Fold(self.num_blocks, self.block_size)
        last: Any = None
        try:
            for frame in (b"".join(found.keyframe), *found.frames):
                last = codec.open_frame(frame)
                fold.apply(last)
        except (FrameError, ValueError) as error:
            raise DamagedRecordingError(f"the state at record {record}: {error}") from None
        if trusting and fold.violation is not None:
            raise DamagedRecordingError(
                f"the state at record {record} can't be trusted: {fold.violation.message} "
                f"(record {fold.violation.record}); `kvarium verify` tells more"
            )
        if not fold.loaded or fold.record != record:
            raise OutOfRangeError(f"the state at record {record} is not recorded: it lies in a gap")
        return fold, last

    def first_state(self) -> Keyframe | None:
        """The keyframe with which the recording begins; None: it begins with something else."""
        for frame in self.reader.frames(self.number, with_text=False):
            first = codec.open_frame(frame.bytes)
            return first if isinstance(first, Keyframe) else None
        return None

    # -- records in order ---------------------------------------------------------------------------------------------

    def later(self, step: int) -> Iterator[Any]:
        """Batches, keyframes and gaps (:class:`kvarium.sql.walk.Walk`) from a keyframe before a step to the end, without text."""
        yield from Walk(self.reader, self.number, Steps(first=step), with_text=False)

    def everything(self, with_text: bool) -> Walk:
        """The same from the recording's beginning."""
        return Walk(self.reader, self.number, Steps(), with_text)

    # -- contents -----------------------------------------------------------------------------------------------------

    def chain(self, fold: Fold, content: int) -> list[int] | None:
        """The contents from the first block of a prompt to ``content``; None: not all of them are recorded."""
        found = [content]
        while True:
            parent = fold.state.contents.parent(found[-1])
            if parent is None or len(found) > self.num_blocks:
                return None
            if parent == NONE:
                return found[::-1]
            found.append(parent)

    def hash_of(self, fold: Fold, content: int) -> bytes | None:
        """The hash of a content; None where it is not recorded."""
        if content in self._hashes:
            return self._hashes[content]
        chain = self.chain(fold, content)
        if chain is None:
            return None
        told = {row["content"]: row for row in read_contents(self.reader, self.number, chain)}
        value = root_hash(str(self.config.get("prefix_caching_hash_seed", "0")))
        for each in chain:
            row = told.get(each)
            if row is None:
                return None
            if row["hash"] is not None:
                value = bytes.fromhex(row["hash"])
            elif row["tokens"] is not None:
                value = block_hash(value, row["tokens"], row["extra_keys"])
            else:
                return None
        self._hashes[content] = value
        return value
