"""A person's record: whether an answer helped, what they have set, and what kind of paper each document is."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    """Add the tables of feedback, of a record's own settings and of its papers."""
    op.create_table(
        "feedback",
        sa.Column("tenant", sa.String(length=64), nullable=False),
        sa.Column("answer_id", sa.String(length=36), nullable=False),
        sa.Column("is_helpful", sa.Boolean(), nullable=False),
        sa.Column("at", sa.DateTime(), nullable=False),
        sa.PrimaryKeyConstraint("tenant", "answer_id", name=op.f("pk_feedback")),
    )
    op.create_table(
        "record_settings",
        sa.Column("tenant", sa.String(length=64), nullable=False),
        sa.Column("name", sa.String(length=32), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("tenant", "name", name=op.f("pk_record_settings")),
    )
    op.create_table(
        "papers",
        sa.Column("tenant", sa.String(length=64), nullable=False),
        sa.Column("document_id", sa.String(length=36), nullable=False),
        sa.Column("kind", sa.String(length=32), nullable=False),
        sa.Column("professional", sa.Text(), nullable=True),
        sa.Column("ocr_confidence", sa.Float(), nullable=True),
        sa.Column("is_verified", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(
            ["document_id"], ["documents.id"], name=op.f("fk_papers_document_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("tenant", "document_id", name=op.f("pk_papers")),
    )
