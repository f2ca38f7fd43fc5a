"""A session with contiguous memory: recorded, verified and sought like any other, though blocks leave the queue's middle."""

import json
from pathlib import Path

import numpy as np
import pytest

from kvarium.recording import seek as seek_module
from kvarium.recording.database import open_for_reading
from kvarium.recording.fast_forward import FastState
from kvarium.recording.reader import Reader
from kvarium.recording.seek import Seeker
from kvarium_ledger.columns import OperationColumns
from kvarium_ledger.decisions import Waiting
from kvarium_ledger.fold import Fold
from kvarium_ledger.operations import Cause, Operation
from kvarium_ledger.records import Keyframe, Step
from tests.backend.hand_engine import decoded, record_of
from tests.backend.server_process import kvarium
from tests.backend.test_fast_forward import passed
from tests.plain_state import plain_state

BLOCKS, SIZE = 128, 16


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recording of the seeded mix on contiguous memory."""
    found = tmp_path_factory.mktemp("contiguous") / "recording.db"
    done = kvarium(
        *(
            "serve",
            "--port",
            "0",
            "--db",
            str(found),
            "--exit-with-engine",
            "--steps",
            "250",
            "--step-ms",
            "0",
        ),
        *("--memory-backend", "contiguous", "--reserve", "power-of-two", "--audit-interval", "10"),
        *("--num-gpu-blocks-override", str(BLOCKS), "--block-size", str(SIZE), "--max-model-len", "512"),
    )
    assert done.returncode == 0, done.stderr
    assert "it reserves for each sequence its prompt, and max_tokens rounded up" in done.stderr
    return found


@pytest.fixture(scope="module")
def frames(path: Path) -> list[bytes]:
    database = open_for_reading(str(path))
    found = [frame.bytes for frame in Reader(database).frames(1)]
    database.close()
    return found


def test_it_verifies_and_tells_its_back_end(path: Path) -> None:
    verified = kvarium("verify", "latest", "--db", str(path), "--json")
    assert verified.returncode == 0, verified.stderr
    told = json.loads(verified.stdout)
    assert told["operations"] > 3000
    assert (told["digest_mismatches"], told["violations"], told["gaps"]) == (0, 0, 0)
    database = open_for_reading(str(path))
    config = Reader(database).hello(1)[0].config
    database.close()
    assert (config["memory_backend"], config["reserve"]) == ("contiguous", "power-of-two")


def test_blocks_were_reserved_from_the_middle_of_the_queue_and_requests_waited_for_a_run(
    frames: list[bytes],
) -> None:
    fold = Fold(BLOCKS, SIZE)
    middle = 0
    reasons: set[str] = set()
    for frame in frames:
        record = decoded(frame)
        if isinstance(record, Step):
            reasons |= {one.reason for one in record.decisions if isinstance(one, Waiting)}
            kinds = record.operations.kind
            assert set(kinds) <= {Operation.allocate, Operation.fill, Operation.free}
            first = kinds.find(Operation.allocate)
            if first >= 0 and Operation.free not in kinds[:first]:
                columns = OperationColumns.decode(record.operations)
                assert columns.cause[first] == Cause.reserve
                middle += bool(columns.ticket[0] > np.nanmin(fold.state.blocks.np_ticket))
        assert fold.apply(record) == []
    assert middle > 10
    assert {"blocks", "fragmentation"} <= reasons


def test_a_leap_over_it_lands_where_the_exact_fold_does(frames: list[bytes]) -> None:
    first = decoded(frames[0])
    assert isinstance(first, Keyframe)
    fold, state = Fold(BLOCKS, SIZE, undoable=False), FastState(first, BLOCKS)
    fold.apply(first)
    for at in range(1, len(frames), 37):
        for frame in frames[at : at + 37]:
            assert fold.apply(decoded(frame)) == []
        state.advance(passed(frames[at : at + 37]))
        assert state.keyframe() == fold.keyframe()


def test_a_seek_into_it_shows_the_state_there(
    path: Path, frames: list[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(seek_module, "_FAST_FORWARD_BYTES", 2000)
    database = open_for_reading(str(path))
    seeker = Seeker(Reader(database))
    fold = Fold(BLOCKS, SIZE, undoable=False)
    for frame in frames:
        record = decoded(frame)
        fold.apply(record)
        if isinstance(record, Step) and record.step % 60 == 59:
            keyframe, *rest = seeker.seek(1, record.record, record.record, 0)
            there = Fold(BLOCKS, SIZE, undoable=False)
            for part in [keyframe, *(part for part in rest if record_of(part) <= record.record)]:
                there.apply(decoded(part))
            assert plain_state(there) == plain_state(fold)
    database.close()
