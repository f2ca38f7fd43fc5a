"""The states of a trail are those of the exact fold, whatever chunks the records lie in; what it may take is bounded."""

import random
import threading
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from kvarium.heads import stored_head
from kvarium.recording import trail as trail_module
from kvarium.recording.reader import Frame
from kvarium.recording.trail import Trail
from kvarium_ledger import codec
from kvarium_ledger.fold import Fold
from kvarium_ledger.records import Contents, Gap
from tests.backend.hand_engine import BLOCKS, SIZE, decoded, hand_frames, record_of
from tests.backend.laid_over import laid_over

Row = dict[str, Any]


class Chunks:
    """Frames in chunks of random lengths, read as a recording is."""

    def __init__(self, frames: list[bytes], rng: random.Random, least: int = 1, most: int = 9) -> None:
        self._rows: list[Row] = []
        self._frames: dict[int, list[Frame]] = {}
        at = 0
        while at < len(frames):
            chunk = frames[at : at + rng.randint(least, most)]
            at += len(chunk)
            numbers = [record_of(frame) for frame in chunk]
            self._rows.append({"first": numbers[0], "last": numbers[-1]})
            self._frames[numbers[0]] = [Frame(stored_head(frame), frame) for frame in chunk]
        self.ends = [row["last"] for row in self._rows]

    def chunk_rows(self, session: int, after: int) -> Iterator[Row]:
        yield from (row for row in self._rows if row["last"] > after)

    def open_chunk(self, row: Row, with_text: bool = True) -> list[Frame]:
        frames = self._frames[row["first"]]
        return [frame for frame in frames if with_text or frame.head.type != "text"]


def laid(chunks: Chunks, most_bytes: int = 1 << 30) -> Trail:
    trail = Trail(chunks, 1, BLOCKS, most_bytes)  # type: ignore[arg-type]
    trail.follow()
    assert trail.wait(60)
    return trail


def keyframes(frames: list[bytes]) -> dict[int, Any]:
    """What the exact fold gives at each record that it knows."""
    fold = Fold(BLOCKS, SIZE, undoable=False)
    found = {}
    for frame in frames:
        fold.apply(decoded(frame))
        if fold.loaded:
            found[fold.record] = fold.keyframe()
    return found


@pytest.mark.parametrize("behind", [0, 0.5, 4, 100])
def test_the_state_behind_each_chunk_is_the_exact_folds(
    behind: float, rng: random.Random, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trail_module, "_BEHIND", behind)
    frames = hand_frames(120, seed=rng.randrange(1000), actions=12)
    chunks = Chunks(frames, rng)
    trail = laid(chunks)
    true = keyframes(frames)
    # Whoever goes on from a state changes no other.
    for end in [*chunks.ends, *rng.sample(chunks.ends, 5)]:
        state = trail.before(end + 1, -1)
        assert state is not None
        assert state.record == end
        assert state.keyframe() == true[end]
        assert b"".join(state.sealed(with_contents=True)) == codec.seal(true[end])
        bare = msgspec.structs.replace(true[end], contents=Contents())
        assert b"".join(state.sealed(with_contents=False)) == codec.seal(bare)
        after = [frame for frame in frames if end < record_of(frame)][:7]
        state.advance([(codec.peek(frame)[0], record_of(frame), frame) for frame in after])
    first = trail.before(chunks.ends[0], -1)
    assert (first is None) == (chunks.ends[0] == record_of(frames[0]))
    assert first is None or first.keyframe() == true[record_of(frames[0])]
    assert trail.before(chunks.ends[3] + 1, chunks.ends[3]) is None


@pytest.mark.parametrize("behind", [0, 0.5, 4, 100])
def test_a_difference_laid_over_an_earlier_state_is_the_later_one(
    behind: float, rng: random.Random, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trail_module, "_BEHIND", behind)
    monkeypatch.setattr(trail_module, "_MOST", 100)
    frames = hand_frames(120, seed=rng.randrange(1000), actions=12)
    chunks = Chunks(frames, rng)
    trail = laid(chunks)
    true = keyframes(frames)
    for _ in range(40):
        since, record = sorted(rng.choices(sorted(true), k=2))
        found = trail.difference(record, since)
        end = max((end for end in chunks.ends if end < record), default=-1)
        if since > end:
            assert found is None
            continue
        assert found is not None
        assert (found.record, found.since, found.step) == (end, since, true[end].step)
        whole = laid_over(true[since], b"".join(found.sealed()))
        assert whole == msgspec.structs.replace(true[end], contents=Contents(), audited=False)
    monkeypatch.setattr(trail_module, "_MOST", 0)
    assert trail.difference(chunks.ends[-1] + 1, chunks.ends[0]) is None


