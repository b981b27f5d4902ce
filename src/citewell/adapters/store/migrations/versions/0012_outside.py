"""Which files outside of it are a library's own: each is written down under its key before it is put there."""

import hashlib

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"

ORIGINALS = sa.table("originals", *(sa.column(name) for name in ("tenant", "content_hash", "kept_in", "key")))
OUTSIDE = sa.table("outside", *(sa.column(name) for name in ("key", "kept_in", "at")))


def upgrade() -> None:
    """Add the keys, and name those of the files that are there already."""
    op.add_column("originals", sa.Column("key", sa.String(length=96), nullable=True))
    op.create_index("ix_originals_key", "originals", ["key"], unique=False)
    op.create_table(
        "outside",
        sa.Column("key", sa.String(length=96), nullable=False),
        sa.Column("kept_in", sa.String(length=16), nullable=False),
        sa.Column("at", sa.DateTime(), nullable=True),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_outside")),
    )
    connection = op.get_bind()
    for row in connection.execute(sa.select(ORIGINALS).where(ORIGINALS.c.kept_in.is_not(None))).all():
        tenant, content_hash = hashlib.sha256(row.tenant.encode()).hexdigest()[:16], row.content_hash
        key = f"{tenant}/{content_hash[:2]}/{content_hash}"
        mine = sa.and_(ORIGINALS.c.tenant == row.tenant, ORIGINALS.c.content_hash == content_hash)
        connection.execute(sa.update(ORIGINALS).where(mine).values(key=key))
        connection.execute(sa.insert(OUTSIDE).values(key=key, kept_in=row.kept_in))
