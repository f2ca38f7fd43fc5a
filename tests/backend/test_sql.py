"""A recording as tables: what SQL says of it is what a fold in Python says."""

import shutil
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kvarium.recording.database import open_for_reading
from kvarium.recording.reader import Reader
from kvarium.sql import texts
from kvarium.sql.builder import Session
from kvarium.sql.plan import read_by
from kvarium.sql.query import Limits, Query
from kvarium.sql.sandbox import connect
from kvarium.sql.schema import DECISION, TABLES
from kvarium.sql.walk import Batch, Steps
from kvarium_ledger import block_columns, codec
from kvarium_ledger.columns import OperationColumns, u32
from kvarium_ledger.decisions import AnyDecision, Finished, SequenceCreated, Submitted
from kvarium_ledger.fold import Fold
from kvarium_ledger.operations import CARRIED_BY, NONE, Cause, Operation, Pin
from kvarium_ledger.records import (
    ContentKeys,
    Contents,
    Digest,
    Gap,
    Keyframe,
    RequestState,
    Step,
    Text,
)
from tests.backend.hand_engine import BLOCKS, SIZE, decoded, record_of
from tests.backend.running_server import running
from tests.backend.sql_answers import ask

MIB = 1 << 20
FROM_RECORDS = ("stop_reason", "precedence", "beam_width", "lora_name")
"""The columns of ``request`` that the index does not have."""


class Nothing:
    """A walk over no records."""

    done = total = 0

    def __iter__(self) -> Iterator[Batch]:
        return iter(())


@pytest.fixture(scope="module")
def records(mixed_reader: Reader) -> list[bytes]:
    return [frame.bytes for frame in mixed_reader.frames(1)]


@pytest.fixture(scope="module")
def steps(records: list[bytes]) -> list[Step]:
    return [record for frame in records if isinstance(record := decoded(frame), Step)]


def block_events(frames: list[bytes], blocks: int = 128) -> list[tuple[Any, ...]]:
    """The rows of ``block_event``, made an operation at a time."""
    rows: list[tuple[Any, ...]] = []
    generation, known = [0] * blocks, True
    request_of: dict[int, int] = {}
    for frame in frames:
        step = decoded(frame)
        if isinstance(step, Gap):
            known = False
        elif isinstance(step, Keyframe):
            told = block_columns.decode("generation", step.blocks.generation, blocks)
            generation = [0] * blocks if told is None else told.tolist()
            known = True
            request_of |= {row.sequence: row.request for row in step.sequences}
        if not isinstance(step, Step):
            continue
        for decision in step.decisions:
            if isinstance(decision, SequenceCreated):
                request_of[decision.sequence] = decision.request
        columns = OperationColumns.decode(step.operations)
        sparse = {
            name: iter(getattr(columns, name).tolist())
            for name in (*CARRIED_BY, "group", "pin")
            if name not in ("kind", "block", "cause", "sequence")
        }
        for place, code in enumerate(columns.kind.tolist()):
            kind = Operation(code)
            block, sequence = int(columns.block[place]), int(columns.sequence[place])
            if kind in (Operation.allocate, Operation.copy):
                generation[block] += 1
            told = {name: next(sparse[name]) for name in sparse if kind in CARRIED_BY.get(name, ())}
            group = next(sparse["group"]) if "position" in told else None
            pin = None
            if told.get("position") == NONE:
                pin, told["position"], group = Pin(next(sparse["pin"])).name, None, None
            rows.append(
                (
                    step.op + place,
                    step.step,
                    step.record,
                    step.sealed,
                    kind.name,
                    block,
                    generation[block] if known else None,
                    Cause(int(columns.cause[place])).name,
                    None if sequence == NONE else sequence,
                    request_of.get(sequence),
                    group,
                    told.get("position"),
                    pin,
                    *(
                        told.get(name)
                        for name in ("ticket", "filled_before", "filled_after", "source", "content", "hits")
                    ),
                )
            )
    return rows


def test_every_operation_is_a_row_with_what_it_carries(mixed_reader: Reader, records: list[bytes]) -> None:
    rows = ask(mixed_reader, "SELECT * FROM block_event ORDER BY op")
    expected = block_events(records)
    assert {row[4] for row in expected} == {kind.name for kind in Operation}, "the recording has them all"
    assert {row[12] for row in expected} > {"copy_source"}
    assert rows == expected


