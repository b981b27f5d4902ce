"""A chain of records for each tenant, and its sealed end."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Number the records of each tenant by themselves; nothing wrote any before this version."""
    op.add_column("answers", sa.Column("number", sa.Integer(), server_default="0", nullable=False))
    op.execute("UPDATE answers SET number = position")
    op.create_index("ix_answers_tenant", "answers", ["tenant", "number"], unique=True)
    op.create_index("ix_routed_asked", "routed", ["tenant", "asked_by"], unique=False)
    op.create_table(
        "audit_heads",
        sa.Column("tenant", sa.String(length=64), nullable=False),
        sa.Column("head", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("tenant", name=op.f("pk_audit_heads")),
    )
