"""``python -m tests.vectors.recording`` stores a small recording of the present format, ``recordings/format-N.db.zst``.

One for each format that ever was stays there: every later kvarium must open it. It is zstd over an SQLite file with one
session, as a download is; two runs differ in a few bytes, so nothing compares them. ``frames.json`` has the SHA-256 of the
frames that are in each.
"""

import hashlib
import json
import tempfile
from pathlib import Path

import zstandard

from kvarium.follower import Follower
from kvarium.heads import read_head
from kvarium.recording import tables
from kvarium.recording.database import writable_sqlite
from kvarium.recording.export import export_session
from kvarium.recording.keeper import Keeper
from kvarium.recording.reader import Reader
from kvarium.recording.removal import direct
from kvarium.recording.writer import Writer
from kvarium_ledger import codec
from tests.backend.hand_engine import hand_frames, hello

FOLDER = Path(__file__).parent / "recordings"
SESSION = "5e550000-0000-4000-8000-000000000001"
STEPS = 60


def record(path: Path, session: str = SESSION, steps: int = STEPS, seed: int = 11) -> list[bytes]:
    """Record a session of the hand-made pool, indexed and ended, into the file ``path``; its frames."""
    frames = hand_frames(steps, seed)
    greeting = hello(session)
    database = writable_sqlite(path)
    writer = Writer(database)
    writer.start()
    number = writer.open_session(greeting, codec.seal(greeting)).result(30).number
    for i, frame in enumerate(frames):
        writer.append(number, frame, read_head(frame))
        if i % 40 == 39:
            writer.flush().result(30)
    writer.flush().result(30)
    follower = Follower(number, greeting, Reader(database), writer)
    follower.start()
    follower.join(60)
    writer.set_state(number, "ended", "done")
    assert writer.stop()
    database.close()
    return frames


def stored(format: int, folder: Path) -> Path:
    """The recording of a format, unpacked into ``folder``."""
    path = folder / f"format-{format}.db"
    packed = (FOLDER / f"format-{format}.db.zst").read_bytes()
    path.write_bytes(zstandard.ZstdDecompressor().decompress(packed, max_output_size=4 << 20))
    return path


def digest_of(frames: list[bytes]) -> str:
    """SHA-256 of frames."""
    return hashlib.sha256(codec.pack(frames)).hexdigest()


def digests() -> dict[str, str]:
    """The SHA-256 of the frames in each stored recording, by its format."""
    told: dict[str, str] = json.loads((FOLDER / "frames.json").read_text())
    return told


def main() -> None:
    """Store the recording of the present format."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        record(folder / "whole.db")
        database = writable_sqlite(folder / "whole.db")
        keeper = Keeper(database, direct(database), alone=True)
        keeper.add_note(1, "a note", step=20, op=100, colour="teal")
        keeper.add_note(1, "", step=30, mark="A")
        data = export_session(Reader(database), 1, folder).read_bytes()
        digest = digest_of([frame.bytes for frame in Reader(database).frames(1)])
        database.close()
    packed = zstandard.ZstdCompressor(level=19).compress(data)
    (FOLDER / f"format-{tables.FORMAT}.db.zst").write_bytes(packed)
    told = digests() | {str(tables.FORMAT): digest}
    (FOLDER / "frames.json").write_text(json.dumps(told, indent=1) + "\n")
    print(f"format-{tables.FORMAT}.db.zst: {len(packed)} bytes, {len(data)} unpacked")


if __name__ == "__main__":
    main()
