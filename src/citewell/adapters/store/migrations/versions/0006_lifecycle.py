"""The life of a document: when it is tried again, what became of it and by whom, and who works on the queue."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Add what retries, second readings, edits by two people and files outside the library need."""
    op.add_column("documents", sa.Column("rework", sa.String(length=16), nullable=True))
    op.add_column("documents", sa.Column("next_attempt_at", sa.DateTime(), nullable=True))
    op.add_column("documents", sa.Column("revision", sa.Integer(), server_default="0", nullable=False))
    op.create_index("ix_documents_waiting", "documents", ["state", "added_at", "id"], unique=False)
    op.create_index("ix_documents_rework", "documents", ["rework"], unique=False)
    op.add_column("originals", sa.Column("kept_in", sa.String(length=16), nullable=True))
    op.create_table(
        "document_history",
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("tenant", sa.String(length=64), nullable=False),
        sa.Column("document_id", sa.String(length=36), nullable=False),
        sa.Column("lineage", sa.String(length=36), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("at", sa.DateTime(), nullable=False),
        sa.Column("by", sa.String(length=255), nullable=False),
        sa.Column("change", sa.String(length=16), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=True),
        sa.Column("detail", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("number", name=op.f("pk_document_history")),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_document_history_document", "document_history", ["tenant", "document_id"], unique=False)
    op.create_table(
        "workers",
        sa.Column("name", sa.String(length=255), nullable=False),
        sa.Column("embedder", sa.String(length=255), nullable=False),
        sa.Column("started_at", sa.DateTime(), nullable=False),
        sa.Column("beat_at", sa.DateTime(), nullable=False),
        sa.Column("document_id", sa.String(length=36), nullable=True),
        sa.Column("done", sa.Integer(), server_default="0", nullable=False),
        sa.Column("failed", sa.Integer(), server_default="0", nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_workers")),
    )
