"""Notes and marks that people put into a recording, and a word about each session that was removed from it."""

import sqlalchemy as sa
from alembic import op

revision = "2"
down_revision = "1"


def _number() -> sa.Column[int]:
    number = sa.BigInteger().with_variant(sa.Integer, "sqlite")
    return sa.Column("number", number, primary_key=True, autoincrement=True)


def _big(*names: str) -> list[sa.Column[int]]:
    return [sa.Column(name, sa.BigInteger, nullable=False) for name in names]


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "note",
        _number(),
        *_big("session", "step", "record"),
        sa.Column("op", sa.BigInteger),
        sa.Column("text", sa.Text, nullable=False),
        sa.Column("mark", sa.Text),
        sa.Column("colour", sa.Text),
        *_big("created_utc_us"),
    )
    op.create_index("note_session", "note", ["session", "step"])
    op.create_table(
        "removed",
        _number(),
        sa.Column("id", sa.Text, nullable=False),
        *_big("started_utc_us", "steps", "operations", "stored_bytes", "removed_utc_us"),
        sa.Column("reason", sa.Text, nullable=False),
    )
