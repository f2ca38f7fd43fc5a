"""The stored vectors are what this code makes, byte for byte, and an old one is still read."""

import json
from pathlib import Path

import pytest

from kvarium_ledger import codec
from kvarium_ledger.fold import Fold
from kvarium_ledger.operations import Operation
from kvarium_ledger.records import Step
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


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.frames")), ids=lambda path: path.stem)
def test_every_stored_session_folds_to_its_stored_states(path: object) -> None:
    told = json.loads(path.with_suffix(".json").read_text())  # type: ignore[attr-defined]
    fold = Fold(told["num_blocks"], told["block_size"])
    states = {state["record"]: state for state in told["states"]}
    for frame in codec.unpack(path.read_bytes()):  # type: ignore[attr-defined]
        assert fold.apply(codec.open_frame(frame)) == []  # type: ignore[arg-type]
        if fold.record in states:
            assert plain_state(fold) == states.pop(fold.record)
    assert states == {}


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.within.json")), ids=lambda path: path.stem)
def test_every_stored_session_has_its_stored_states_within_records(path: Path) -> None:
    name = path.name.removesuffix(".within.json")
    told = json.loads((FOLDER / f"{name}.json").read_text())
    frames = codec.unpack((FOLDER / f"{name}.frames").read_bytes())
    assert states_within(told["num_blocks"], told["block_size"], frames) == path.read_text()
