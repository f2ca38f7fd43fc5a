"""How a chunk is laid out, and which blocks its operations touch: chunks from before it are plain, and searched."""

import sqlalchemy as sa
from alembic import op

revision = "3"
down_revision = "2"


def upgrade() -> None:
    """Add the column and make the table."""
    op.add_column("chunk", sa.Column("layout", sa.BigInteger, nullable=False, server_default="0"))
    op.create_table(
        "touched",
        sa.Column("session", sa.BigInteger, nullable=False),
        sa.Column("first", sa.BigInteger, nullable=False),
        sa.Column("blocks", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("session", "first"),
    )
