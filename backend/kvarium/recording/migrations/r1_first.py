"""The first tables: sessions, their chunks, and the index that folding makes."""

import sqlalchemy as sa
from alembic import op

revision = "1"
down_revision = None


def _big(*names: str) -> list[sa.Column[int]]:
    return [sa.Column(name, sa.BigInteger, nullable=False) for name in names]


def _maybe(*names: str) -> list[sa.Column[int]]:
    return [sa.Column(name, sa.BigInteger) for name in names]


def _text(*names: str) -> list[sa.Column[str]]:
    return [sa.Column(name, sa.Text, nullable=False) for name in names]


def _data(name: str) -> sa.Column[bytes]:
    return sa.Column(name, sa.LargeBinary, nullable=False)


def upgrade() -> None:
    """Make them."""
    op.create_table(
        "kvarium", sa.Column("key", sa.Text, primary_key=True), sa.Column("value", sa.Text, nullable=False)
    )
    op.create_table(
        "session",
        sa.Column(
            "number",
            sa.BigInteger().with_variant(sa.Integer, "sqlite"),
            primary_key=True,
            autoincrement=True,
        ),
        sa.Column("id", sa.Text, nullable=False, unique=True),
        *_text("name", "state", "reason"),
        *_big("started_utc_us"),
        *_text("engine", "model", "runner", "device"),
        *_big("num_blocks", "block_size"),
        sa.Column("allow_control", sa.Boolean, nullable=False),
        _data("hello"),
        *_maybe("first_record", "last_record", "last_step"),
        *_big("records", "operations", "steps", "duration_ns", "bytes", "stored_bytes", "gaps", "lost"),
        *_maybe("indexed_record"),
        *_big("violations"),
        sa.Column("violation", sa.Text),
    )
    op.create_table(
        "chunk",
        *_big("session", "first", "last", "records"),
        *_maybe("first_step", "last_step", "first_op", "last_op", "first_time", "last_time"),
        *_big("bytes", "checksum"),
        _data("data"),
        sa.PrimaryKeyConstraint("session", "first"),
    )
    op.create_index("chunk_step", "chunk", ["session", "last_step"])
    op.create_index("chunk_time", "chunk", ["session", "last_time"])
    op.create_table(
        "keyframe",
        *_big("session", "record", "step", "op", "time"),
        *_text("origin"),
        *_big("bytes", "checksum"),
        _data("data"),
        sa.PrimaryKeyConstraint("session", "record"),
    )
    op.create_table(
        "step",
        *_big("session", "step", "record", "op", "time", "active", "shared", "cached", "free"),
        *_big("prefill_tokens", "decode_tokens", "budget", "allocate", "evict", "reuse", "share", "copy"),
        *_big("fill", "cache", "release", "freed", "preempted", "running", "waiting"),
        sa.PrimaryKeyConstraint("session", "step"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "landmark",
        *_big("session", "step"),
        *_text("kind"),
        *_big("record", "count"),
        sa.Column("message", sa.Text),
        sa.PrimaryKeyConstraint("session", "step", "kind", "record"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "request",
        *_big("session", "request"),
        *_text("name", "state"),
        sa.Column("reason", sa.Text),
        sa.Column("message", sa.Text),
        *_big("prompt_tokens", "max_tokens", "n", "priority", "hit_tokens", "output_tokens", "preemptions"),
        *_maybe("submitted_record", "submitted_step", "submitted_time", "admitted_step", "admitted_time"),
        *_maybe("first_token_time", "ended_step", "ended_time", "prompt_record"),
        sa.PrimaryKeyConstraint("session", "request"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "content",
        *_big("session", "first", "last", "first_record", "last_record"),
        sa.PrimaryKeyConstraint("session", "first"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "piece",
        *_big("session", "token"),
        *_text("piece"),
        sa.PrimaryKeyConstraint("session", "token"),
        sqlite_with_rowid=False,
    )
