"""The fold follows a random lawful ledger, agrees with the batch fold, and can be undone exactly."""

import random
from array import array

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvarium_ledger import codec
from kvarium_ledger.batch import apply_batch
from kvarium_ledger.block_columns import BLOCK_COLUMNS
from kvarium_ledger.codec import FrameError
from kvarium_ledger.columns import OperationColumns
from kvarium_ledger.decisions import Hypothesis, Submitted
from kvarium_ledger.encoder import Encoder
from kvarium_ledger.fold import Fold
from kvarium_ledger.ledger import Ledger, Sealed, StepTimes
from kvarium_ledger.operations import COLUMNS, NONE
from kvarium_ledger.records import (
    VERSION,
    AnyRecord,
    Digest,
    Gap,
    Keyframe,
    Logprobs,
    Operations,
    PinColumns,
    RequestState,
    Step,
    TableColumns,
    Text,
)
from kvarium_ledger.state import BlockState, ContentParents
from kvarium_ledger.step_text import TokenLogprobs
from tests.ledger.hand_pool import HandPool

BLOCKS, SIZE = 24, 4


def first_keyframe() -> Keyframe:
    """The keyframe with which a session begins: every column at its default."""
    fold = Fold(BLOCKS, SIZE)
    fold.lanes.add("blocks", fold.state.blocks.sums())
    return msgspec.structs.replace(fold.keyframe(0), record=0)


def session(seed: int, steps: int = 12) -> tuple[HandPool, list[AnyRecord]]:
    """A random lawful session: the pool as it truly is at the end, and the records, decoded from their frames."""
    sealed: list[Sealed] = []
    pool = HandPool(Ledger(sealed.append), random.Random(seed), BLOCKS, SIZE)
    pool.ledger.keyframe(first_keyframe())
    for _ in range(steps):
        pool.step(pool.rng.randint(0, 12))
    encoder = Encoder(BLOCKS)
    frames = [frame for item in sealed for _, frame in encoder.encode(item)]
    return pool, [codec.open_frame(frame) for frame in frames]  # type: ignore[misc]


def all_of(fold: Fold) -> object:
    """Everything that a fold knows, comparable; ``repr`` because NaN is not equal to itself."""
    state = fold.state
    return repr(
        (
            [list(getattr(state.blocks, name)) for name in BLOCK_COLUMNS],
            sorted((key, sorted(table.items())) for key, table in state.tables.items()),
            sorted((block, sorted(pins.items())) for block, pins in state.pins.items()),
            sorted((key, row.state, row.place) for key, row in state.requests.items()),
            sorted((key, row.request, row.dropped) for key, row in state.sequences.items()),
            fold.lanes.sums,
            fold.usage(),
            fold.op,
            fold.step,
        )
    )


@given(seed=st.integers(0, 10**9))
@settings(max_examples=60, deadline=None)
def test_fold_of_a_lawful_ledger_is_the_true_state(seed: int) -> None:
    pool, records = session(seed)
    fold = Fold(BLOCKS, SIZE)
    for record in records:
        assert fold.apply(record) == []
    blocks = fold.state.blocks
    assert list(blocks.count) == [block.count for block in pool.blocks]
    assert list(blocks.filled) == [block.filled for block in pool.blocks]
    assert list(blocks.content) == [block.content for block in pool.blocks]
    assert list(blocks.hits) == [block.hits for block in pool.blocks]
    assert repr(list(blocks.ticket)) == repr([block.ticket for block in pool.blocks])
    assert fold.state.tables == {(key, 0): table for key, table in pool.tables.items() if table}
    assert fold.verified
    assert fold.check_all() == []


@given(seed=st.integers(0, 10**9))
@settings(max_examples=40, deadline=None)
def test_undoing_every_record_gives_back_each_state_exactly(seed: int) -> None:
    _, records = session(seed)
    fold = Fold(BLOCKS, SIZE)
    fold.apply(records[0])
    states = [all_of(fold)]
    for record in records[1:]:
        fold.apply(record)
        states.append(all_of(fold))
    for i in range(len(records) - 1, 0, -1):
        assert all_of(fold) == states[i]
        fold.undo(records[i])
    assert all_of(fold) == states[0]


def first_of(step: Step, count: int) -> Step:
    """A step's record as if it had ended behind its first ``count`` operations: what it says of later ones is left out."""
    part = OperationColumns.decode(step.operations).part(0, count)
    operations = Operations(**{name: getattr(part, name).tobytes() for name in COLUMNS})
    decisions = [each for each in step.decisions if each.op <= step.op + count]
    return msgspec.structs.replace(step, operations=operations, decisions=decisions, audit=None)


