"""The format of a recording: which one it has, and how an older one becomes the present one.

    1   session, chunk and the index                      r1_first.py (from before there were migrations: not stamped)
    2   note, removed                                     r2_notes.py
    3   chunk.layout, touched                             r3_touched.py
    4   step.queries, step.hits                           r4_hits.py

A format is a revision of Alembic's; the table ``kvarium`` tells its number too, which every kvarium that ever was reads
first. A new recording is made as it is today, without Alembic. An older one is upgraded when it is opened for writing, in
one transaction, so that it is either the old one or the new one: no copy is made. Opened for reading it stays as it is.
"""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from kvarium import __version__
from kvarium.errors import NotARecordingError
from kvarium.recording import tables

if TYPE_CHECKING:
    from alembic.runtime.migration import MigrationContext
    from alembic.script import ScriptDirectory

MIGRATIONS = Path(__file__).parent / "migrations"


def read_format(connection: sa.Connection, where: str) -> int:
    """The format of the recording. Raises :class:`NotARecordingError` for what is none, or is of a newer kvarium."""
    if not sa.inspect(connection).has_table(tables.kvarium.name):
        raise NotARecordingError(f"{where} is not a recording of kvarium: it has no table 'kvarium'")
    query = sa.select(tables.kvarium.c.value).where(tables.kvarium.c.key == "format")
    found = connection.execute(query).scalar()
    if not isinstance(found, str) or not (found.isascii() and found.isdecimal()) or int(found[:9]) < 1:
        raise NotARecordingError(f"{where} is not a recording of kvarium: its format is {str(found)[:20]!r}")
    if len(found) > 9 or int(found) > tables.FORMAT:
        raise NotARecordingError(
            f"{where} has format {found[:20]}, this kvarium ({__version__}) reads up to {tables.FORMAT}: "
            "use a newer kvarium"
        )
    return int(found)


def create(connection: sa.Connection) -> None:
    """Make the tables of the present format in an empty database."""
    tables.metadata.create_all(connection)
    connection.execute(sa.insert(tables.kvarium), [{"key": "format", "value": str(tables.FORMAT)}])
    connection.execute(sa.insert(tables.alembic_version), [{"version_num": str(tables.FORMAT)}])


def upgrade(connection: sa.Connection, found: int) -> None:
    """Bring a recording of the format ``found`` to the present one, within the connection's transaction."""
    if found == tables.FORMAT:
        return
    with _alembic(connection) as (context, script):
        if context.get_current_revision() is None:
            # From before there were migrations.
            context.stamp(script, str(found))
    migrate(connection, str(tables.FORMAT))
    changed = sa.update(tables.kvarium).where(tables.kvarium.c.key == "format")
    connection.execute(changed.values(value=str(tables.FORMAT)))


def migrate(connection: sa.Connection, revision: str) -> None:
    """Run the migrations that lead from what is there (which may be nothing) to ``revision``."""
    with _alembic(connection, revision) as (context, _):
        context.run_migrations()


@contextlib.contextmanager
def _alembic(
    connection: sa.Connection, revision: str | None = None
) -> "Iterator[tuple[MigrationContext, ScriptDirectory]]":
    # Here, not above: it takes a third of a second to import, and hardly anybody needs it.
    from alembic.operations import Operations
    from alembic.runtime.migration import MigrationContext
    from alembic.script import ScriptDirectory

    script = ScriptDirectory(str(MIGRATIONS), version_locations=[str(MIGRATIONS)])
    options: dict[str, Any] = {}
    if revision is not None:
        options["fn"] = lambda current, _: script._upgrade_revs(revision, current)
    context = MigrationContext.configure(connection, opts=options)
    with Operations.context(context):
        yield context, script
