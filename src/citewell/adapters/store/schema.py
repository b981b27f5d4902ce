"""The tables of a library. What a change here puts into older ones is in `upgrade.py`; a test compares the two."""

from __future__ import annotations

from sqlalchemy import (
    JSON,
    Boolean,
    Column,
    Date,
    DateTime,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
    false,
)

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_name)s",
        "uq": "uq_%(table_name)s_%(column_0_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "pk": "pk_%(table_name)s",
    }
)

library = Table(
    "library",
    metadata,
    Column("key", String(32), primary_key=True),
    Column("value", Text, nullable=False),
)
"""`stamp` grows with every change of what is current or visible; `embedder` names the vectors in use."""

stamps = Table(
    "stamps",
    metadata,
    Column("tenant", String(64), primary_key=True),
    Column("stamp", Integer, nullable=False),
)
"""The stamp of the last change that concerned a tenant."""

documents = Table(
    "documents",
    metadata,
    Column("id", String(36), primary_key=True),
    Column("tenant", String(64), nullable=False),
    Column("lineage", String(36), nullable=False),
    Column("version", Integer, nullable=False),
    Column("is_current", Boolean, nullable=False),
    Column("state", String(16), nullable=False),
    Column("error", Text),
    Column("name", Text, nullable=False),
    Column("title", Text, nullable=False),
    Column("media_type", Text, nullable=False),
    Column("content_hash", String(64), nullable=False),
    Column("size_bytes", Integer, nullable=False),
    Column("subject", String(64)),
    Column("page_count", Integer, nullable=False),
    Column("language", Text),
    Column("publisher", Text),
    Column("published", Date),
    Column("licence", Text),
    Column("source_url", Text),
    Column("identifiers", JSON, nullable=False),
    Column("notes", JSON, nullable=False),
    Column("chunk_strategy", String(16), nullable=False),
    Column("chunk_size", Integer, nullable=False),
    Column("chunk_overlap", Integer, nullable=False),
    Column("chunk_unit", String(16), nullable=False),
    Column("generation", Integer),
    Column("attempts", Integer, nullable=False, server_default="0"),
    Column("rework", String(16)),
    Column("next_attempt_at", DateTime),
    Column("revision", Integer, nullable=False, server_default="0"),
    Column("claimed_by", String(255)),
    Column("claimed_until", DateTime),
    Column("current_from", Integer),
    Column("current_until", Integer),
    Column("added_at", DateTime, nullable=False),
    Column("added_by", String(64)),
    Column("processed_at", DateTime),
    Column("took_s", Float),
    UniqueConstraint("lineage", "version"),
    Index("ix_documents_tenant_hash", "tenant", "content_hash"),
    Index("ix_documents_generation", "generation"),
    Index("ix_documents_state", "state"),
    Index("ix_documents_waiting", "state", "added_at", "id"),
    Index("ix_documents_rework", "rework"),
)

"""`current_from` and `current_until` are stamps: which version answered at any moment can be told later."""

originals = Table(
    "originals",
    metadata,
    Column("tenant", String(64), primary_key=True),
    Column("content_hash", String(64), primary_key=True),
    Column("data", LargeBinary, nullable=False),
    Column("kept_in", String(16)),
    Column("key", String(96)),
    Index("ix_originals_key", "key"),
)
"""The bytes as they came, once per tenant; kept in the same transaction as all that is made of them.

`kept_in` names the store outside the library that has them, under `key`; `data` is empty then.
"""

outside = Table(
    "outside",
    metadata,
    Column("key", String(96), primary_key=True),
    Column("kept_in", String(16), nullable=False),
    Column("at", DateTime),
)
"""Every file that this library has put into a store outside of it; one that no original names is to go.

Not before a while after `at`, since it may be on its way in.
"""

document_history = Table(
    "document_history",
    metadata,
    Column("number", Integer, primary_key=True),
    Column("tenant", String(64), nullable=False),
    Column("document_id", String(36), nullable=False),
    Column("lineage", String(36), nullable=False),
    Column("version", Integer, nullable=False),
    Column("at", DateTime, nullable=False),
    Column("by", String(255), nullable=False),
    Column("change", String(16), nullable=False),
    Column("state", String(16)),
    Column("detail", Text),
    Index("ix_document_history_document", "tenant", "document_id"),
    sqlite_autoincrement=True,
)
"""What became of each document version, when and by whom; it outlives the document, so it refers to none."""

