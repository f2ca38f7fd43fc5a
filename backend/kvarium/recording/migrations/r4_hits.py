"""What the requests that a step admitted asked of the prefix cache, and what it had: not known of steps from before it."""

import sqlalchemy as sa
from alembic import op

revision = "4"
down_revision = "3"


def upgrade() -> None:
    """Add the columns."""
    for name in ("queries", "hits"):
        op.add_column("step", sa.Column(name, sa.BigInteger))
