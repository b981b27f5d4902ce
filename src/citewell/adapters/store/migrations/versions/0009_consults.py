"""Consults: each is the sum of its sealed events."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    """Add the tables of consults and of their events."""
    op.create_table(
        "consults",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("tenant", sa.String(length=64), nullable=False),
        sa.Column("user_id", sa.String(length=36), nullable=False),
        sa.Column("state", sa.String(length=24), nullable=False),
        sa.Column("length", sa.Integer(), nullable=False),
        sa.Column("made_at", sa.DateTime(), nullable=False),
        sa.Column("changed_at", sa.DateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_consults")),
    )
    op.create_index("ix_consults_owner", "consults", ["tenant", "user_id", "changed_at"], unique=False)
    op.create_table(
        "consult_events",
        sa.Column("consult_id", sa.String(length=36), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["consult_id"], ["consults.id"], name=op.f("fk_consult_events_consult_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("consult_id", "position", name=op.f("pk_consult_events")),
    )
