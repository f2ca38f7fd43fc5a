"""One page that replays a session without a server: the built page with the recording inside.

    <script type="application/octet-stream" data-part="frames-0">eJzs…</script>     base64 of zlib's bytes
    frames-N     records as they are stored, about a mebibyte each
    keyframe-N   states from which a seek begins
    steps-N      the table of steps, columns
    careers      when each request came, was admitted and ended, columns
    answers      what was derived of the recording, by the links of the questions
    pieces, before, index, about                                                    and then the page's own script

The reader's half is frontend/src/worker/embedded.ts, the page without a recording what ``npm run build:page`` makes. Whatever a
session's names, prompts and pieces hold, it stands here in base64, where no HTML can be; the policy of the page runs its
own script by its hash, and nothing else.
"""

import base64
import html
import time
import zlib
from collections.abc import Iterator
from dataclasses import asdict
from importlib.resources import files
from pathlib import Path
from typing import Any, BinaryIO

import msgspec
import sqlalchemy as sa

from kvarium import __version__, terminal
from kvarium.errors import KvariumError
from kvarium.exchange.page_answers import Answers
from kvarium.exchange.page_plan import MOST_BYTES, Plan
from kvarium.recording import careers, tables
from kvarium.recording.contents import read_contents
from kvarium.recording.notes import read_landmarks
from kvarium.recording.reader import Reader
from kvarium.recording.row_types import rows_of
from kvarium.recording.transcript import read_transcript
from kvarium.sql.loading import Progress
from kvarium_ledger import codec
from kvarium_ledger.columns import u32
from kvarium_ledger.records import Keyframe

MARKER = b"<!--kvarium:recording-->"
_TITLE = b"<title>kvarium</title>"
_FRAMES_BYTES = 1 << 20
_STEPS = 1 << 16
_CONTENTS = 1000


def template() -> bytes:
    """The page without a recording. Raises :class:`KvariumError` where it is not built."""
    place = files("kvarium") / "exported" / "index.html"
    if not place.is_file():
        raise KvariumError("the page that is exported is not built; run `make build`")
    page = place.read_bytes()
    assert page.count(MARKER) == 1 and page.count(_TITLE) == 1
    return page


def export_page(reader: Reader, plan: Plan, path: Path, progress: Progress, answers: Answers) -> None:
    """Write the page, with ``answers`` in it. ``progress`` is called with how many records of how many are in it."""
    head, tail = template().split(MARKER)
    name = plan.row["name"] or plan.row["id"]
    title = html.escape(f"{name} · kvarium").encode("utf-8", "replace")
    with path.open("wb") as file:
        file.write(head.replace(_TITLE, b"<title>" + title + b"</title>"))
        writer = _Writer(file)
        index: dict[str, Any] = {
            "hello": base64.b64encode(plan.hello).decode(),
            "block_size": plan.row["block_size"],
            "state": plan.row["state"],
            "last_step": plan.row["last_step"] if plan.part is None else plan.part.to_step,
            "last_record": plan.last,
            "frames": _frames(reader, plan, writer, progress),
            "keyframes": _keyframes(reader, plan, writer),
            "steps": _steps(reader, plan, writer),
            "contents": _contents(reader, plan),
            "requests": _requests(reader, plan),
            "landmarks": [
                row
                for row in read_landmarks(reader, plan.session)
                if plan.first <= row["record"] <= plan.last
            ],
        }
        pieces = reader.pieces(plan.session) if plan.text_recorded else {}
        writer.json("pieces", {str(token): piece for token, piece in pieces.items()})
        if plan.base is not None and plan.text_recorded:
            writer.json("before", _before(reader, plan, plan.base))
        writer.json("careers", _careers(reader, plan))
        if answers.table:
            writer.json("answers", answers.table)
        writer.json("index", index)
        writer.plain("about", _about(plan, answers))
        file.write(tail)


