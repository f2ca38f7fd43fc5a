"""Learns which contents have which hashes by walking through a session once, as far as it is asked for.

chunks    ▐ 1 ▐ 2 ▐ 3 ▐ 4 ▐ …        a content's hash needs that of its parent, which was labelled before it;
walked     ■   ■   ■ └─ next         so of any chunk all that lies before it
"""

import threading
import time
from typing import Final

import msgspec
import numpy as np

from kvarium.errors import DamagedRecordingError, InvalidValueError
from kvarium.recording.content_hashes import ContentHashes
from kvarium.recording.reader import Frame, Reader
from kvarium.recording.transcript import NOT_RECORDED
from kvarium_ledger.columns import u32
from kvarium_ledger.records import Contents, Text


class _Told(msgspec.Struct):
    """What is read of a step or a keyframe."""

    step: int
    contents: Contents = Contents()


_MOMENT: Final = 2.0
"""s for which a text that is on its way is waited for."""
_PAUSE: Final = 0.01
"""s between two looks for it."""

_told: Final = msgspec.msgpack.Decoder(_Told)
_text: Final = msgspec.msgpack.Decoder(Text)


class HashWalk:
    """Of one session of a recording."""

    def __init__(self, reader: Reader, session: int) -> None:
        self._reader = reader
        self._session = session
        self._lock = threading.Lock()
        self._known: ContentHashes | None = None
        self._last = -1
        """The last record that was walked past."""
        self._held: _Told | None = None
        """The step whose text may be the next record."""

    def check_recorded(self) -> None:
        """Raises :class:`InvalidValueError` where no true hashes are known, so that nobody who guesses learns anything."""
        hello = self._reader.hello(self._session)[0]
        if hello.record_text != "full":
            raise InvalidValueError(f"no hash can be looked for: {NOT_RECORDED}")
        with self._lock:
            if self._known is None:
                self._known = ContentHashes(hello)

    def walk(self, record: int, until: float) -> bool:
        """Go on to a record, by at least a chunk; False: the time (of :func:`time.monotonic`) was up before it."""
        with self._lock:
            for row in self._reader.chunk_rows(self._session, self._last):
                if row["first"] > record:
                    break
                for frame in self._reader.open_chunk(row):
                    if frame.head.record is not None and frame.head.record > self._last:
                        self._take(frame)
                        self._last = frame.head.record
                if self._last < record and time.monotonic() > until:
                    return False
            return True

    def _take(self, frame: Frame) -> None:
        assert self._known is not None
        body = memoryview(frame.bytes)[:-4]
        held, self._held = self._held, None
        try:
            if frame.head.type in ("step", "keyframe"):
                told = _told.decode(body)
                self._known.note(told.contents)
                self._held = told if frame.head.type == "step" else None
            elif frame.head.type == "text" and held is not None and frame.head.step == held.step:
                self._known.learn(held.contents, _text.decode(body))
        except msgspec.MsgspecError as error:
            raise DamagedRecordingError(f"record {frame.head.record}: {error}") from None

    def settle(self) -> None:
        """Wait for the text of the last step that was walked past, where it is yet to come: at a live end it is committed a moment
        after its step, and tells the hashes of what that one labelled. An engine that was killed between the two sends none.
        """
        until = time.monotonic() + _MOMENT
        while self._awaits_text() and time.monotonic() < until:
            time.sleep(_PAUSE)
            self.walk(self._last + 1, until)

    def _awaits_text(self) -> bool:
        with self._lock:
            held, known = self._held, self._known
            if held is None or known is None:
                return False
            return any(known.get(content) is None for content in u32(held.contents.content).tolist())

    def beginning(self, digits: str) -> np.ndarray:
        """``[contents] bool``: whose hash begins with these digits, of what was walked through?"""
        with self._lock:
            return np.zeros(1, dtype=bool) if self._known is None else self._known.beginning(digits)