@given(seed=st.integers(0, 10**9), data=st.data())
@settings(max_examples=40, deadline=None)
def test_a_fold_stands_behind_any_operation_as_one_that_was_told_no_more(
    seed: int, data: st.DataObject
) -> None:
    _, records = session(seed)
    at = data.draw(st.sampled_from([i for i, each in enumerate(records) if isinstance(each, Step)]))
    step = records[at]
    assert isinstance(step, Step)
    count = len(step.operations.kind)
    fold = Fold(BLOCKS, SIZE)
    for record in records[:at]:
        fold.apply(record)
    before = all_of(fold)
    fold.apply(step)
    after = all_of(fold)
    for done in data.draw(st.lists(st.integers(0, count), min_size=1, max_size=5)):
        told = Fold(BLOCKS, SIZE)
        for record in records[:at]:
            told.apply(record)
        told.apply(first_of(step, done))
        fold.stand(step, step.op + done)
        assert all_of(fold) == all_of(told)
        assert (fold.rest, fold.violation) == (count - done, None)
    if fold.rest:
        with pytest.raises(ValueError, match="not folded to its end"):
            fold.apply(step)
    within = fold.op
    fold.undo(step)
    assert all_of(fold) == before
    assert fold.apply(step) == []
    fold.stand(step, within)
    fold.stand(step, step.op + count)
    assert all_of(fold) == after
    with pytest.raises(ValueError, match="can't stand before"):
        fold.stand(step, step.op - 1)


@given(seed=st.integers(0, 10**9))
@settings(max_examples=40, deadline=None)
def test_batch_fold_equals_the_exact_fold(seed: int) -> None:
    _, records = session(seed)
    fold, batch = Fold(BLOCKS, SIZE), BlockState(BLOCKS)
    for record in records:
        fold.apply(record)
        if isinstance(record, Step):
            apply_batch(batch, OperationColumns.decode(record.operations))
        for name in BLOCK_COLUMNS:
            np.testing.assert_array_equal(
                getattr(batch, f"np_{name}"), getattr(fold.state.blocks, f"np_{name}")
            )


def test_a_keyframe_tells_all_that_a_submission_tells_of_a_request_but_its_salt() -> None:
    """Who joins by a keyframe knows as much as who was there, but for what is text."""
    moves = {"op", "state_before", "place_before", "state_after", "place_after"}
    told = set(Submitted.__struct_fields__) - moves - {"cache_salt"}
    assert set(RequestState.__struct_fields__) == told | {"state", "place"}
    _, records = session(8, steps=60)
    fold = Fold(BLOCKS, SIZE)
    submitted: dict[int, Submitted] = {}
    seen = 0
    for record in records:
        fold.apply(record)
        for decision in record.decisions if isinstance(record, Step) else ():
            if isinstance(decision, Submitted):
                submitted[decision.request] = decision
        for row in fold.keyframe(0).requests:
            assert {name: getattr(row, name) for name in told} == {
                name: getattr(submitted[row.request], name) for name in told
            }
            seen += row.beam_width is not None and row.lora_name is not None
    assert seen, "a beam search with an adapter was in some keyframe"


@given(seed=st.integers(0, 10**9), at=st.integers(1, 12))
@settings(max_examples=40, deadline=None)
def test_a_fold_from_its_own_keyframe_ends_where_the_first_ends(seed: int, at: int) -> None:
    _, records = session(seed)
    whole, joined = Fold(BLOCKS, SIZE), Fold(BLOCKS, SIZE)
    for record in records[:at]:
        whole.apply(record)
    keyframe = codec.open_frame(codec.seal(whole.keyframe(5)))
    assert isinstance(keyframe, Keyframe)
    joined.load(keyframe)
    assert joined.violation is None
    assert joined.verified
    for record in records[at:]:
        whole.apply(record)
        assert joined.apply(record) == []
    assert joined.keyframe(0) == whole.keyframe(0)


def mutable(step: Step, name: str) -> np.ndarray:
    return np.frombuffer(
        getattr(step.operations, name), dtype=getattr(OperationColumns.decode(step.operations), name).dtype
    ).copy()


@pytest.mark.parametrize(
    "name", ["block", "sequence", "position", "ticket", "filled_after", "content", "source"]
)
def test_a_changed_value_in_any_column_of_state_is_found(name: str) -> None:
    found = 0
    for seed in range(40):
        _, records = session(seed)
        fold = Fold(BLOCKS, SIZE)
        for record in records:
            if isinstance(record, Step) and getattr(record.operations, name) and fold.violation is None:
                values = mutable(record, name)
                if not np.isfinite(values[0]):
                    values[0] = 1
                else:
                    values[0] = values[0] + 1
                operations = msgspec.structs.replace(record.operations, **{name: values.tobytes()})
                record = msgspec.structs.replace(record, operations=operations)
                assert fold.apply(record) != [], f"seed {seed}, record {record.record}"
                assert not fold.verified or fold.violation is not None
                found += 1
                break
            fold.apply(record)
    assert found > 5


