"""An export as a process of its own: one order on standard input, one answer on standard output, and the end.

Why a process: reading ten million operations takes a processor for minutes, and the server has records to take meanwhile;
and an export that nobody waits for is ended by ending its process. What it leaves in the folder is the folder's owner's to remove.
"""

import sys
import zipfile
from pathlib import Path
from typing import Literal

import msgspec

from kvarium.errors import (
    DamagedRecordingError,
    InvalidValueError,
    KvariumError,
    OutOfRangeError,
    UnwritableError,
)
from kvarium.exchange.formats import Format, Wanted
from kvarium.launch import stand_aside
from kvarium.recording.database import open_for_reading
from kvarium.recording.reader import Reader
from kvarium.recording.stripping import Strip


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be written into ``folder``. ``database`` is a file or a URL (with its password: so it is no argument)."""

    database: str
    session: int
    folder: str
    format: Format
    strip: Strip | None = None
    from_step: int | None = None
    to_step: int | None = None
    answers: int | None = None


class Made(msgspec.Struct, frozen=True, tag=True):
    """The file of this name is in the folder."""

    name: str


class Failure(msgspec.Struct, frozen=True, tag=True):
    """Why there is no file: what was asked for can't be, is not there, is damaged, or can't be made.

    ``unwritten``: the folder can't hold it, and the message is only why.
    """

    message: str
    fault: Literal["asked", "missing", "damaged", "failed", "unwritten"]


Outcome = Made | Failure


def carry_out(order: Order) -> Outcome:
    """Write the export. What is a folder becomes one file, a ZIP without compression: its tables are compressed."""
    wanted = Wanted(order.format, order.strip, order.from_step, order.to_step, order.answers)
    folder = Path(order.folder)
    try:
        database = open_for_reading(order.database)
        try:
            reader = Reader(database)
            path = folder / wanted.name(reader.session(order.session))
            wanted.writer()(reader, order.session, path, lambda done, total: None)
        finally:
            database.close()
        return Made(_zipped(path).name if path.is_dir() else path.name)
    except InvalidValueError as error:
        return Failure(str(error), "asked")
    except OutOfRangeError as error:
        return Failure(str(error), "missing")
    except DamagedRecordingError as error:
        return Failure(f"the recording is damaged: {error}", "damaged")
    except UnwritableError as error:
        return Failure(error.reason.replace(f"{folder}/", ""), "unwritten")
    except KvariumError as error:
        return Failure(str(error), "failed")
    except OSError as error:
        return Failure(UnwritableError("", error.strerror or str(error)).reason, "unwritten")


def _zipped(folder: Path) -> Path:
    path = folder.with_name(f"{folder.name}.zip")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for found in sorted(folder.iterdir()):
            archive.write(found, f"{folder.name}/{found.name}")
            # What is in the archive need not be there twice.
            found.unlink()
    return path


def main() -> None:
    """Carry out one order."""
    stand_aside()
    order = msgspec.msgpack.decode(sys.stdin.buffer.read(), type=Order)
    sys.stdout.buffer.write(msgspec.msgpack.encode(carry_out(order)))


if __name__ == "__main__":
    main()
