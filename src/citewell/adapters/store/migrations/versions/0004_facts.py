"""Clinical facts about a person, and the alerts that were dismissed."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Add the tables of facts and of dismissed alerts."""
    op.create_table(
        "facts",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("tenant", sa.String(length=64), nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("code", sa.String(length=64), nullable=True),
        sa.Column("status", sa.String(length=32), nullable=True),
        sa.Column("at", sa.DateTime(), nullable=True),
        sa.Column("document_id", sa.String(length=36), nullable=True),
        sa.Column("body", sa.JSON(), nullable=False),
        sa.Column("read_as", sa.JSON(), nullable=False),
        sa.Column("changed_at", sa.DateTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["document_id"], ["documents.id"], name=op.f("fk_facts_document_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("tenant", "id", name=op.f("pk_facts")),
    )
    op.create_index("ix_facts_kind", "facts", ["tenant", "kind", "status"], unique=False)
    op.create_index("ix_facts_named", "facts", ["tenant", "kind", "name", "at"], unique=False)
    op.create_index(op.f("ix_facts_document_id"), "facts", ["document_id"], unique=False)
    op.create_table(
        "dismissed",
        sa.Column("tenant", sa.String(length=64), nullable=False),
        sa.Column("alert_id", sa.String(length=36), nullable=False),
        sa.Column("at", sa.DateTime(), nullable=False),
        sa.Column("why", sa.Text(), nullable=False),
        sa.Column("by", sa.String(length=64), nullable=False),
        sa.PrimaryKeyConstraint("tenant", "alert_id", name=op.f("pk_dismissed")),
    )