def test_a_missing_record_is_an_order_violation() -> None:
    _, records = session(1)
    fold = Fold(BLOCKS, SIZE)
    fold.apply(records[0])
    found = fold.apply(records[3])
    assert found[0].kind == "order"
    assert "record 3 follows record 0" in str(found[0])


def test_after_a_gap_a_fold_waits_for_a_keyframe_and_goes_on() -> None:
    _, records = session(3)
    whole = Fold(BLOCKS, SIZE)
    for record in records:
        whole.apply(record)
    fold = Fold(BLOCKS, SIZE)
    for record in records[:4]:
        fold.apply(record)
    last = records[-1].record
    assert fold.apply(Gap(record=last + 1, time=0, first=4, last=last, reason="test")) == []
    assert not fold.verified
    keyframe = msgspec.structs.replace(whole.keyframe(0), record=last + 2)
    assert fold.apply(keyframe) == []
    assert fold.verified
    assert fold.keyframe(0) == keyframe


def test_an_audit_that_differs_is_told_apart_from_a_digest_that_differs() -> None:
    _, records = session(5)
    fold = Fold(BLOCKS, SIZE)
    fold.apply(records[0])
    step = next(record for record in records if isinstance(record, Step))
    wrong = Digest(blocks=b"\0" * 8, tables=step.digest.tables, requests=step.digest.requests)
    found = fold.apply(msgspec.structs.replace(step, audit=wrong))
    assert [violation.kind for violation in found] == ["audit"]
    assert "blocks" in found[0].message


def test_a_block_past_the_pool_is_reported_not_raised() -> None:
    _, records = session(5)
    fold = Fold(BLOCKS, SIZE)
    fold.apply(records[0])
    step = next(record for record in records if isinstance(record, Step) and record.operations.block)
    values = mutable(step, "block")
    values[-1] = BLOCKS
    operations = msgspec.structs.replace(step.operations, block=values.tobytes())
    found = fold.apply(msgspec.structs.replace(step, operations=operations))
    assert any("the pool has 24" in violation.message for violation in found)


def test_tables_and_pins_of_a_keyframe_past_the_pool_are_reported_not_raised() -> None:
    _, records = session(5)
    keyframe = records[0]
    assert isinstance(keyframe, Keyframe)
    columns = [np.array(value, dtype="<u4").tobytes() for value in ([1], [0], [2**31], [BLOCKS])]
    tables = TableColumns(sequence=columns[0], group=b"\0", position=columns[1], block=columns[2])
    pins = PinColumns(block=columns[3], pin=b"\1")
    fold = Fold(BLOCKS, SIZE)
    told = [each.message for each in fold.apply(msgspec.structs.replace(keyframe, tables=tables, pins=pins))]
    assert "a table names block 2147483648 at 0, the pool has 24" in told
    assert "a pin is on block 24, the pool has 24" in told
    assert not fold.state.tables
    assert not fold.state.pins


def test_an_unknown_operation_stops_the_fold_and_names_the_version() -> None:
    _, records = session(5)
    fold = Fold(BLOCKS, SIZE)
    fold.apply(records[0])
    step = next(record for record in records if isinstance(record, Step))
    operations = Operations(kind=b"\x63", block=b"\0" * 4, cause=b"\0", sequence=b"\0" * 4)
    with pytest.raises(codec.UnknownOperationError, match=f"operation 99 is not known to version {VERSION}"):
        fold.apply(msgspec.structs.replace(step, operations=operations))


def test_text_is_told_apart_from_the_step_and_can_be_left_out() -> None:
    sealed: list[Sealed] = []
    pool = HandPool(Ledger(sealed.append), random.Random(2), BLOCKS, SIZE)
    pool.ledger.keyframe(first_keyframe())
    for _ in range(10):
        pool.step(8)
    full = [record for item in sealed for record in Encoder(BLOCKS).records(item)]
    encoder = Encoder(BLOCKS, record_text="none")
    bare = [record for item in sealed for record in encoder.records(item)]
    assert any(isinstance(record, Text) for record in full)
    assert not any(isinstance(record, Text) for record in bare)
    assert [record.record for record in bare] == list(range(len(bare)))


class _Letters:
    size = 3

    def piece(self, token: int) -> str:
        return ("a", "", "<0xE2>")[token]


