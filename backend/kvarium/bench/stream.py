"""``kvarium bench stream``: how fast what an engine writes is recorded, what it takes on disk, and what watching it costs.

    a null runner's recording ──replay --serve --speed 0──▶ server, recorder     operations/s that are committed
    the recording that came of it                                                bytes an operation, bytes a token
    a live null runner, 200 viewers, one stuck                                   the engine's time in sending, the server's memory
    the recording, folded in Python and in TypeScript                            operations/s

The parts run one after the other. A recording is made once, and kept; all others are temporary.
"""

import contextlib
import json
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from kvarium.bench.options import Note, note_of, size_named
from kvarium.recording_options import AsJson, say

if TYPE_CHECKING:
    from kvarium.recording.reader import Reader


class Size(NamedTuple):
    """Of the recording (``blocks``, ``steps``), of what is folded, and of the live session (a step each ``step_ms``)."""

    blocks: int
    steps: int
    python_operations: int
    typescript_operations: int
    viewers: int
    step_ms: float
    seconds: float


SIZES = {
    "small": Size(2048, 250, 30_000, 80_000, 20, 15.0, 3.0),
    "full": Size(100_000, 24_000, 500_000, 4_000_000, 200, 15.0, 30.0),
}
"""``full``: 100,000 blocks, and 20,000 operations/s while they are watched."""


def add(app: typer.Typer) -> None:
    """Add the command."""
    app.command("stream", help="Recorder, viewers and folds: operations a second, bytes, memory.")(stream)


def stream(
    size: Annotated[
        str, typer.Option(help="full: 100,000 blocks, 200 viewers; small: 2,048 and 20.")
    ] = "full",
    as_json: AsJson = False,
) -> None:
    """Measure the stream; what is not measured is null, and standard error says why."""
    found = measure(size_named(size, SIZES), note_of("stream"))
    say(json.dumps(found) if as_json else table(found))


def measure(size: Size, note: Note) -> dict[str, Any]:
    """All figures, as JSON tells them."""
    from kvarium.bench.recording import recording

    note(f"the recording: {size.blocks:,} blocks, {size.steps:,} steps of the null runner's mix")
    path = recording(size.steps, ("--num-gpu-blocks-override", str(size.blocks)))
    facts = {"blocks": size.blocks} | _mix(path)
    note("the recorder")
    recorded = _record(path)
    note(
        f"{recorded['operations_per_s']:,} operations/s, {recorded['bytes_per_op']} bytes an operation, "
        f"{recorded['bytes_per_token']} a token"
    )
    note(f"{size.viewers} viewers, one of them stuck")
    watched = _watch(size)
    note(
        f"{watched['send_percent']} % of the engine's thread in sending at {watched['operations_per_s']:,} operations/s"
    )
    note("the folds")
    folds, with_decoding = _fold(path, size, note)
    return {
        "recorder_ops_per_s": recorded["operations_per_s"],
        "bytes_per_op": recorded["bytes_per_op"],
        "bytes_per_token": recorded["bytes_per_token"],
        "viewers": size.viewers,
        "send_percent": watched["send_percent"],
        "fold_ops_per_s": folds,
        "fold_with_decoding_ops_per_s": with_decoding,
        "recording": facts,
        "live": watched,
    }


def _mix(path: Path) -> dict[str, Any]:
    """How many operations a recording holds, and the share of each kind in percent."""
    import numpy as np

    from kvarium.heads import operation_kinds
    from kvarium_ledger.operations import Operation

    counts = np.zeros(256, np.int64)
    with _reading(path) as (reader, session):
        for frame in reader.frames(session):
            if frame.head.operations:
                counts += np.bincount(np.frombuffer(operation_kinds(frame.bytes), np.uint8), minlength=256)
    total = int(counts.sum())
    return {
        "operations": total,
        "mix_percent": {kind.name: round(100 * int(counts[kind]) / max(total, 1), 2) for kind in Operation},
    }


@contextlib.contextmanager
def _reading(path: Path) -> "Iterator[tuple[Reader, int]]":
    from kvarium.recording_options import reading

    with reading(str(path)) as reader:
        yield reader, reader.find("latest")


