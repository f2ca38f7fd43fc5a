"""How fast a recording is folded, in Python and in TypeScript: every operation applied, every digest compared.

    recording ──▶ frames ──decode──▶ records ──apply──▶ state      ``operations_per_s``: apply alone
                         └─────────────────────────────┘           ``decoded_per_s``: with the checksum and msgpack

TypeScript is the page's own fold, built by vite and run by node: so it needs a clone of the repository in which ``npm ci`` was
run. Elsewhere, as in an installed wheel, it is not measured, and that is said.
"""

import json
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import kvarium
from kvarium.errors import KvariumError
from kvarium.recording.reader import Frame, Reader
from kvarium.terminal import shown
from kvarium_ledger import codec
from kvarium_ledger.fold import Fold
from kvarium_ledger.records import Record

_BATCH = 500
"""Records that are decoded before they are applied: enough to time, few enough for the memory."""

_NODE_SECONDS = 300.0


class Folded(NamedTuple):
    """How many operations were folded; operations a second of the fold alone, and with decoding."""

    operations: int
    operations_per_s: float
    decoded_per_s: float


class NotMeasuredError(KvariumError):
    """What it takes is not here."""


def _until(frames: Iterator[Frame], operations: int) -> Iterator[Frame]:
    """The frames until they hold so many operations."""
    found = 0
    for frame in frames:
        yield frame
        found += frame.head.operations
        if found >= operations:
            return


def fold_in_python(reader: Reader, session: int, operations: int) -> Folded:
    """Fold the first ``operations`` operations with :class:`kvarium_ledger.fold.Fold`. Raises where one differs."""
    row = reader.session(session)
    fold = Fold(row["num_blocks"], row["block_size"])
    decoding = applying = 0.0
    batch: list[bytes] = []

    def take() -> None:
        nonlocal decoding, applying
        began = time.perf_counter()
        records = [codec.open_frame(frame) for frame in batch]
        decoded = time.perf_counter()
        for record in records:
            assert isinstance(record, Record)
            fold.apply(record)
        applying += time.perf_counter() - decoded
        decoding += decoded - began
        batch.clear()

    for frame in _until(reader.frames(session), operations):
        batch.append(frame.bytes)
        if len(batch) == _BATCH:
            take()
    take()
    if fold.violation is not None or not fold.verified:
        raise KvariumError(f"the recording does not fold: {fold.violation}")
    return Folded(fold.op, fold.op / applying, fold.op / (applying + decoding))


def fold_in_typescript(reader: Reader, session: int, operations: int) -> Folded:
    """Fold the first ``operations`` operations with the page's fold, under node. Raises :class:`NotMeasuredError`."""
    script = _built(Path(kvarium.__file__).resolve().parents[2] / "frontend")
    row = reader.session(session)
    with tempfile.TemporaryDirectory(prefix="kvarium-bench-") as folder:
        frames = Path(folder) / "frames"
        with frames.open("wb") as file:
            for frame in _until(reader.frames(session), operations):
                file.write(codec.pack([frame.bytes]))
        told = _run(["node", str(script), str(frames), str(row["num_blocks"]), str(row["block_size"])], None)
    found = json.loads(told)
    if found["fault"] is not None:
        raise KvariumError(f"the recording does not fold in TypeScript: {found['fault']}")
    count = found["operations"]
    seconds = found["applying_ms"] / 1000, found["decoding_ms"] / 1000
    return Folded(count, count / seconds[0], count / sum(seconds))


def _built(frontend: Path) -> Path:
    """The page's fold as one module for node, built from its sources."""
    if shutil.which("node") is None:
        raise NotMeasuredError("no node here, which runs TypeScript: install Node 20 or newer")
    vite = frontend / "node_modules" / ".bin" / "vite"
    if not vite.exists():
        raise NotMeasuredError(
            f"no {vite}: the page's fold is built from a clone of the repository, where `make setup` was run"
        )
    output = frontend / "node_modules" / ".kvarium-bench"
    _run(
        [str(vite), "build", "--ssr", "scripts/bench-fold.ts", "--outDir", str(output), "--emptyOutDir"],
        frontend,
    )
    return output / "bench-fold.js"


def _run(command: list[str], folder: Path | None) -> str:
    try:
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, timeout=_NODE_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        raise KvariumError(f"{command[0]} did not end within {_NODE_SECONDS:.0f} s") from None
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if "Error" in line] or ["it did not say why"]
        raise KvariumError(
            f"{' '.join(command[:2])} ended with status {done.returncode}: {shown(lines[0], 300)}"
        )
    return done.stdout