def test_generations_are_those_of_the_exact_fold(mixed_reader: Reader, records: list[bytes]) -> None:
    fold = Fold(128, 16)
    for frame in records:
        fold.apply(decoded(frame))
    rows = ask(mixed_reader, "SELECT block, max(generation) FROM block_event GROUP BY block ORDER BY block")
    assert rows == list(enumerate(fold.state.blocks.np_generation.tolist()))


@pytest.mark.parametrize(
    ("where", "first", "last", "holds"),
    [
        ("step BETWEEN 120 AND 140", 120, 140, lambda step: 120 <= step <= 140),
        ("step > 120 AND step <= 140 AND block >= 0", 121, 140, lambda step: 120 < step <= 140),
        ("step = 250", 250, 250, lambda step: step == 250),
        ("step >= 280", 280, None, lambda step: step >= 280),
        ("NOT step > 10", None, 10, lambda step: step <= 10),
        ("step BETWEEN 5000 AND 5001", 5000, 5001, lambda step: False),
        ("step = 3 OR step = 280", None, None, lambda step: step in (3, 280)),
        ("(step > 120 AND step < 130) = false", None, None, lambda step: not 120 < step < 130),
        ("step % 100 = 0", None, None, lambda step: step % 100 == 0),
    ],
)
def test_a_range_of_steps_is_read_alone_and_gives_the_same_rows(
    mixed_reader: Reader,
    records: list[bytes],
    where: str,
    first: int | None,
    last: int | None,
    holds: Callable[[int], bool],
) -> None:
    sql = f"SELECT * FROM block_event WHERE {where} ORDER BY op"
    with connect(64 * MIB, 1, planning=True) as planning:
        assert read_by(planning, sql, "64 MiB")["block_event"].steps == Steps(first, last)
    with Query(mixed_reader, 1, sql, Limits(), lambda done, total: None) as query:
        rows = list(query.run().rows())
        held = query.connection.execute("SELECT min(step), max(step) FROM block_event").fetchall()[0]
    assert rows == [row for row in block_events(records) if holds(row[1])]
    if rows:
        assert (first or 0) <= held[0] and held[1] <= (300 if last is None else last)


def test_only_the_columns_that_are_named_are_made() -> None:
    planning = connect(64 * MIB, 1, planning=True)
    sql = (
        "WITH e AS (SELECT * FROM block_event WHERE kind = 'evict' AND step > 7) "
        "SELECT e.block, name FROM e JOIN request USING (request) WHERE EXISTS (FROM step WHERE step.step = e.step)"
    )
    reads = read_by(planning, sql, "64 MiB")
    assert {name: read.columns for name, read in reads.items()} == {
        "block_event": {"kind", "step", "block", "request"},
        "request": {"request", "name"},
        "step": {"step"},
    }
    assert reads["block_event"].steps == Steps(8, None)
    everything = read_by(planning, "SUMMARIZE decision", "64 MiB")
    assert everything["decision"].columns == set(TABLES["decision"].names)
    planning.close()


def test_a_table_that_is_only_counted_is_counted(mixed_reader: Reader, steps: list[Step]) -> None:
    found = ask(
        mixed_reader,
        "SELECT (SELECT count(*) FROM block_event), (SELECT count(*) FROM decision), count(*) FROM step",
    )
    operations = sum(len(step.operations.kind) for step in steps)
    assert found == [(operations, sum(len(step.decisions) for step in steps), len(steps))]


def test_decisions_tell_all_that_the_ledger_tells(mixed_reader: Reader, steps: list[Step]) -> None:
    told = {field for kind in AnyDecision.__args__ for field in kind.__struct_fields__}
    assert told <= set(DECISION.names), "a new field of a decision has a column"
    names = [name for name in DECISION.names if name not in ("step", "record", "time", "kind")]
    quoted = ", ".join(f'"{name}"' for name in names)
    rows = ask(mixed_reader, f"SELECT step, kind, {quoted} FROM decision")
    expected = [
        (
            step.step,
            decision.__struct_config__.tag,
            *(_as_sql(getattr(decision, name, None)) for name in names),
        )
        for step in steps
        for decision in step.decisions
    ]
    assert len(expected) > 100
    assert rows == expected


def _as_sql(value: object) -> object:
    return value.hex() if isinstance(value, bytes) else value


def test_steps_are_what_the_index_says_of_them(mixed_reader: Reader, steps: list[Step]) -> None:
    index = mixed_reader.steps(1)
    names = [name for name in index if name in TABLES["step"].names]
    assert set(index) == set(names)
    rows = ask(mixed_reader, f"SELECT {', '.join(names)} FROM step ORDER BY step")
    assert rows == list(zip(*(index[name] for name in names), strict=True))
    told = ask(mixed_reader, "SELECT started, time, tokens, seal_ns, sampled FROM step ORDER BY step")
    assert told == [
        (step.time, step.sealed, step.tokens, step.seal_ns, len(u32(step.sampled))) for step in steps
    ]


