"""What search needs where many tenants share a database: a stamp for each, and vectors that PostgreSQL can compare."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """Add the stamps of tenants; in PostgreSQL also a row per vector, since pgvector reads no blobs."""
    op.create_table(
        "stamps",
        sa.Column("tenant", sa.String(length=64), nullable=False),
        sa.Column("stamp", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("tenant", name=op.f("pk_stamps")),
    )
    if op.get_bind().dialect.name == "postgresql":
        op.execute(
            "CREATE TABLE chunk_vectors ("
            "generation integer NOT NULL REFERENCES generations (id) ON DELETE CASCADE, "
            "chunk_index integer NOT NULL, embedding vector NOT NULL, PRIMARY KEY (generation, chunk_index))"
        )
