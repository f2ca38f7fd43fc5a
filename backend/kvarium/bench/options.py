"""What the commands of the server's benches share: ``--size`` by its name, and how far one is, on standard error."""

import sys
from collections.abc import Callable, Mapping
from typing import TypeVar

from kvarium.errors import InvalidValueError

Note = Callable[[str], None]
"""Takes what is being measured now."""

Size = TypeVar("Size")


def size_named(name: str, sizes: Mapping[str, Size]) -> Size:
    """The one of ``sizes`` that ``--size`` names. Raises :class:`InvalidValueError`."""
    if name not in sizes:
        raise InvalidValueError(f"--size is {' or '.join(sizes)}, not {name!r}")
    return sizes[name]


def note_of(bench: str) -> Note:
    """Writes lines that begin with ``kvarium bench`` and the bench's name."""
    return lambda line: print(f"kvarium bench {bench}: {line}", file=sys.stderr, flush=True)
