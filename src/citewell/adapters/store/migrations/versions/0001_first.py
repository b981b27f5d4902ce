"""The first tables of a library."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Make them all."""

    op.create_table(
        "documents",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("tenant", sa.String(length=64), nullable=False),
        sa.Column("lineage", sa.String(length=36), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("is_current", sa.Boolean(), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("media_type", sa.Text(), nullable=False),
        sa.Column("content_hash", sa.String(length=64), nullable=False),
        sa.Column("size_bytes", sa.Integer(), nullable=False),
        sa.Column("subject", sa.String(length=64), nullable=True),
        sa.Column("page_count", sa.Integer(), nullable=False),
        sa.Column("language", sa.Text(), nullable=True),
        sa.Column("publisher", sa.Text(), nullable=True),
        sa.Column("published", sa.Date(), nullable=True),
        sa.Column("licence", sa.Text(), nullable=True),
        sa.Column("source_url", sa.Text(), nullable=True),
        sa.Column("identifiers", sa.JSON(), nullable=False),
        sa.Column("notes", sa.JSON(), nullable=False),
        sa.Column("chunk_strategy", sa.String(length=16), nullable=False),
        sa.Column("chunk_size", sa.Integer(), nullable=False),
        sa.Column("chunk_overlap", sa.Integer(), nullable=False),
        sa.Column("chunk_unit", sa.String(length=16), nullable=False),
        sa.Column("generation", sa.Integer(), nullable=True),
        sa.Column("added_at", sa.DateTime(), nullable=False),
        sa.Column("added_by", sa.String(length=64), nullable=True),
        sa.Column("processed_at", sa.DateTime(), nullable=True),
        sa.Column("took_s", sa.Float(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_documents")),
        sa.UniqueConstraint("lineage", "version", name=op.f("uq_documents_lineage")),
    )
    op.create_index("ix_documents_generation", "documents", ["generation"], unique=False)
    op.create_index("ix_documents_state", "documents", ["state"], unique=False)
    op.create_index("ix_documents_tenant_hash", "documents", ["tenant", "content_hash"], unique=False)
    op.create_table(
        "library",
        sa.Column("key", sa.String(length=32), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_library")),
    )
    op.create_table(
        "originals",
        sa.Column("tenant", sa.String(length=64), nullable=False),
        sa.Column("content_hash", sa.String(length=64), nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("tenant", "content_hash", name=op.f("pk_originals")),
    )
    op.create_table(
        "document_journeys",
        sa.Column("document_id", sa.String(length=36), nullable=False),
        sa.Column("journey", sa.String(length=64), nullable=False),
        sa.ForeignKeyConstraint(
            ["document_id"], ["documents.id"], name=op.f("fk_document_journeys_document_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("document_id", "journey", name=op.f("pk_document_journeys")),
    )
    op.create_index("ix_document_journeys_journey", "document_journeys", ["journey"], unique=False)
    op.create_table(
        "document_tags",
        sa.Column("document_id", sa.String(length=36), nullable=False),
        sa.Column("tag", sa.String(length=64), nullable=False),
        sa.ForeignKeyConstraint(
            ["document_id"], ["documents.id"], name=op.f("fk_document_tags_document_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("document_id", "tag", name=op.f("pk_document_tags")),
    )
    op.create_index("ix_document_tags_tag", "document_tags", ["tag"], unique=False)
    op.create_table(
        "generations",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("document_id", sa.String(length=36), nullable=False),
        sa.Column("embedder", sa.String(length=255), nullable=False),
        sa.Column("made_at", sa.DateTime(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("structure", sa.LargeBinary(), nullable=False),
        sa.Column("layout", sa.LargeBinary(), nullable=False),
        sa.Column("chunk_count", sa.Integer(), nullable=False),
        sa.Column("sentence_count", sa.Integer(), nullable=False),
        sa.Column("postings", sa.LargeBinary(), nullable=False),
        sa.Column("vectors", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["document_id"], ["documents.id"], name=op.f("fk_generations_document_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_generations")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_generations_document_id"), "generations", ["document_id"], unique=False)
    op.create_table(
        "chunks",
        sa.Column("generation", sa.Integer(), nullable=False),
        sa.Column("chunk_index", sa.Integer(), nullable=False),
        sa.Column("start", sa.Integer(), nullable=False),
        sa.Column("end", sa.Integer(), nullable=False),
        sa.Column("page", sa.Integer(), nullable=True),
        sa.Column("section", sa.JSON(), nullable=False),
        sa.Column("tokens", sa.Integer(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("text_hash", sa.String(length=64), nullable=False),
        sa.Column("sentence_offsets", sa.LargeBinary(), nullable=False),
        sa.Column("sentence_vectors", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["generation"], ["generations.id"], name=op.f("fk_chunks_generation"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("generation", "chunk_index", name=op.f("pk_chunks")),
    )
