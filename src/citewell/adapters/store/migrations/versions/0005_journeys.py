"""Care journeys with names of their own, and the journey that a conversation is held in."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Add the table of journeys and the journey of a conversation; documents keep the slugs that they carry."""
    op.create_table(
        "journeys",
        sa.Column("tenant", sa.String(length=64), nullable=False),
        sa.Column("slug", sa.String(length=64), nullable=False),
        sa.Column("name", sa.String(length=255), nullable=False),
        sa.Column("description", sa.Text(), nullable=False),
        sa.Column("former", sa.JSON(), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("made_at", sa.DateTime(), nullable=False),
        sa.Column("changed_at", sa.DateTime(), nullable=False),
        sa.Column("changed_by", sa.String(length=64), nullable=False),
        sa.PrimaryKeyConstraint("tenant", "slug", name=op.f("pk_journeys")),
    )
    op.add_column("conversations", sa.Column("journey", sa.String(length=64), nullable=True))
