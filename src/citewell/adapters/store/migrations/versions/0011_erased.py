"""What a record was hashed as before words of an erased document were taken out of it."""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    """Add the first hash of a record, for those that are no longer as they were written."""
    op.add_column("answers", sa.Column("record_hash", sa.String(length=64), nullable=True))
