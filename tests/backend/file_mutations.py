"""``python -m tests.backend.file_mutations FILE SEED COUNT``: what the commands that read a recording make of a mutated one.

A file given with ``--db`` is somebody's own: it is not inspected as a whole before it is read, as an import is (see
``tests.backend.mutations``, whose mutations these are). Each of verify, sql and the exports says in one line what is wrong
with it, or reads what it can; none takes more time or memory than a whole file would, and nothing in it is executed.
Prints JSON: how often which command refused or answered, and what went wrong (nothing).
"""

import random
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from kvarium.errors import KvariumError
from kvarium.exchange.lines import export_lines
from kvarium.exchange.parquet import export_parquet
from kvarium.exchange.trace import export_trace
from kvarium.recording.export import export_session
from kvarium.recording.reader import Reader
from kvarium.recording_options import reading
from kvarium.sql.query import Limits, Query
from kvarium.verify import verify
from tests.backend.mutations import mutate
from tests.backend.trials import Trials, one_line, print_told

_MEMORY = 4 << 30
_SECONDS = 30
_QUERIES = (
    "SELECT kind, count(*) FROM block_event GROUP BY kind",
    "SELECT max(step) FROM step",
    "SELECT count(*) FROM request JOIN sequence USING (request)",
    "SELECT count(*), sum(len(tokens)) FROM content",
    "SELECT count(*) FROM decision",
    "SELECT count(*) FROM landmark",
    "SELECT piece, count(*) FROM token GROUP BY piece",
)


def quiet(done: int, total: int) -> None:
    """A progress that nobody looks at."""


def query(reader: Reader, session: int, rng: random.Random) -> None:
    with Query(reader, session, rng.choice(_QUERIES), Limits(10 * _SECONDS, 256 << 20, 1), quiet) as asked:
        list(asked.run().rows())


def export(to: Callable[..., None], reader: Reader, session: int, folder: Path) -> None:
    place = folder / "exported"
    to(reader, session, place, quiet)


def verified(reader: Reader, session: int) -> str:
    findings = verify(reader, session)
    for message in findings.messages:
        one_line(message)
    assert findings.good or findings.messages
    return "good" if findings.good else "found wrong"


def commands(path: Path, folder: Path, rng: random.Random) -> Counter[str]:
    """Run them all; what each came to."""
    outcomes: Counter[str] = Counter()
    which = rng.choice((export_lines, export_trace, export_parquet, None))
    name = "export" if which is None else which.__name__

    def exported(reader: Reader, session: int) -> None:
        if which is None:
            export_session(reader, session, folder)
        else:
            export(which, reader, session, folder)

    for what, command in (("verify", verified), ("sql", partial(query, rng=rng)), (name, exported)):
        try:
            with reading(str(path)) as reader:
                rows = reader.sessions()
                outcomes[f"{what}: {(rows and command(reader, int(rows[0]['number']))) or 'done'}"] += 1
        except KvariumError as error:
            one_line(str(error))
            outcomes[f"{what}: refused"] += 1
    return outcomes


def main(file: str, seed: int, count: int) -> dict[str, Any]:
    """Try ``count`` mutations of ``file``."""
    trials = Trials(seed, _MEMORY, _SECONDS)
    source = Path(file).read_bytes()
    for rng in trials.each(count):
        folder = Path(tempfile.mkdtemp(prefix="kvarium-mutations-"))
        path = folder / "mutated.db"
        what = mutate(source, path, rng)
        before = path.read_bytes()
        with trials.attempt(what):
            found = commands(path, folder, rng)
            trials.done += found
            if what.startswith("nothing") and any("refused" in each or "wrong" in each for each in found):
                trials.fail(f"{found} without a change")
            if path.read_bytes() != before:
                trials.fail(f"{what}: the file was changed by those who only read it")
        shutil.rmtree(folder)
    return trials.told()


if __name__ == "__main__":
    print_told(main)
