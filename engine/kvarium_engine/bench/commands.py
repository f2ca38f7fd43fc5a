"""What the commands of all benches have in common: a model, a size, refusals in one line, and a table or JSON at the end."""

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Annotated, Any, TypeVar

import typer

from kvarium_engine.errors import UsageError

MODEL = "A name that `kvarium models ls` lists, a model's folder, or an id of the hub (org/name)."
"""What ``--model`` may be."""

Size = TypeVar("Size")

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object, and nothing else.")]


def size_named(sizes: Mapping[str, Size], name: str) -> Size:
    """The size of that name. Raises :class:`UsageError` where there is none."""
    if name not in sizes:
        raise UsageError(f"--size is {' or '.join(sizes)}, not {name!r}")
    return sizes[name]


@contextmanager
def refusals_of(bench: str) -> Iterator[None]:
    """A :class:`UsageError` is told in one line, and ends the command with status 2."""
    try:
        yield
    except UsageError as error:
        print(f"kvarium bench {bench}: {error}", file=sys.stderr, flush=True)
        raise typer.Exit(2) from None


def print_facts(facts: Mapping[str, Any], as_json: bool, table: Callable[[Any], str]) -> None:
    """For a script as JSON, or for a person by ``table``."""
    print(json.dumps(facts) if as_json else table(facts), flush=True)