def test_a_piece_is_told_once_with_the_first_text_that_has_its_token_and_anew_after_a_gap() -> None:
    encoder = Encoder(BLOCKS, pieces=_Letters())

    def told(prompt: list[int], sampled: list[int]) -> dict[int, str]:
        sealed: list[Sealed] = []
        ledger = Ledger(sealed.append)
        ledger.prompt(0, array("I", prompt).tobytes(), None)
        ledger.sampled([0] * len(sampled), sampled)
        ledger.seal(StepTimes(0, 0, 0, 0), 0, 0, 0)
        (text,) = (record for record in encoder.records(sealed[0]) if isinstance(record, Text))
        tokens = memoryview(text.pieces.token).cast("I").tolist() if text.pieces.token else []
        return dict(zip(tokens, text.pieces.piece, strict=True))

    assert told([1, 0, 0], [7]) == {0: "a"}
    assert told([0], [2, 3]) == {2: "<0xE2>"}
    assert told([0, 1, 2], [2]) == {}
    encoder.gap(1, "lost")
    assert told([0, 1], [2]) == {0: "a", 2: "<0xE2>"}


def test_the_piece_of_the_token_that_ends_an_answer_is_told_though_no_sequence_has_sampled_it() -> None:
    encoder = Encoder(BLOCKS, pieces=_Letters())

    def pieces(*tokens: int | None) -> list[list[str]]:
        sealed: list[Sealed] = []
        ledger = Ledger(sealed.append)
        for token in tokens:
            ledger.decide(
                Hypothesis(op=0, request=0, sequence=0, tokens=3, score=-1.0, reason="stop", token=token)
            )
        ledger.seal(StepTimes(0, 0, 0, 0), 0, 0, 0)
        return [text.pieces.piece for text in encoder.records(sealed[0]) if isinstance(text, Text)]

    assert pieces(2, 0) == [["a", "<0xE2>"]]
    assert pieces(2) == [[]]
    assert pieces(None) == []
    assert pieces() == []


def test_logprobs_are_columns_of_the_text_record_and_absent_when_nobody_asks() -> None:
    encoder = Encoder(BLOCKS, pieces=_Letters())

    def text(logprobs: list[TokenLogprobs]) -> Text:
        sealed: list[Sealed] = []
        ledger = Ledger(sealed.append)
        ledger.sampled([4, 5, 6], [1, 1, 1], logprobs)
        ledger.seal(StepTimes(0, 0, 0, 0), 0, 0, 0)
        [_, (_, frame)] = encoder.encode(sealed[0])
        record = codec.open_frame(frame)
        assert isinstance(record, Text)
        assert (b"logprobs" in frame) == bool(logprobs)
        return record

    assert text([]).logprobs == Logprobs()
    told = text([TokenLogprobs(0, -0.5, 1), TokenLogprobs(2, -1.5, 3, [2, 0], [-0.25, -1.0])])
    columns = {
        name: memoryview(getattr(told.logprobs, name)).cast("f" if "logprob" in name else "I").tolist()
        for name in told.logprobs.__struct_fields__
    }
    assert columns == {
        "sampled": [0, 2], "logprob": [-0.5, -1.5], "rank": [1, 3], "count": [0, 2],
        "top_token": [2, 0], "top_logprob": [-0.25, -1.0],
    }  # fmt: skip
    assert told.pieces.piece == ["a", "<0xE2>"], "the likeliest tokens are shown by their text, too"


def test_a_fold_that_is_not_undone_forgets_what_has_ended_and_makes_the_same_keyframes() -> None:
    _, records = session(8, steps=60)
    keeps, forgets = Fold(BLOCKS, SIZE), Fold(BLOCKS, SIZE, undoable=False)
    for record in records:
        assert keeps.apply(record) == forgets.apply(record) == []
        assert keeps.keyframe(0) == forgets.keyframe(0)
    ended = len(keeps.state.facts) - len(keeps.state.requests)
    assert ended > 20
    assert len(forgets.state.facts) <= len(forgets.state.requests) + 12
    with pytest.raises(ValueError, match="not to be undone"):
        forgets.undo(records[-1])


def test_a_keyframe_lists_the_contents_that_blocks_hold_with_their_ancestors() -> None:
    parents = ContentParents()
    parents.intern(np.array([0, 1, 2, 3], "<u4"), np.array([NONE, 0, 1, NONE], "<u4"))
    live, their_parents = parents.with_ancestors(np.array([2, NONE], np.uint32))
    assert live.tolist() == [0, 1, 2]
    assert their_parents.tolist() == [NONE, 0, 1]
    assert [parents.parent(content) for content in (2, 3, 4)] == [1, NONE, None]


def test_contents_that_no_memory_holds_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    parents = ContentParents()
    parents.intern(np.array([0, 1], "<u4"), np.array([NONE, 0], "<u4"))

    def zeros(*_: object, **__: object) -> None:
        raise MemoryError

    monkeypatch.setattr(np, "zeros", zeros)
    much = np.array([570_425_344], "<u4"), np.array([0], "<u4")
    with pytest.raises(FrameError, match="content 570425344: there is no memory for so many"):
        parents.intern(*much)
    assert (parents.next, parents.parent(1), parents.parent(570_425_344)) == (2, 0, None)