def test_requests_and_landmarks_are_those_of_the_index(mixed_reader: Reader) -> None:
    for name, rows in (("request", mixed_reader.requests(1)), ("landmark", mixed_reader.landmarks(1))):
        columns = [column for column in TABLES[name].names if column not in FROM_RECORDS]
        assert ask(mixed_reader, f"SELECT {', '.join(columns)} FROM {name} ORDER BY ALL") == sorted(
            (tuple(row[column] for column in columns) for row in rows), key=lambda row: row[:3]
        )
        assert rows


def told_of_requests(frames: list[bytes]) -> list[tuple[Any, ...]]:
    """``request`` and what the index does not have of it, as the frames tell it."""
    found: dict[int, list[Any]] = {}
    for record in map(decoded, frames):
        told: list[Submitted | RequestState] = []
        if isinstance(record, Step):
            told += [decision for decision in record.decisions if isinstance(decision, Submitted)]
        elif isinstance(record, Keyframe):
            told += record.requests
        for row in told:
            found[row.request] = [None, row.precedence, row.beam_width, row.lora_name]
        for decision in record.decisions if isinstance(record, Step) else ():
            if isinstance(decision, Finished) and decision.stop_reason is not None:
                found[decision.request][0] = str(decision.stop_reason)
    return [(request, *rest) for request, rest in sorted(found.items())]


def test_what_the_index_has_not_of_a_request_comes_from_its_decisions(
    recorded: tuple[Path, str], frames: list[bytes]
) -> None:
    database = open_for_reading(str(recorded[0]))
    reader = Reader(database)
    rows = ask(reader, f"SELECT request, {', '.join(FROM_RECORDS)} FROM request ORDER BY request")
    assert rows == told_of_requests(frames)
    assert {row[1] for row in rows} == {None, "7", "END"}
    assert {row[3] for row in rows} == {None, 2, 4}
    assert {row[4] for row in rows} == {None, "sql"}
    assert len({row[2] for row in rows}) > 20
    database.close()