workers = Table(
    "workers",
    metadata,
    Column("name", String(255), primary_key=True),
    Column("embedder", String(255), nullable=False),
    Column("started_at", DateTime, nullable=False),
    Column("beat_at", DateTime, nullable=False),
    Column("document_id", String(36)),
    Column("done", Integer, nullable=False, server_default="0"),
    Column("failed", Integer, nullable=False, server_default="0"),
)
"""Who works on the queue, and when each was last heard of."""

document_tags = Table(
    "document_tags",
    metadata,
    Column("document_id", ForeignKey("documents.id", ondelete="CASCADE"), primary_key=True),
    Column("tag", String(64), primary_key=True),
    Index("ix_document_tags_tag", "tag"),
)

document_journeys = Table(
    "document_journeys",
    metadata,
    Column("document_id", ForeignKey("documents.id", ondelete="CASCADE"), primary_key=True),
    Column("journey", String(64), primary_key=True),
    Index("ix_document_journeys_journey", "journey"),
)

watched_folders = Table(
    "watched_folders",
    metadata,
    Column("id", String(36), primary_key=True),
    Column("tenant", String(64), nullable=False),
    Column("address", Text, nullable=False),
    Column("tags", JSON, nullable=False),
    Column("rules", JSON, nullable=False),
    Column("journeys", JSON, nullable=False),
    Column("added_at", DateTime, nullable=False),
    Column("looked_at", DateTime),
    Column("problem", Text),
    Column("look", JSON(none_as_null=True)),
    UniqueConstraint("tenant", "address"),
)
"""Folders whose files are added by themselves, and how the last look at each went."""

watched_files = Table(
    "watched_files",
    metadata,
    Column("folder_id", ForeignKey("watched_folders.id", ondelete="CASCADE"), primary_key=True),
    Column("path", Text, primary_key=True),
    Column("mark", Text, nullable=False),
    Column("content_hash", String(64), nullable=False),
    Column("document_id", String(36)),
    Column("is_ours", Boolean, nullable=False),
    Column("is_gone", Boolean, nullable=False),
    Column("problem", Text),
    Index("ix_watched_files_document", "document_id"),
)
"""What is known of each file. It refers to no document: one that was erased must not come back by itself."""

journeys = Table(
    "journeys",
    metadata,
    Column("tenant", String(64), primary_key=True),
    Column("slug", String(64), primary_key=True),
    Column("name", String(255), nullable=False),
    Column("description", Text, nullable=False),
    Column("former", JSON, nullable=False),
    Column("revision", Integer, nullable=False),
    Column("made_at", DateTime, nullable=False),
    Column("changed_at", DateTime, nullable=False),
    Column("changed_by", String(64), nullable=False),
)
"""What a journey is called; documents carry its slug. `former` are the slugs it had, which records still name."""

literature = Table(
    "literature",
    metadata,
    Column("tenant", String(64), primary_key=True),
    Column("lineage", String(36), primary_key=True),
    Column("checked_at", DateTime, nullable=False),
    Column("notices", JSON, nullable=False),
)
"""What was published later about a document, in all its versions: its retraction, doubts, corrections."""

literature_queries = Table(
    "literature_queries",
    metadata,
    Column("tenant", String(64), primary_key=True),
    Column("name", String(64), primary_key=True),
    Column("source", String(16), nullable=False),
    Column("query", Text, nullable=False),
    Column("most", Integer, nullable=False),
    Column("tags", JSON, nullable=False),
    Column("journeys", JSON, nullable=False),
    Column("saved_by", String(255), nullable=False),
    Column("due_at", DateTime, nullable=False),
    Column("ran_at", DateTime),
    Column("outcome", JSON, nullable=False),
    Column("seen", JSON, nullable=False),
)
"""Queries that are run again and again: what the last run brought, and the articles that any has brought."""

