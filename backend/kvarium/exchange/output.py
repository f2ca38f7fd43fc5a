"""The place of an export: written elsewhere, and there only when it is whole."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kvarium.errors import KvariumError, UnwritableError
from kvarium.workplace import workplace

UNFINISHED = ".kvarium-"
"""How the name of a folder begins in which an export is written."""


@contextmanager
def written(place: Path, otherwise: str = "say where with --output") -> Iterator[Path]:
    """A path beside ``place`` to write a file or folder to; it becomes ``place`` at the end, or goes, whatever happens.

    Raises :class:`KvariumError` when there is something at ``place`` already, or when it can't be written; ``otherwise`` is how
    another place is given.
    """
    if not place.name:
        raise KvariumError(f"{place} is a folder that is there, and an export needs a name: {otherwise}")
    try:
        if place.exists():
            raise KvariumError(f"{place} is there already: move it away, or {otherwise}")
        if not place.parent.is_dir():
            raise KvariumError(f"can't write {place}: there is no folder {place.parent}")
        with workplace(place.parent, UNFINISHED) as folder:
            unfinished = folder / place.name
            yield unfinished
            if place.exists():
                raise KvariumError(f"{place} came to be there meanwhile: it is left as it is")
            unfinished.rename(place)
    except UnwritableError as error:
        raise _unwritten(place, error, otherwise) from None
    except OSError as error:
        raise _unwritten(place, UnwritableError("", error.strerror or str(error)), otherwise) from None


def _unwritten(place: Path, error: UnwritableError, otherwise: str) -> KvariumError:
    todo = f"make room there, or {otherwise}" if error.full else otherwise
    return KvariumError(f"can't write {place}: {error.reason}; nothing was written: {todo}")
