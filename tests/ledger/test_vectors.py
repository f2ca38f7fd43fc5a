"""The stored vectors are what this code makes, byte for byte, and an old one is still read."""

import json
from pathlib import Path

import pytest

from kvarium_ledger import codec
from kvarium_ledger.fold import Fold
from kvarium_ledger.operations import Operation
from kvarium_ledger.records import VERSION, Step
from tests.plain_state import plain_state
from tests.vectors.make import FOLDER, states_within, vector


def test_the_stored_vector_is_what_is_made_now() -> None:
    frames, states = vector("hand")
    assert (FOLDER / "hand.frames").read_bytes() == frames, "run: python -m tests.vectors.make"
    assert (FOLDER / "hand.json").read_text() == states, "run: python -m tests.vectors.make"


def test_the_engines_vector_has_every_operation() -> None:
    kinds = set()
    for frame in codec.unpack((FOLDER / "engine.frames").read_bytes()):
        record = codec.open_frame(frame)
        if isinstance(record, Step):
            kinds |= set(record.operations.kind)
    assert kinds == {int(kind) for kind in Operation}


def named(path: Path) -> str:
    return path.relative_to(FOLDER).as_posix().split(".")[0]


def test_there_are_vectors_of_every_version() -> None:
    folders = {path.parent.relative_to(FOLDER).as_posix() for path in FOLDER.rglob("*.frames")}
    assert folders == {".", *(f"version-{version}" for version in range(1, VERSION))}


@pytest.mark.parametrize("path", sorted(FOLDER.rglob("*.frames")), ids=named)
def test_every_stored_session_folds_to_its_stored_states(path: Path) -> None:
    told = json.loads(path.with_suffix(".json").read_text())
    fold = Fold(told["num_blocks"], told["block_size"])
    states = {state["record"]: state for state in told["states"]}
    for frame in codec.unpack(path.read_bytes()):
        assert fold.apply(codec.open_frame(frame)) == []  # type: ignore[arg-type]
        if fold.record in states:
            assert plain_state(fold) == states.pop(fold.record)
    assert states == {}


@pytest.mark.parametrize("path", sorted(FOLDER.rglob("*.within.json")), ids=named)
def test_every_stored_session_has_its_stored_states_within_records(path: Path) -> None:
    name = path.name.removesuffix(".within.json")
    told = json.loads(path.with_name(f"{name}.json").read_text())
    frames = codec.unpack(path.with_name(f"{name}.frames").read_bytes())
    assert states_within(told["num_blocks"], told["block_size"], frames) == path.read_text()
