"""The place of an export: written elsewhere, and there only when it is whole."""

import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kvarium.errors import KvariumError


@contextmanager
def written(place: Path) -> Iterator[Path]:
    """A path beside ``place`` to write a file or folder to; it becomes ``place`` at the end, or goes, whatever happens.

    Raises :class:`KvariumError` when there is something at ``place`` already, or when it can't be written.
    """
    if not place.name:
        raise KvariumError(
            f"{place} is a folder that is there: say with --output how the export is to be called"
        )
    folder = place.with_name(f".{place.name}.{secrets.token_hex(4)}")
    # A Ctrl-C at any moment from here on removes it: so it is made within.
    try:
        if place.exists():
            raise KvariumError(f"{place} is there already: move it away, or say where with --output")
        folder.mkdir()
        unfinished = folder / place.name
        yield unfinished
        if place.exists():
            raise KvariumError(f"{place} came to be there meanwhile: it is left as it is")
        unfinished.rename(place)
    except OSError as error:
        raise KvariumError(f"can't write {place}: {error.strerror or error}") from None
    finally:
        shutil.rmtree(folder, ignore_errors=True)