generations = Table(
    "generations",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("document_id", ForeignKey("documents.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("embedder", String(255), nullable=False),
    Column("made_at", DateTime, nullable=False),
    Column("text", Text, nullable=False),
    Column("structure", LargeBinary, nullable=False),
    Column("layout", LargeBinary, nullable=False),
    Column("chunk_count", Integer, nullable=False),
    Column("sentence_count", Integer, nullable=False),
    Column("postings", LargeBinary, nullable=False),
    Column("vectors", LargeBinary, nullable=False),
    sqlite_autoincrement=True,
)
"""One reading of one document version: text, structure and vectors. `documents.generation` says which one is in use."""

chunks = Table(
    "chunks",
    metadata,
    Column("generation", ForeignKey("generations.id", ondelete="CASCADE"), primary_key=True),
    Column("chunk_index", Integer, primary_key=True),
    Column("start", Integer, nullable=False),
    Column("end", Integer, nullable=False),
    Column("page", Integer),
    Column("section", JSON, nullable=False),
    Column("tokens", Integer, nullable=False),
    Column("text", Text, nullable=False),
    Column("text_hash", String(64), nullable=False),
    Column("sentence_offsets", LargeBinary, nullable=False),
    Column("sentence_vectors", LargeBinary, nullable=False),
)

# ---------------------------------------------------------------------------------------- people and conversations

users = Table(
    "users",
    metadata,
    Column("id", String(36), primary_key=True),
    Column("tenant", String(64), nullable=False),
    Column("email", String(255), nullable=False),
    Column("name", String(255), nullable=False),
    Column("role", String(16), nullable=False),
    Column("password_hash", Text),
    Column("is_active", Boolean, nullable=False),
    Column("made_at", DateTime, nullable=False),
    Column("registration", String(64)),
    Column("has_own_password", Boolean, nullable=False, server_default=false()),
    UniqueConstraint("tenant", "email"),
)
"""`registration` is the number under which a professional body lists the person. A password is a person's own once they
have set it themselves: nobody else knows it."""

owners = Table(
    "owners",
    metadata,
    Column("tenant", String(64), primary_key=True),
    Column("name", String(255), nullable=False),
    Column("registration", String(64), nullable=False),
)
"""Under which name the owner of the installation signs; they have no row among the users."""

identities = Table(
    "identities",
    metadata,
    Column("tenant", String(64), primary_key=True),
    Column("issuer", String(255), primary_key=True),
    Column("subject", String(255), primary_key=True),
    Column("user_id", String(36), ForeignKey("users.id", ondelete="CASCADE"), nullable=False, index=True),
)

user_tags = Table(
    "user_tags",
    metadata,
    Column("user_id", ForeignKey("users.id", ondelete="CASCADE"), primary_key=True),
    Column("tag", String(64), primary_key=True),
)

tags = Table(
    "tags",
    metadata,
    Column("tenant", String(64), primary_key=True),
    Column("name", String(64), primary_key=True),
    Column("owner_id", ForeignKey("users.id", ondelete="SET NULL")),
)
"""Who answers questions about documents with this tag."""

sessions = Table(
    "sessions",
    metadata,
    Column("token_hash", String(64), primary_key=True),
    Column("user_id", ForeignKey("users.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("made_at", DateTime, nullable=False),
    Column("ends_at", DateTime, nullable=False),
    Column("id", String(36)),
    Column("way", String(16)),
)

owner_sessions = Table(
    "owner_sessions",
    metadata,
    Column("token_hash", String(64), primary_key=True),
    Column("tenant", String(64), nullable=False, index=True),
    Column("made_at", DateTime, nullable=False),
    Column("ends_at", DateTime, nullable=False),
    Column("id", String(36)),
    Column("way", String(16)),
)
"""Sessions that the printed link opened: like the others, of somebody who has no row among the users."""

second_factors = Table(
    "second_factors",
    metadata,
    Column("user_id", ForeignKey("users.id", ondelete="CASCADE"), primary_key=True),
    Column("secret", LargeBinary, nullable=False),
    Column("is_on", Boolean, nullable=False),
    Column("last_step", Integer, nullable=False),
    Column("made_at", DateTime, nullable=False),
)
"""The sealed secret of a person's authenticator; `last_step` is the last code used, which is good once only."""

recovery_codes = Table(
    "recovery_codes",
    metadata,
    Column("user_id", ForeignKey("users.id", ondelete="CASCADE"), primary_key=True),
    Column("code_hash", String(64), primary_key=True),
)
"""Codes for a lost authenticator, each good once."""

api_keys = Table(
    "api_keys",
    metadata,
    Column("id", String(36), primary_key=True),
    Column("user_id", ForeignKey("users.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("name", String(255), nullable=False),
    Column("key_hash", String(64), nullable=False, unique=True),
    Column("made_at", DateTime, nullable=False),
    Column("used_at", DateTime),
    Column("ends_at", DateTime),
)
"""A key from before keys ended has no `ends_at`."""

conversations = Table(
    "conversations",
    metadata,
    Column("id", String(36), primary_key=True),
    Column("tenant", String(64), nullable=False),
    Column("user_id", String(36), nullable=False),
    Column("assistant", String(16), nullable=False),
    Column("title", LargeBinary, nullable=False),
    Column("made_at", DateTime, nullable=False),
    Column("changed_at", DateTime, nullable=False),
    Column("journey", String(64)),
    Index("ix_conversations_owner", "tenant", "user_id"),
)

messages = Table(
    "messages",
    metadata,
    Column("conversation_id", ForeignKey("conversations.id", ondelete="CASCADE"), primary_key=True),
    Column("position", Integer, primary_key=True),
    Column("role", String(16), nullable=False),
    Column("text", LargeBinary, nullable=False),
    Column("answer_id", String(36)),
    Column("made_at", DateTime, nullable=False),
)

answers = Table(
    "answers",
    metadata,
    Column("position", Integer, primary_key=True),
    Column("number", Integer, nullable=False, server_default="0"),
    Column("id", String(36), nullable=False, unique=True),
    Column("tenant", String(64), nullable=False),
    Column("user_id", String(36), nullable=False),
    Column("made_at", DateTime, nullable=False),
    Column("question_hash", String(64), nullable=False),
    Column("record", LargeBinary, nullable=False),
    Column("record_hash", String(64)),
    Column("previous_hash", String(64), nullable=False),
    Column("hash", String(64), nullable=False),
    Index("ix_answers_tenant", "tenant", "number", unique=True),
    sqlite_autoincrement=True,
)
"""The audit log: each record is sealed, and its hash covers the one before it of the same tenant.

`record_hash` is empty while a record is as it was written. Where words of an erased document were taken out of it, it
is the hash of the record as it was, which the chain goes on from."""

audit_heads = Table(
    "audit_heads",
    metadata,
    Column("tenant", String(64), primary_key=True),
    Column("head", LargeBinary, nullable=False),
)
"""Where each tenant's log ends, sealed: a record taken off the end is missed."""

trail = Table(
    "trail",
    metadata,
    Column("position", Integer, primary_key=True),
    Column("number", Integer, nullable=False),
    Column("tenant", String(64), nullable=False),
    Column("user_id", String(36), nullable=False),
    Column("made_at", DateTime, nullable=False),
    Column("way", String(16), nullable=False),
    Column("action", String(64), nullable=False),
    Column("object_id", String(128), nullable=False),
    Column("outcome", String(16), nullable=False),
    Column("previous_hash", String(64), nullable=False),
    Column("hash", String(64), nullable=False),
    Index("ix_trail_tenant", "tenant", "number", unique=True),
    Index("ix_trail_user", "tenant", "user_id", "number"),
    sqlite_autoincrement=True,
)
"""Who opened, searched, exported or administered what: ids only, chained like the answers."""

trail_heads = Table(
    "trail_heads",
    metadata,
    Column("tenant", String(64), primary_key=True),
    Column("head", LargeBinary, nullable=False),
)
"""Where each tenant's trail ends, sealed."""

routed = Table(
    "routed",
    metadata,
    Column("id", String(36), primary_key=True),
    Column("tenant", String(64), nullable=False),
    Column("answer_id", String(36), nullable=False),
    Column("asked_by", String(36), nullable=False),
    Column("tag", String(64), nullable=False),
    Column("owner_id", String(36)),
    Column("reason", Text, nullable=False),
    Column("is_fallback", Boolean, nullable=False),
    Column("state", String(16), nullable=False),
    Column("reply", LargeBinary),
    Column("replied_by", String(36)),
    Column("made_at", DateTime, nullable=False),
    Column("replied_at", DateTime),
    Index("ix_routed_owner", "tenant", "owner_id", "state"),
    Index("ix_routed_asked", "tenant", "asked_by"),
)
"""Questions handed to a person."""

shares = Table(
    "shares",
    metadata,
    Column("id", String(36), primary_key=True),
    Column("tenant", String(64), nullable=False),
    Column("answer_id", String(36), nullable=False),
    Column("made_by", String(36), nullable=False),
    Column("made_at", DateTime, nullable=False),
    UniqueConstraint("tenant", "answer_id"),
)
"""Links to answers within a tenant; a link that was ended is gone."""

# ---------------------------------------------------------------------------------------------- facts of a person

facts = Table(
    "facts",
    metadata,
    Column("tenant", String(64), primary_key=True),
    Column("id", String(36), primary_key=True),
    Column("kind", String(16), nullable=False),
    Column("state", String(16), nullable=False),
    Column("name", Text, nullable=False),
    Column("code", String(64)),
    Column("status", String(32)),
    Column("at", DateTime),
    Column("document_id", ForeignKey("documents.id", ondelete="CASCADE"), index=True),
    Column("body", JSON, nullable=False),
    Column("read_as", JSON, nullable=False),
    Column("changed_at", DateTime, nullable=False),
    Index("ix_facts_kind", "tenant", "kind", "status"),
    Index("ix_facts_named", "tenant", "kind", "name", "at"),
)
"""One fact a row: `body` is the fact as it holds now, `read_as` as it was read, before a person corrected it."""

dismissed = Table(
    "dismissed",
    metadata,
    Column("tenant", String(64), primary_key=True),
    Column("alert_id", String(36), primary_key=True),
    Column("at", DateTime, nullable=False),
    Column("why", Text, nullable=False),
    Column("by", String(64), nullable=False),
)
"""Alerts that a person has put away; they stay away."""

feedback = Table(
    "feedback",
    metadata,
    Column("tenant", String(64), primary_key=True),
    Column("answer_id", String(36), primary_key=True),
    Column("is_helpful", Boolean, nullable=False),
    Column("at", DateTime, nullable=False),
)
"""Whether an answer helped the person who asked."""

record_settings = Table(
    "record_settings",
    metadata,
    Column("tenant", String(64), primary_key=True),
    Column("name", String(32), primary_key=True),
    Column("value", Text, nullable=False),
)
"""What a person has set for their record; what is not here is as the server is set."""

papers = Table(
    "papers",
    metadata,
    Column("tenant", String(64), primary_key=True),
    Column("document_id", ForeignKey("documents.id", ondelete="CASCADE"), primary_key=True),
    Column("kind", String(32), nullable=False),
    Column("professional", Text),
    Column("ocr_confidence", Float),
    Column("is_verified", Boolean, nullable=False),
)
"""What kind of paper each document of a record is."""

# ------------------------------------------------------------------------------------------------------- consults

consults = Table(
    "consults",
    metadata,
    Column("id", String(36), primary_key=True),
    Column("tenant", String(64), nullable=False),
    Column("user_id", String(36), nullable=False),
    Column("state", String(24), nullable=False),
    Column("length", Integer, nullable=False),
    Column("made_at", DateTime, nullable=False),
    Column("changed_at", DateTime, nullable=False),
    Index("ix_consults_owner", "tenant", "user_id", "changed_at"),
)

consult_events = Table(
    "consult_events",
    metadata,
    Column("consult_id", ForeignKey("consults.id", ondelete="CASCADE"), primary_key=True),
    Column("position", Integer, primary_key=True),
    Column("body", LargeBinary, nullable=False),
)
"""What happened in a consult, sealed, in order; nothing is ever changed here."""