def test_of_the_index_alone_no_chunk_is_read(mixed_reader: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    walked: list[int] = []
    monkeypatch.setattr(
        "kvarium.sql.loading.Walk", lambda reader, session, *_: walked.append(session) or Nothing()
    )
    assert ask(mixed_reader, "SELECT count(*) > 0, min(name) IS NOT NULL FROM request") == [(True, True)]
    assert walked == []
    ask(mixed_reader, "SELECT max(precedence) FROM request")
    assert walked == [1]


def test_sequences_live_from_their_creation_to_their_end(mixed_reader: Reader, records: list[bytes]) -> None:
    fold = Fold(128, 16)
    created: dict[int, tuple[int, int]] = {}
    ended: dict[int, int] = {}
    alive: set[int] = set()
    sampled: dict[int, int] = {}
    for frame in records:
        record = decoded(frame)
        fold.apply(record)
        if not isinstance(record, Step):
            continue
        now = {
            number
            for number, row in fold.state.sequences.items()
            if not row.dropped and row.request in fold.state.requests
        }
        for number in now - alive:
            created[number] = (fold.state.sequences[number].request, record.step)
        ended |= dict.fromkeys(alive - now, record.step)
        alive = now
        for number in u32(record.sampled).tolist():
            sampled[number] = sampled.get(number, 0) + 1
    rows = ask(
        mixed_reader, "SELECT sequence, request, created_step, ended_step, sampled, ending FROM sequence"
    )
    assert len(ended) > 20
    seen = {row[0]: row for row in rows}
    for number, (request, step) in created.items():
        assert seen[number][1:5] == (request, step, ended.get(number), sampled.get(number, 0))
        assert (seen[number][5] is None) == (number in alive)


def test_contents_and_tokens_are_those_of_the_text_records(
    mixed_reader: Reader, records: list[bytes], steps: list[Step]
) -> None:
    texts = {record.step: record for frame in records if isinstance(record := decoded(frame), Text)}
    contents, tokens = [], []
    counted: dict[int, int] = {}
    for step in steps:
        text = texts.get(step.step)
        known: dict[int, list[int]] = {}
        if text is not None:
            words = u32(text.tokens).tolist()
            known = {
                content: words[place * 16 : (place + 1) * 16]
                for place, content in enumerate(u32(text.content).tolist())
            }
        for content, parent in zip(
            u32(step.contents.content).tolist(), u32(step.contents.parent).tolist(), strict=True
        ):
            contents.append((content, None if parent == NONE else parent, step.step, known.get(content)))
        ids = [] if text is None else u32(text.sampled).tolist()
        for place, sequence in enumerate(u32(step.sampled).tolist()):
            number = counted.get(sequence, 0)
            counted[sequence] = number + 1
            tokens.append((step.step, sequence, number, ids[place]))
    assert len(contents) > 50 and len(tokens) > 50
    assert ask(mixed_reader, "SELECT content, parent, step, tokens FROM content ORDER BY content") == contents
    assert ask(mixed_reader, "SELECT step, sequence, number, token FROM token") == tokens


def test_extra_keys_are_told_of_the_contents_that_have_them() -> None:
    ids = np.arange(3, dtype="<u4")
    parents = np.array([NONE, 0, NONE], dtype="<u4")
    keys = ContentKeys(content=ids[2:].tobytes(), keys=[["cache_salt", "mine"]])
    digest = Digest(blocks=bytes(8), tables=bytes(8), requests=bytes(8))
    contents = Contents(content=ids.tobytes(), parent=parents.tobytes())
    step = Step(record=1, step=0, time=0, sealed=1, op=0, digest=digest, contents=contents)
    text = Text(
        record=2, step=0, content=ids[1:].tobytes(), tokens=np.arange(4, dtype="<u4").tobytes(), extra=[keys]
    )
    builder = texts.Contents(Session(num_blocks=4, block_size=2), ["content", "tokens", "extra"])
    assert builder.needs_text
    columns = builder.build(Batch([step], {0: text}))
    assert columns["extra"].tolist() == [None, None, '[["cache_salt","mine"]]']
    slots = [columns["slot0"].tolist(), columns["slot1"].tolist()]
    assert slots == [[None, 0, 2], [None, 1, 3]], "the first one's text is not recorded"


def test_after_a_gap_nothing_is_guessed(db: Path, frames: list[bytes]) -> None:
    fold = Fold(BLOCKS, SIZE)
    for frame in frames[:301]:
        fold.apply(decoded(frame))
    # Records 200 to 298 are lost: number 299 tells it and number 300 is the state as it is then.
    gap = codec.seal(Gap(record=299, time=7, first=200, last=298, reason="a test"))
    own = [*frames[:200], gap, codec.seal(fold.keyframe(1)), *frames[301:]]
    with running(db) as server:
        engine = server.engine()
        engine.send(own)
        engine.wait_acked(record_of(own[-1]))
        engine.bye()
        server.wait_indexed(engine.hello.session, record_of(own[-1]))
    database = open_for_reading(str(db))
    reader = Reader(database)
    assert ask(reader, "SELECT * FROM block_event ORDER BY op") == block_events(own, BLOCKS)
    late = ask(reader, "SELECT op, generation FROM block_event WHERE step >= 200 ORDER BY op")
    assert late == [(row[0], row[6]) for row in block_events(own, BLOCKS) if row[1] >= 200]
    assert ask(reader, "SELECT count(*) > 0 FROM sequence WHERE ending = 'lost'") == [(True,)]
    known = ask(reader, f"SELECT request, {', '.join(FROM_RECORDS)} FROM request ORDER BY request")
    told = {row[0]: row for row in told_of_requests(own)}
    assert [row for row in known if row[0] in told] == [told[row[0]] for row in known if row[0] in told]
    assert len(told) > 20
    unnumbered = ask(reader, "SELECT min(record), count(*) FROM token WHERE number IS NULL")
    assert unnumbered[0][0] > 299 and unnumbered[0][1] > 0
    database.close()


def test_where_the_beginning_is_gone_no_generation_is_guessed(
    recorded: tuple[Path, str], tmp_path: Path
) -> None:
    path = tmp_path / "cut.db"
    shutil.copy(recorded[0], path)
    with sqlite3.connect(path) as connection:
        (first,) = connection.execute("SELECT min(first) FROM chunk WHERE first > 0").fetchone()
        connection.execute("DELETE FROM chunk WHERE first = 0")
        connection.execute("UPDATE session SET first_record = ?", (first,))
    connection.close()
    database = open_for_reading(str(path))
    rows = ask(
        Reader(database),
        "SELECT min(record) >= ?, count(*) > 0, count(generation) FROM block_event".replace("?", str(first)),
    )
    assert rows == [(True, True, 0)]
    database.close()
