"""JSONL: a line a fact, in the ledger's order, for a program that reads no msgpack.

{"type":"session", …}                               once: who and how large
{"type":"step","step":0,"record":1, …}              then its decisions and operations, by ``op``
{"type":"decision","op":0,"kind":"submitted", …}
{"type":"operation","op":0,"kind":"allocate", …}
{"type":"text", …}  {"type":"control", …}  {"type":"gap", …}  {"type":"note", …}
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from kvarium.exchange.records import all_records
from kvarium.recording.reader import Reader
from kvarium.recording.row_types import damage_told
from kvarium.sql.block_events import BlockEvents
from kvarium.sql.builder import Columns, Session
from kvarium.sql.loading import Progress
from kvarium.sql.schema import BLOCK_EVENT, ENUMS, FIRST_CODE
from kvarium.sql.walk import Batch
from kvarium_ledger.columns import u32
from kvarium_ledger.decisions import AnyDecision
from kvarium_ledger.operations import NONE
from kvarium_ledger.records import AnyRecord, Control, Gap, Keyframe, Note, Step, Text

_LINES = 4096
_OPERATION = [name for name in BLOCK_EVENT.names if name not in ("record", "time")]
_LEFT_OUT = ("operations", "decisions", "contents", "sampled", "sampled_op", "digest", "audit")

_encoder = msgspec.json.Encoder()


def export_lines(reader: Reader, session: int, path: Path, progress: Progress) -> None:
    """Write a session as lines of JSON."""
    row = reader.session(session)
    told = {name: value for name, value in row.items() if name not in ("hello", "number")}
    with path.open("wb") as file:
        writer = _Writer(file)
        writer.add({"type": "session"} | told)
        lines = _Lines(Session(int(row["num_blocks"]), int(row["block_size"])))
        for record in all_records(reader, session, progress):
            with damage_told(f"record {record.record}"):
                for line in lines.of(record):
                    writer.add(line)
        writer.flush()


class _Writer:
    """Lines, written many at a time."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._lines: list[dict[str, Any]] = []

    def add(self, line: dict[str, Any]) -> None:
        self._lines.append(line)
        if len(self._lines) >= _LINES:
            self.flush()

    def flush(self) -> None:
        self._file.write(_encoder.encode_lines(self._lines))
        self._lines.clear()


class _Lines:
    """What each record becomes. Nothing is told that is not there: an absent name is what SQL calls NULL."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._events = BlockEvents(session, _OPERATION)

    def of(self, record: AnyRecord) -> Iterator[dict[str, Any]]:
        """The lines of a record."""
        if isinstance(record, Step):
            yield from self._step(record)
        elif isinstance(record, Text):
            yield {"type": "text", "record": record.record, "step": record.step} | self._text(record)
        elif isinstance(record, Keyframe):
            self._session.sequences.load(record)
            self._events.keyframe(record)
        else:
            assert isinstance(record, (Control, Gap, Note))
            if isinstance(record, Gap):
                self._events.gap(record)
            yield msgspec.to_builtins(record)

    def _step(self, step: Step) -> Iterator[dict[str, Any]]:
        batch = Batch([step])
        self._session.sequences.learn(batch)
        head = {name: getattr(step, name) for name in Step.__struct_fields__ if name not in _LEFT_OUT}
        yield {"type": "step"} | head | {"sampled": u32(step.sampled).tolist()} | _contents(step)
        decisions = iter([{"type": "decision", "step": step.step} | _plain(each) for each in step.decisions])
        decision = next(decisions, None)
        for operation in _rows(self._events.build(batch)):
            while decision is not None and decision["op"] <= operation["op"]:
                yield decision
                decision = next(decisions, None)
            yield operation
        while decision is not None:
            yield decision
            decision = next(decisions, None)

    def _text(self, text: Text) -> dict[str, Any]:
        size = self._session.block_size
        words = u32(text.tokens).tolist()
        extra = {content: told.keys for told in text.extra for content in u32(told.content).tolist()}
        contents = [
            {"content": content, "tokens": words[place * size : (place + 1) * size]}
            | ({"extra": extra[content]} if content in extra else {})
            for place, content in enumerate(u32(text.content).tolist())
        ]
        prompts = [
            {"request": each.request, "hash": each.hash.hex()}
            if each.hash
            else {"request": each.request, "tokens": u32(each.tokens).tolist(), "text": each.text}
            for each in text.prompts
        ]
        told = {"contents": contents, "prompts": prompts, "sampled": u32(text.sampled).tolist()}
        pieces = dict(zip(map(str, u32(text.pieces.token).tolist()), text.pieces.piece, strict=True))
        return {name: value for name, value in (told | {"pieces": pieces}).items() if value}


def _contents(step: Step) -> dict[str, Any]:
    parents = u32(step.contents.parent).tolist()
    interned = [
        {"content": content, "parent": None if parent == NONE else parent}
        for content, parent in zip(u32(step.contents.content).tolist(), parents, strict=True)
    ]
    return {"contents": interned} if interned else {}


def _plain(decision: AnyDecision) -> dict[str, Any]:
    """A decision's fields by their names, those with a default too; a hash in hexadecimal."""
    told: dict[str, Any] = {"kind": decision.__struct_config__.tag}
    for name in decision.__struct_fields__:
        value = getattr(decision, name)
        if value is not None:
            told[name] = value.hex() if isinstance(value, bytes) else value
    return told


def _rows(columns: Columns) -> Iterator[dict[str, Any]]:
    """An operation a row, without what it does not carry; codes as their names."""
    values = []
    for name in _OPERATION:
        kind = BLOCK_EVENT.column(name).type
        listed = columns[name].tolist()
        if kind in ENUMS:
            names, first = ENUMS[kind], FIRST_CODE[kind]
            listed = [None if code is None else names[code - first] for code in listed]
        values.append(listed)
    for row in zip(*values, strict=True):
        told = {name: value for name, value in zip(_OPERATION, row, strict=True) if value is not None}
        yield {"type": "operation"} | told
