"""Going forward without walking the operations gives the very keyframe that the exact fold gives."""

import random
from pathlib import Path
from typing import Any

import pytest

from kvarium.recording import seek as seek_module
from kvarium.recording.database import open_for_reading
from kvarium.recording.fast_forward import FastState
from kvarium.recording.reader import Reader
from kvarium.recording.seek import Seeker
from kvarium_ledger import codec
from kvarium_ledger.fold import Fold
from kvarium_ledger.records import Keyframe, Step
from tests.backend.hand_engine import BLOCKS, SIZE, decoded, hand_frames, record_of
from tests.plain_state import plain_state


def passed(frames: list[bytes]) -> list[tuple[str, int, bytes]]:
    return [(codec.peek(frame)[0], record_of(frame), frame) for frame in frames]


def keyframe_of(frame: bytes) -> Keyframe:
    found = decoded(frame)
    assert isinstance(found, Keyframe)
    return found


@pytest.mark.parametrize("which", range(6))
def test_a_leap_lands_where_the_exact_fold_does(which: int, rng: random.Random) -> None:
    frames = hand_frames(80, seed=which, actions=12)
    fold = Fold(BLOCKS, SIZE, undoable=False)
    state = FastState(keyframe_of(frames[0]), BLOCKS)
    fold.apply(decoded(frames[0]))
    at = 1
    while at < len(frames):
        upto = min(len(frames), at + rng.randint(1, 40))
        for frame in frames[at:upto]:
            assert fold.apply(decoded(frame)) == []
        state.advance(passed(frames[at:upto]))
        assert state.keyframe() == fold.keyframe()
        # And what it gives can be gone on from, by itself as by others.
        state = rng.choice([state.copy(), FastState(state.keyframe(), BLOCKS)])
        at = upto


def test_a_copy_does_not_change_with_what_it_was_copied_from() -> None:
    frames = hand_frames(40)
    state = FastState(keyframe_of(frames[0]), BLOCKS)
    state.advance(passed(frames[1:30]))
    twin = state.copy()
    before = twin.keyframe()
    state.advance(passed(frames[30:]))
    assert twin.keyframe() == before
    twin.advance(passed(frames[30:]))
    assert twin.keyframe() == state.keyframe()


def test_a_seek_over_much_makes_a_keyframe_near_the_target(
    recorded: tuple[Path, str], frames: list[bytes], rng: random.Random, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(seek_module, "_FAST_FORWARD_BYTES", 2000)
    monkeypatch.setattr(seek_module, "_LEG_BYTES", 8000)
    database = open_for_reading(str(recorded[0]))
    reader = Reader(database)
    # Most of the stored keyframes away, as if the pool were large.
    monkeypatch.setattr(
        reader, "keyframe_before", lambda session, record: Reader.keyframe_before(reader, session, 1)
    )
    seeker = Seeker(reader, cache_bytes=20_000)
    whole = Fold(BLOCKS, SIZE, undoable=False)
    states: dict[int, Any] = {}
    for frame in frames:
        whole.apply(decoded(frame))
        states[record_of(frame)] = plain_state(whole)
    steps = [found.record for found in map(decoded, frames) if isinstance(found, Step)]
    for record in rng.sample(steps, 40):
        found = seeker.seek(1, record, record, 3000)
        fold = Fold(BLOCKS, SIZE, undoable=False)
        fold.load(keyframe_of(found[0]))
        assert fold.verified
        assert fold.record < record
        behind = [frame for frame in found[1:] if record_of(frame) < record]
        assert sum(len(frame) for frame in behind) <= 2000 + 3000 + 150_000
        for frame in found[1:]:
            if record_of(frame) <= record:
                assert fold.apply(decoded(frame)) == []
        assert plain_state(fold) == states[record]
    assert sum(state.size for state in seeker._states.values()) <= 40_000
    database.close()