def test_behind_lost_records_it_goes_on_from_the_keyframe_there(
    rng: random.Random, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trail_module, "_MOST", 100)
    frames = hand_frames(80, seed=3, actions=12)
    fold = Fold(BLOCKS, SIZE, undoable=False)
    for frame in frames[:62]:
        fold.apply(decoded(frame))
    first, last = record_of(frames[40]), record_of(frames[61]) - 2
    gap = codec.seal(Gap(record=last + 1, time=0, first=first, last=last, reason="lost"))
    left = [*frames[:40], gap, codec.seal(fold.keyframe()), *frames[62:]]
    chunks = Chunks(left, rng)
    trail = laid(chunks)
    true = keyframes(left)
    known = 0
    for end in chunks.ends:
        state = trail.before(end + 1, end - 1)
        assert (state is None) == (end == last + 1)
        if state is not None:
            assert state.keyframe() == true[end]
            known += end > last
    assert known > 1
    behind = [end for end in chunks.ends if end > last + 1]
    assert trail.difference(chunks.ends[-1] + 1, max(end for end in chunks.ends if end < first)) is None
    assert trail.difference(chunks.ends[-1] + 1, behind[0]) is not None


def test_records_that_were_not_stored_end_what_is_known_until_a_keyframe(rng: random.Random) -> None:
    frames = hand_frames(60)
    chunks = Chunks(frames[:30], rng)
    rest = Chunks(frames[40:], rng)
    chunks._rows += rest._rows
    chunks._frames |= rest._frames
    trail = laid(chunks)
    state = trail.before(record_of(frames[-1]), -1)
    assert state is not None
    assert state.record == record_of(frames[29])


def test_it_stops_at_its_bound_and_goes_on_where_the_recording_has_grown(rng: random.Random) -> None:
    frames = hand_frames(120)
    chunks = Chunks(frames, rng)
    whole = laid(chunks)
    part = laid(chunks, whole.bytes // 2)
    state = part.before(record_of(frames[-1]) + 1, -1)
    assert state is not None
    assert 0 < state.record < chunks.ends[-1]
    assert part.bytes < whole.bytes * 3 // 4
    part.most_bytes = 1 << 30
    part.follow()
    assert part.wait(60)
    state = part.before(record_of(frames[-1]) + 1, -1)
    assert state is not None
    assert state.record == chunks.ends[-1]
    assert laid(chunks, 0).before(1 << 40, -1) is None


def test_whole_states_are_left_by_what_changed_and_not_by_how_many_chunks_there_are(
    rng: random.Random, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trail_module, "_BEHIND", 5)
    frames = hand_frames(400, actions=12)

    def wholes(chunk: int) -> int:
        return sum(stop.blocks is not None for stop in laid(Chunks(frames, rng, chunk, chunk))._stops)

    few, many = wholes(8), wholes(1)
    # A block that several steps of a chunk change is told once there: small chunks tell more, but not eight times as much.
    assert 3 < few <= many < few * 4
    monkeypatch.setattr(trail_module, "_LONGEST", 4)
    assert wholes(1) > len(frames) / 6


class Gated(Chunks):
    """Chunks that open once they may; of the one that begins with ``broken`` a frame's operations are cut off at first."""

    def __init__(self, frames: list[bytes], rng: random.Random) -> None:
        super().__init__(frames, rng)
        self.may_open = threading.Event()
        self.broken: int | None = None

    def open_chunk(self, row: Row, with_text: bool = True) -> list[Frame]:
        assert self.may_open.wait(60)
        frames = super().open_chunk(row, with_text)
        if row["first"] != self.broken:
            return frames
        self.broken = None
        cut = msgspec.msgpack.decode(frames[-1].bytes[:-4]) | {"type": "step", "operations": {"kind": b"\1"}}
        step = msgspec.msgpack.encode(cut) + b"1234"
        head = msgspec.structs.replace(frames[-1].head, type="step")
        return [*frames[:-1], Frame(head, step)]


def test_whoever_seeks_ahead_of_it_waits_until_it_has_come_there(rng: random.Random) -> None:
    chunks = Gated(hand_frames(60), rng)
    trail = Trail(chunks, 1, BLOCKS, 1 << 30)  # type: ignore[arg-type]
    there: list[int] = []

    def wait() -> None:
        trail.reach(chunks.ends[-2])
        there.append(trail.walked)

    waiting = threading.Thread(target=wait)
    waiting.start()
    waiting.join(0.1)
    assert waiting.is_alive()
    assert trail.walked == -1
    chunks.may_open.set()
    waiting.join(60)
    assert there
    assert there[0] >= chunks.ends[-2]
    # There is no such record: it ends, and so does the waiting.
    trail.reach(1 << 40)
    assert trail.walked == chunks.ends[-1]


def test_behind_a_chunk_that_could_not_be_applied_no_state_is_known(rng: random.Random) -> None:
    frames = hand_frames(60, seed=3, actions=12)
    chunks = Gated(frames, rng)
    chunks.may_open.set()
    chunks.broken = chunks._rows[3]["first"]
    trail = laid(chunks)
    assert trail.walked == chunks.ends[2]
    known = trail.before(chunks.ends[-1], -1)
    assert known is not None
    assert known.record == chunks.ends[2]
    trail.reach(chunks.ends[-1])
    assert trail.walked == chunks.ends[-1]
    again = trail.before(chunks.ends[-1], -1)
    assert again is not None
    assert again.keyframe() == keyframes(frames)[again.record]
    assert again.record == chunks.ends[2]
