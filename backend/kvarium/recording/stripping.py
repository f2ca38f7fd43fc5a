"""A session's records without their text, for a copy that may be given away.

step ──────── held until its text is known ──▶ contents by re-keyed hashes, decisions without text
text ──▶ hashes of the contents, by the chain ──▶ an empty record, or prompts by their hashes
other records ──▶ without text                       (all with their numbers, and with their digests)
"""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

from kvarium.errors import DamagedRecordingError
from kvarium.recording.content_hashes import ContentHashes
from kvarium.recording.reader import Frame
from kvarium_ledger import codec, privacy
from kvarium_ledger.columns import u32
from kvarium_ledger.messages import Hello
from kvarium_ledger.records import AnyRecord, Contents, Control, Keyframe, Note, Record, Step, Text


class Strip(NamedTuple):
    """What a copy leaves out: text, of which ``hash`` tells which is the same as which and ``none`` nothing; and notes."""

    text: Literal["none", "hash"]
    notes: bool = False

    def of(self, hello: Hello) -> Literal["none", "hash"]:
        """What is left of text: no more than was recorded."""
        return "none" if hello.record_text == "none" else self.text

    def greeting(self, hello: Hello) -> Hello:
        """The session's first words, as the copy tells them."""
        return privacy.greeting(hello, self.of(hello))


class Stripper:
    """Takes the text out of the records of one session, which begins with ``hello``."""

    def __init__(self, hello: Hello, strip: Strip) -> None:
        self._privacy = privacy.Privacy(strip.of(hello))
        self._strip = strip
        self._hashes = ContentHashes(hello)

    def frames(self, frames: Iterable[Frame]) -> Iterator[bytes]:
        """All frames of the session in order, without text. Raises :class:`DamagedRecordingError`."""
        held: Step | None = None
        for frame in frames:
            record = self._opened(frame)
            if held is not None:
                if isinstance(record, Text) and record.step == held.step:
                    self._hashes.learn(held.contents, record)
                yield codec.seal(self._told(held))
                held = None
            if isinstance(record, Step):
                held = record
            else:
                yield codec.seal(self._told(record))
        if held is not None:
            yield codec.seal(self._told(held))

    @staticmethod
    def _opened(frame: Frame) -> AnyRecord:
        try:
            record = codec.open_frame(frame.bytes)
        except codec.FrameError as error:
            raise DamagedRecordingError(f"record {frame.head.record}: {error}") from None
        if not isinstance(record, Record):
            raise DamagedRecordingError(
                f"record {frame.head.record} is a message: {type(record).__name__.lower()}"
            )
        return record

    def _told(self, record: AnyRecord) -> AnyRecord:
        if isinstance(record, Step):
            return self._privacy.step(record, self._true(record.contents))
        if isinstance(record, Keyframe):
            return self._privacy.keyframe(record, self._true(record.contents))
        if isinstance(record, Text):
            return self._privacy.text(record)
        if isinstance(record, Control):
            return self._privacy.control(record)
        if isinstance(record, Note) and self._strip.notes:
            return self._privacy.note(record)
        return record

    def _true(self, contents: Contents) -> Sequence[bytes]:
        """The hash of each of ``contents``: as it is told, as its tokens give it, or, lost with these, one of its own."""
        self._hashes.note(contents)
        return [self._hashes.get(content) or _lost(content) for content in u32(contents.content).tolist()]


def _lost(content: int) -> bytes:
    return hashlib.sha256(f"content {content}".encode()).digest()