class _Writer:
    """Puts parts into the page, each as it comes."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def part(self, name: str, data: bytes) -> None:
        """A part, packed."""
        self.plain(name, zlib.compress(data))

    def json(self, name: str, value: object) -> None:
        """A part that is JSON."""
        self.part(name, msgspec.json.encode(value))

    def plain(self, name: str, data: bytes) -> None:
        """A part as it stands. Its name is one of ours, so nothing in it needs to be escaped."""
        self._file.write(b'<script type="application/octet-stream" data-part="%s">' % name.encode())
        self._file.write(base64.b64encode(data))
        self._file.write(b"</script>\n")
        if self._file.tell() > MOST_BYTES:
            raise KvariumError(f"the page came to more than {terminal.size(MOST_BYTES)}: take a part of it")


def _frames(reader: Reader, plan: Plan, writer: _Writer, progress: Progress) -> dict[str, list[int]]:
    """Every record of the page, in parts; the first and last record of each."""
    found: dict[str, list[int]] = {"first": [], "last": []}
    frames: list[bytes] = []
    first = size = 0

    def write(last: int) -> None:
        writer.part(f"frames-{len(found['first'])}", codec.pack(frames))
        found["first"].append(first)
        found["last"].append(last)
        frames.clear()
        progress(last - plan.first + 1, plan.last - plan.first + 1)

    last = plan.first
    for frame in reader.frames(plan.session, plan.first - 1, plan.last):
        record = frame.head.record
        assert record is not None
        if size + len(frame.bytes) > _FRAMES_BYTES and frames:
            write(last)
            size = 0
        if not frames:
            first = record
        frames.append(frame.bytes)
        size += len(frame.bytes)
        last = record
    if frames:
        write(last)
    return found


def _keyframes(reader: Reader, plan: Plan, writer: _Writer) -> list[int]:
    """The states from which a seek may begin, the last record that each holds."""
    found: list[int] = []

    def write(record: int, frame: bytes) -> None:
        writer.part(f"keyframe-{len(found)}", frame)
        found.append(record)

    if plan.base is not None:
        write(plan.base.record, codec.seal(plan.base))
    for row in reader.keyframe_rows(plan.session):
        if plan.first <= row["record"] < plan.last:
            write(row["record"], reader.open_keyframe(row).frame)
    if not found:
        stored = reader.keyframe_before(plan.session, plan.first)
        write(stored.record, stored.frame)
    return found


def _steps(reader: Reader, plan: Plan, writer: _Writer) -> int:
    """The table of steps, in how many parts."""
    last_step = plan.row["last_step"] if plan.part is None else plan.part.to_step
    first_step = 0 if plan.part is None else plan.part.from_step
    parts = 0
    for first in range(first_step, last_step + 1, _STEPS):
        columns = reader.steps(plan.session, first, min(last_step, first + _STEPS - 1))
        if columns["step"]:
            writer.json(f"steps-{parts}", columns)
            parts += 1
    return parts


def _contents(reader: Reader, plan: Plan) -> dict[str, list[int]]:
    """Which records of the page tell the tokens of which contents."""
    names = ("first", "last", "first_record", "last_record")
    columns = tables.content.c
    query = (
        sa.select(*(columns[name] for name in names))
        .where(columns.session == plan.session, columns.last_record >= plan.first)
        .where(columns.first_record <= plan.last)
        .order_by(columns.first)
    )
    with reader.database.engine.connect() as connection:
        rows = rows_of(connection, query)
    return {name: [int(row[place]) for row in rows] for place, name in enumerate(names)}


def _requests(reader: Reader, plan: Plan) -> dict[str, list[int]]:
    """The record that tells of each request first; where that is lost, the page's first one is where to begin to look."""
    found = [
        (int(row["request"]), plan.first if row["submitted_record"] is None else int(row["submitted_record"]))
        for row in reader.requests(plan.session)
    ]
    told = [(request, record) for request, record in found if plan.first <= record <= plan.last]
    return {"request": [request for request, _ in told], "record": [record for _, record in told]}


def _careers(reader: Reader, plan: Plan) -> dict[str, list[Any]]:
    """When the requests of the page came, were admitted and ended: what a server tells by :mod:`kvarium.recording.careers`."""
    first, last = (
        (0, plan.row["last_step"]) if plan.part is None else (plan.part.from_step, plan.part.to_step)
    )
    rows = [
        row
        for row in reader.requests(plan.session)
        if row["submitted_step"] is not None
        and row["submitted_step"] <= last
        and (row["ended_step"] is None or row["ended_step"] >= first)
    ]
    return {name: [row[name] for row in rows] for name in careers.COLUMNS}


def _before(reader: Reader, plan: Plan, base: Keyframe) -> dict[str, Any]:
    """What was said before the part's first record and can still be looked at in it."""
    transcripts = [read_transcript(reader, plan.session, row.request, base.record) for row in base.requests]
    contents = [
        {"content": each["content"], "tokens": each["tokens"]}
        for ids in _portions(u32(base.contents.content).tolist(), _CONTENTS)
        for each in read_contents(reader, plan.session, ids)
        if each["tokens"] is not None
    ]
    return {"transcripts": transcripts, "contents": contents}


def _portions(values: list[int], size: int) -> Iterator[list[int]]:
    for at in range(0, len(values), size):
        yield values[at : at + size]


def _about(plan: Plan, answers: Answers) -> bytes:
    """What the page shows before anything of the recording is opened."""
    session = {name: value for name, value in plan.row.items() if name not in ("hello", "number")}
    session |= {"linked": False, "allow_control": False, "last_record": plan.last}
    if plan.part is not None:
        session |= {"last_step": plan.part.to_step}
    return msgspec.json.encode(
        {
            "session": session,
            "exported_utc_us": time.time_ns() // 1000,
            "kvarium": __version__,
            "part": None if plan.part is None else asdict(plan.part),
            "answers": answers.kinds,
        }
    )
