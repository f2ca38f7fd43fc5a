"""``python -m tests.backend.file_mutations FILE SEED COUNT``: what the commands that read a recording make of a mutated one.

A file given with ``--db`` is somebody's own: it is not inspected as a whole before it is read, as an import is (see
``tests.backend.mutations``, whose mutations these are). Each of verify, sql and the exports says in one line what is wrong
with it, or reads what it can; none takes more time or memory than a whole file would, and nothing in it is executed.
Prints JSON: how often which command refused or answered, and what went wrong (nothing).
"""

import json
import random
import resource
import shutil
import signal
import sys
import tempfile
import traceback
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
from tests.backend.mutations import mutate, one_line
from tests.backend.peak import peak_bytes

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
    with Query(reader, session, rng.choice(_QUERIES), Limits(_SECONDS, 256 << 20, 1), quiet) as asked:
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
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    source = Path(file).read_bytes()
    done: Counter[str] = Counter()
    wrong: list[str] = []
    for i in range(count):
        rng = random.Random(f"{seed} {i}")
        folder = Path(tempfile.mkdtemp(prefix="kvarium-mutations-"))
        path = folder / "mutated.db"
        what = mutate(source, path, rng)
        before = path.read_bytes()
        signal.alarm(_SECONDS)
        try:
            found = commands(path, folder, rng)
            done += found
            if what.startswith("nothing") and any("refused" in each or "wrong" in each for each in found):
                wrong.append(f"{seed} {i}: {found} without a change")
            if path.read_bytes() != before:
                wrong.append(f"{seed} {i}: {what}: the file was changed by those who only read it")
        except BaseException as error:
            last = traceback.extract_tb(error.__traceback__)[-3:]
            where = " < ".join(f"{Path(each.filename).name}:{each.lineno}" for each in reversed(last))
            wrong.append(f"{seed} {i}: {what}: {type(error).__name__}: {str(error)[:300]} ({where})")
        signal.alarm(0)
        shutil.rmtree(folder)
    used = peak_bytes()
    return {"done": done, "wrong": wrong, "max_rss": used}


def _late(*_: object) -> None:
    raise TimeoutError(f"took longer than {_SECONDS} s")


if __name__ == "__main__":
    signal.signal(signal.SIGALRM, _late)
    print(json.dumps(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))))
