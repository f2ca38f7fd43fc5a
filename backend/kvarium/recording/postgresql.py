"""A PostgreSQL database as a recording: from a URL to connections."""

import sqlalchemy as sa
from sqlalchemy.exc import SQLAlchemyError

from kvarium.errors import KvariumError


def engine_of(url: str) -> tuple[sa.Engine, str]:
    """The engine of a URL, and how a person knows it (without the password)."""
    try:
        parsed = sa.make_url(url)
    except SQLAlchemyError:
        raise KvariumError(f"--db {url}: not a URL (postgresql://user@host/database) nor a file") from None
    if parsed.get_backend_name() not in ("postgresql", "postgres"):
        raise KvariumError(
            f"--db {parsed.drivername}://…: kvarium records into SQLite files and PostgreSQL, not into that"
        )
    where = parsed.render_as_string(hide_password=True)
    try:
        engine = sa.create_engine(parsed.set(drivername="postgresql+psycopg"), pool_size=8, max_overflow=40)
    except ModuleNotFoundError:
        raise KvariumError(f"--db {where} needs psycopg: pip install 'kvarium[postgres]'") from None
    return engine, where