def _record(path: Path) -> dict[str, Any]:
    """Replay a recording into a server as fast as it takes it; the rate is to the last acknowledgement."""
    from kvarium.bench.started import failed, started
    from kvarium.recording.sizes import stored_bytes

    with tempfile.TemporaryDirectory(prefix="kvarium-bench-") as place:
        folder = Path(place)
        log, out, db = folder / "replay.log", folder / "replay.json", folder / "recorded.db"
        at = ("--serve", "--exit-at-end", "--no-browser", "--port", "0", "--record-to", str(db))
        with (
            out.open("w") as output,
            started(
                "kvarium.cli", "replay", str(path), "--speed", "0", "--json", *at, log=log, output=output
            ) as process,
        ):
            process.wait()
        if process.returncode:
            raise failed("the recording was not replayed", process, log)
        told = json.loads(out.read_text())
        with _reading(db) as (reader, _):
            stored = stored_bytes(reader)
        return {
            "operations_per_s": told["operations_per_s"],
            "bytes_per_op": round(stored.bytes_per_op, 3),
            "bytes_per_token": round(stored.bytes_per_token, 3),
        }


def _watch(size: Size) -> dict[str, Any]:
    from kvarium.bench.viewers import watch

    found = watch(size.viewers, size.blocks, size.step_ms, size.seconds)
    told = found._asdict()
    return told | {
        "operations_per_s": round(found.operations_per_s),
        "send_percent": round(found.send_percent, 3),
        "memory_growth": found.memory_peak - found.memory_before,
    }


def _fold(path: Path, size: Size, note: Note) -> tuple[dict[str, int | None], dict[str, int | None]]:
    """Operations a second in Python and in TypeScript: of the fold alone, and with decoding."""
    from kvarium.bench.folding import NotMeasuredError, fold_in_python, fold_in_typescript

    alone: dict[str, int | None] = {}
    decoded: dict[str, int | None] = {}
    with _reading(path) as (reader, session):
        for name, fold, operations in (
            ("python", fold_in_python, size.python_operations),
            ("typescript", fold_in_typescript, size.typescript_operations),
        ):
            try:
                found = fold(reader, session, operations)
            except NotMeasuredError as error:
                note(f"{name} is not measured: {error}")
                alone[name] = decoded[name] = None
            else:
                alone[name], decoded[name] = round(found.operations_per_s), round(found.decoded_per_s)
    return alone, decoded


def table(found: Mapping[str, Any]) -> str:
    """The figures for a person."""
    from kvarium import terminal

    live, recording = found["live"], found["recording"]
    folds, decoded = found["fold_ops_per_s"], found["fold_with_decoding_ops_per_s"]

    def amount(value: float | None, unit: str) -> str:
        return "not measured" if value is None else f"{value:,}{unit}"

    rows = [
        ("recording", f"{recording['operations']:,} operations on {recording['blocks']:,} blocks"),
        ("  of them", ", ".join(f"{name} {share} %" for name, share in recording["mix_percent"].items())),
        ("recorder", amount(found["recorder_ops_per_s"], " operations/s, to the last acknowledgement")),
        ("stored", amount(found["bytes_per_op"], " bytes an operation without contents and tokens")),
        ("", amount(found["bytes_per_token"], " bytes a token of contents")),
        ("viewers", f"{live['viewers']}, one of them stuck, at {live['operations_per_s']:,} operations/s"),
        ("  sending", f"{live['send_percent']} % of the engine's thread; {live['gaps']} gaps"),
        ("  others", f"{live['skips']} skips; the slowest ended {live['behind']} records behind"),
        (
            "  server",
            f"{terminal.size(live['memory_peak'])} at most, {terminal.size(live['memory_growth'])} more than at the start",
        ),
    ]
    for name, title in (("python", "Python"), ("typescript", "TypeScript")):
        more = "" if folds[name] is None else f", with decoding {decoded[name]:,}"
        rows.append((f"fold, {title}", amount(folds[name], " operations/s") + more))
    return "\n".join(f"{name:<17} {value}" for name, value in rows)
