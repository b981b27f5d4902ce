-- 0001
CREATE TABLE alembic_version ( version_num VARCHAR(32) NOT NULL, CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num) );
CREATE TABLE documents ( id VARCHAR(36) NOT NULL, tenant VARCHAR(64) NOT NULL, lineage VARCHAR(36) NOT NULL, version INTEGER NOT NULL, is_current BOOLEAN NOT NULL, state VARCHAR(16) NOT NULL, error TEXT, name TEXT NOT NULL, title TEXT NOT NULL, media_type TEXT NOT NULL, content_hash VARCHAR(64) NOT NULL, size_bytes INTEGER NOT NULL, subject VARCHAR(64), page_count INTEGER NOT NULL, language TEXT, publisher TEXT, published DATE, licence TEXT, source_url TEXT, identifiers JSON NOT NULL, notes JSON NOT NULL, chunk_strategy VARCHAR(16) NOT NULL, chunk_size INTEGER NOT NULL, chunk_overlap INTEGER NOT NULL, chunk_unit VARCHAR(16) NOT NULL, generation INTEGER, added_at DATETIME NOT NULL, added_by VARCHAR(64), processed_at DATETIME, took_s FLOAT, CONSTRAINT pk_documents PRIMARY KEY (id), CONSTRAINT uq_documents_lineage UNIQUE (lineage, version) );
CREATE INDEX ix_documents_generation ON documents (generation);
CREATE INDEX ix_documents_state ON documents (state);
CREATE INDEX ix_documents_tenant_hash ON documents (tenant, content_hash);
CREATE TABLE library ( "key" VARCHAR(32) NOT NULL, value TEXT NOT NULL, CONSTRAINT pk_library PRIMARY KEY ("key") );
CREATE TABLE originals ( tenant VARCHAR(64) NOT NULL, content_hash VARCHAR(64) NOT NULL, data BLOB NOT NULL, CONSTRAINT pk_originals PRIMARY KEY (tenant, content_hash) );
CREATE TABLE document_journeys ( document_id VARCHAR(36) NOT NULL, journey VARCHAR(64) NOT NULL, CONSTRAINT pk_document_journeys PRIMARY KEY (document_id, journey), CONSTRAINT fk_document_journeys_document_id FOREIGN KEY(document_id) REFERENCES documents (id) ON DELETE CASCADE );
CREATE INDEX ix_document_journeys_journey ON document_journeys (journey);
CREATE TABLE document_tags ( document_id VARCHAR(36) NOT NULL, tag VARCHAR(64) NOT NULL, CONSTRAINT pk_document_tags PRIMARY KEY (document_id, tag), CONSTRAINT fk_document_tags_document_id FOREIGN KEY(document_id) REFERENCES documents (id) ON DELETE CASCADE );
CREATE INDEX ix_document_tags_tag ON document_tags (tag);
CREATE TABLE generations ( id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, document_id VARCHAR(36) NOT NULL, embedder VARCHAR(255) NOT NULL, made_at DATETIME NOT NULL, text TEXT NOT NULL, structure BLOB NOT NULL, layout BLOB NOT NULL, chunk_count INTEGER NOT NULL, sentence_count INTEGER NOT NULL, postings BLOB NOT NULL, vectors BLOB NOT NULL, CONSTRAINT fk_generations_document_id FOREIGN KEY(document_id) REFERENCES documents (id) ON DELETE CASCADE );
CREATE INDEX ix_generations_document_id ON generations (document_id);
CREATE TABLE chunks ( generation INTEGER NOT NULL, chunk_index INTEGER NOT NULL, start INTEGER NOT NULL, "end" INTEGER NOT NULL, page INTEGER, section JSON NOT NULL, tokens INTEGER NOT NULL, text TEXT NOT NULL, text_hash VARCHAR(64) NOT NULL, sentence_offsets BLOB NOT NULL, sentence_vectors BLOB NOT NULL, CONSTRAINT pk_chunks PRIMARY KEY (generation, chunk_index), CONSTRAINT fk_chunks_generation FOREIGN KEY(generation) REFERENCES generations (id) ON DELETE CASCADE );
INSERT INTO alembic_version (version_num) VALUES ('0001') RETURNING version_num;
-- 0002
ALTER TABLE documents ADD COLUMN attempts INTEGER DEFAULT '0' NOT NULL;
ALTER TABLE documents ADD COLUMN claimed_by VARCHAR(255);
ALTER TABLE documents ADD COLUMN claimed_until DATETIME;
ALTER TABLE documents ADD COLUMN current_from INTEGER;
ALTER TABLE documents ADD COLUMN current_until INTEGER;
UPDATE documents SET current_from = 0 WHERE generation IS NOT NULL;
UPDATE documents SET current_until = 0 WHERE generation IS NOT NULL AND NOT is_current;
CREATE TABLE answers ( position INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, id VARCHAR(36) NOT NULL, tenant VARCHAR(64) NOT NULL, user_id VARCHAR(36) NOT NULL, made_at DATETIME NOT NULL, question_hash VARCHAR(64) NOT NULL, record BLOB NOT NULL, previous_hash VARCHAR(64) NOT NULL, hash VARCHAR(64) NOT NULL, CONSTRAINT uq_answers_id UNIQUE (id) );
CREATE TABLE conversations ( id VARCHAR(36) NOT NULL, tenant VARCHAR(64) NOT NULL, user_id VARCHAR(36) NOT NULL, assistant VARCHAR(16) NOT NULL, title BLOB NOT NULL, made_at DATETIME NOT NULL, changed_at DATETIME NOT NULL, CONSTRAINT pk_conversations PRIMARY KEY (id) );
CREATE INDEX ix_conversations_owner ON conversations (tenant, user_id);
CREATE TABLE routed ( id VARCHAR(36) NOT NULL, tenant VARCHAR(64) NOT NULL, answer_id VARCHAR(36) NOT NULL, asked_by VARCHAR(36) NOT NULL, tag VARCHAR(64) NOT NULL, owner_id VARCHAR(36), reason TEXT NOT NULL, is_fallback BOOLEAN NOT NULL, state VARCHAR(16) NOT NULL, reply BLOB, replied_by VARCHAR(36), made_at DATETIME NOT NULL, replied_at DATETIME, CONSTRAINT pk_routed PRIMARY KEY (id) );
CREATE INDEX ix_routed_owner ON routed (tenant, owner_id, state);
CREATE TABLE users ( id VARCHAR(36) NOT NULL, tenant VARCHAR(64) NOT NULL, email VARCHAR(255) NOT NULL, name VARCHAR(255) NOT NULL, role VARCHAR(16) NOT NULL, password_hash TEXT, is_active BOOLEAN NOT NULL, made_at DATETIME NOT NULL, CONSTRAINT pk_users PRIMARY KEY (id), CONSTRAINT uq_users_tenant UNIQUE (tenant, email) );
CREATE TABLE api_keys ( id VARCHAR(36) NOT NULL, user_id VARCHAR(36) NOT NULL, name VARCHAR(255) NOT NULL, key_hash VARCHAR(64) NOT NULL, made_at DATETIME NOT NULL, used_at DATETIME, CONSTRAINT pk_api_keys PRIMARY KEY (id), CONSTRAINT fk_api_keys_user_id FOREIGN KEY(user_id) REFERENCES users (id) ON DELETE CASCADE, CONSTRAINT uq_api_keys_key_hash UNIQUE (key_hash) );
CREATE INDEX ix_api_keys_user_id ON api_keys (user_id);
CREATE TABLE messages ( conversation_id VARCHAR(36) NOT NULL, position INTEGER NOT NULL, role VARCHAR(16) NOT NULL, text BLOB NOT NULL, answer_id VARCHAR(36), made_at DATETIME NOT NULL, CONSTRAINT pk_messages PRIMARY KEY (conversation_id, position), CONSTRAINT fk_messages_conversation_id FOREIGN KEY(conversation_id) REFERENCES conversations (id) ON DELETE CASCADE );
CREATE TABLE sessions ( token_hash VARCHAR(64) NOT NULL, user_id VARCHAR(36) NOT NULL, made_at DATETIME NOT NULL, ends_at DATETIME NOT NULL, CONSTRAINT pk_sessions PRIMARY KEY (token_hash), CONSTRAINT fk_sessions_user_id FOREIGN KEY(user_id) REFERENCES users (id) ON DELETE CASCADE );
CREATE INDEX ix_sessions_user_id ON sessions (user_id);
CREATE TABLE tags ( tenant VARCHAR(64) NOT NULL, name VARCHAR(64) NOT NULL, owner_id VARCHAR(36), CONSTRAINT pk_tags PRIMARY KEY (tenant, name), CONSTRAINT fk_tags_owner_id FOREIGN KEY(owner_id) REFERENCES users (id) ON DELETE SET NULL );
CREATE TABLE user_tags ( user_id VARCHAR(36) NOT NULL, tag VARCHAR(64) NOT NULL, CONSTRAINT pk_user_tags PRIMARY KEY (user_id, tag), CONSTRAINT fk_user_tags_user_id FOREIGN KEY(user_id) REFERENCES users (id) ON DELETE CASCADE );
UPDATE alembic_version SET version_num='0002' WHERE alembic_version.version_num = '0001';
-- 0003
ALTER TABLE answers ADD COLUMN number INTEGER DEFAULT '0' NOT NULL;
UPDATE answers SET number = position;
CREATE UNIQUE INDEX ix_answers_tenant ON answers (tenant, number);
CREATE INDEX ix_routed_asked ON routed (tenant, asked_by);
CREATE TABLE audit_heads ( tenant VARCHAR(64) NOT NULL, head BLOB NOT NULL, CONSTRAINT pk_audit_heads PRIMARY KEY (tenant) );
UPDATE alembic_version SET version_num='0003' WHERE alembic_version.version_num = '0002';
-- 0004
CREATE TABLE facts ( id VARCHAR(36) NOT NULL, tenant VARCHAR(64) NOT NULL, kind VARCHAR(16) NOT NULL, state VARCHAR(16) NOT NULL, name TEXT NOT NULL, code VARCHAR(64), status VARCHAR(32), at DATETIME, document_id VARCHAR(36), body JSON NOT NULL, read_as JSON NOT NULL, changed_at DATETIME NOT NULL, CONSTRAINT pk_facts PRIMARY KEY (tenant, id), CONSTRAINT fk_facts_document_id FOREIGN KEY(document_id) REFERENCES documents (id) ON DELETE CASCADE );
CREATE INDEX ix_facts_kind ON facts (tenant, kind, status);
CREATE INDEX ix_facts_named ON facts (tenant, kind, name, at);
CREATE INDEX ix_facts_document_id ON facts (document_id);
CREATE TABLE dismissed ( tenant VARCHAR(64) NOT NULL, alert_id VARCHAR(36) NOT NULL, at DATETIME NOT NULL, why TEXT NOT NULL, "by" VARCHAR(64) NOT NULL, CONSTRAINT pk_dismissed PRIMARY KEY (tenant, alert_id) );
UPDATE alembic_version SET version_num='0004' WHERE alembic_version.version_num = '0003';
-- 0005
CREATE TABLE journeys ( tenant VARCHAR(64) NOT NULL, slug VARCHAR(64) NOT NULL, name VARCHAR(255) NOT NULL, description TEXT NOT NULL, former JSON NOT NULL, revision INTEGER NOT NULL, made_at DATETIME NOT NULL, changed_at DATETIME NOT NULL, changed_by VARCHAR(64) NOT NULL, CONSTRAINT pk_journeys PRIMARY KEY (tenant, slug) );
ALTER TABLE conversations ADD COLUMN journey VARCHAR(64);
UPDATE alembic_version SET version_num='0005' WHERE alembic_version.version_num = '0004';
-- 0006
ALTER TABLE documents ADD COLUMN rework VARCHAR(16);
ALTER TABLE documents ADD COLUMN next_attempt_at DATETIME;
ALTER TABLE documents ADD COLUMN revision INTEGER DEFAULT '0' NOT NULL;
CREATE INDEX ix_documents_waiting ON documents (state, added_at, id);
CREATE INDEX ix_documents_rework ON documents (rework);
ALTER TABLE originals ADD COLUMN kept_in VARCHAR(16);
CREATE TABLE document_history ( number INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, tenant VARCHAR(64) NOT NULL, document_id VARCHAR(36) NOT NULL, lineage VARCHAR(36) NOT NULL, version INTEGER NOT NULL, at DATETIME NOT NULL, "by" VARCHAR(255) NOT NULL, change VARCHAR(16) NOT NULL, state VARCHAR(16), detail TEXT );
CREATE INDEX ix_document_history_document ON document_history (tenant, document_id);
CREATE TABLE workers ( name VARCHAR(255) NOT NULL, embedder VARCHAR(255) NOT NULL, started_at DATETIME NOT NULL, beat_at DATETIME NOT NULL, document_id VARCHAR(36), done INTEGER DEFAULT '0' NOT NULL, failed INTEGER DEFAULT '0' NOT NULL, CONSTRAINT pk_workers PRIMARY KEY (name) );
UPDATE alembic_version SET version_num='0006' WHERE alembic_version.version_num = '0005';
-- 0007
CREATE TABLE stamps ( tenant VARCHAR(64) NOT NULL, stamp INTEGER NOT NULL, CONSTRAINT pk_stamps PRIMARY KEY (tenant) );
UPDATE alembic_version SET version_num='0007' WHERE alembic_version.version_num = '0006';
-- 0008
CREATE TABLE feedback ( tenant VARCHAR(64) NOT NULL, answer_id VARCHAR(36) NOT NULL, is_helpful BOOLEAN NOT NULL, at DATETIME NOT NULL, CONSTRAINT pk_feedback PRIMARY KEY (tenant, answer_id) );
CREATE TABLE record_settings ( tenant VARCHAR(64) NOT NULL, name VARCHAR(32) NOT NULL, value TEXT NOT NULL, CONSTRAINT pk_record_settings PRIMARY KEY (tenant, name) );
CREATE TABLE papers ( tenant VARCHAR(64) NOT NULL, document_id VARCHAR(36) NOT NULL, kind VARCHAR(32) NOT NULL, professional TEXT, ocr_confidence FLOAT, is_verified BOOLEAN NOT NULL, CONSTRAINT pk_papers PRIMARY KEY (tenant, document_id), CONSTRAINT fk_papers_document_id FOREIGN KEY(document_id) REFERENCES documents (id) ON DELETE CASCADE );
UPDATE alembic_version SET version_num='0008' WHERE alembic_version.version_num = '0007';
-- 0009
CREATE TABLE consults ( id VARCHAR(36) NOT NULL, tenant VARCHAR(64) NOT NULL, user_id VARCHAR(36) NOT NULL, state VARCHAR(24) NOT NULL, length INTEGER NOT NULL, made_at DATETIME NOT NULL, changed_at DATETIME NOT NULL, CONSTRAINT pk_consults PRIMARY KEY (id) );
CREATE INDEX ix_consults_owner ON consults (tenant, user_id, changed_at);
CREATE TABLE consult_events ( consult_id VARCHAR(36) NOT NULL, position INTEGER NOT NULL, body BLOB NOT NULL, CONSTRAINT pk_consult_events PRIMARY KEY (consult_id, position), CONSTRAINT fk_consult_events_consult_id FOREIGN KEY(consult_id) REFERENCES consults (id) ON DELETE CASCADE );
UPDATE alembic_version SET version_num='0009' WHERE alembic_version.version_num = '0008';
-- 0010
CREATE TABLE identities ( tenant VARCHAR(64) NOT NULL, issuer VARCHAR(255) NOT NULL, subject VARCHAR(255) NOT NULL, user_id VARCHAR(36) NOT NULL, CONSTRAINT pk_identities PRIMARY KEY (tenant, issuer, subject), CONSTRAINT fk_identities_user_id FOREIGN KEY(user_id) REFERENCES users (id) ON DELETE CASCADE );
CREATE INDEX ix_identities_user_id ON identities (user_id);
UPDATE alembic_version SET version_num='0010' WHERE alembic_version.version_num = '0009';
-- 0011
ALTER TABLE answers ADD COLUMN record_hash VARCHAR(64);
UPDATE alembic_version SET version_num='0011' WHERE alembic_version.version_num = '0010';
-- 0012
ALTER TABLE originals ADD COLUMN "key" VARCHAR(96);
CREATE INDEX ix_originals_key ON originals ("key");
CREATE TABLE outside ( "key" VARCHAR(96) NOT NULL, kept_in VARCHAR(16) NOT NULL, at DATETIME, CONSTRAINT pk_outside PRIMARY KEY ("key") );
UPDATE alembic_version SET version_num='0012' WHERE alembic_version.version_num = '0011';
-- 0013
ALTER TABLE users ADD COLUMN registration VARCHAR(64);
ALTER TABLE users ADD COLUMN has_own_password BOOLEAN DEFAULT 0 NOT NULL;
ALTER TABLE sessions ADD COLUMN id VARCHAR(36);
ALTER TABLE sessions ADD COLUMN way VARCHAR(16);
ALTER TABLE api_keys ADD COLUMN ends_at DATETIME;
CREATE TABLE owners ( tenant VARCHAR(64) NOT NULL, name VARCHAR(255) NOT NULL, registration VARCHAR(64) NOT NULL, CONSTRAINT pk_owners PRIMARY KEY (tenant) );
CREATE TABLE owner_sessions ( token_hash VARCHAR(64) NOT NULL, tenant VARCHAR(64) NOT NULL, made_at DATETIME NOT NULL, ends_at DATETIME NOT NULL, id VARCHAR(36), way VARCHAR(16), CONSTRAINT pk_owner_sessions PRIMARY KEY (token_hash) );
CREATE INDEX ix_owner_sessions_tenant ON owner_sessions (tenant);
CREATE TABLE second_factors ( user_id VARCHAR(36) NOT NULL, secret BLOB NOT NULL, is_on BOOLEAN NOT NULL, last_step INTEGER NOT NULL, made_at DATETIME NOT NULL, CONSTRAINT pk_second_factors PRIMARY KEY (user_id), CONSTRAINT fk_second_factors_user_id FOREIGN KEY(user_id) REFERENCES users (id) ON DELETE CASCADE );
CREATE TABLE recovery_codes ( user_id VARCHAR(36) NOT NULL, code_hash VARCHAR(64) NOT NULL, CONSTRAINT pk_recovery_codes PRIMARY KEY (user_id, code_hash), CONSTRAINT fk_recovery_codes_user_id FOREIGN KEY(user_id) REFERENCES users (id) ON DELETE CASCADE );
CREATE TABLE trail ( position INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, number INTEGER NOT NULL, tenant VARCHAR(64) NOT NULL, user_id VARCHAR(36) NOT NULL, made_at DATETIME NOT NULL, way VARCHAR(16) NOT NULL, action VARCHAR(64) NOT NULL, object_id VARCHAR(128) NOT NULL, outcome VARCHAR(16) NOT NULL, previous_hash VARCHAR(64) NOT NULL, hash VARCHAR(64) NOT NULL );
CREATE UNIQUE INDEX ix_trail_tenant ON trail (tenant, number);
CREATE INDEX ix_trail_user ON trail (tenant, user_id, number);
CREATE TABLE trail_heads ( tenant VARCHAR(64) NOT NULL, head BLOB NOT NULL, CONSTRAINT pk_trail_heads PRIMARY KEY (tenant) );
UPDATE alembic_version SET version_num='0013' WHERE alembic_version.version_num = '0012';
-- 0014
CREATE TABLE literature ( tenant VARCHAR(64) NOT NULL, lineage VARCHAR(36) NOT NULL, checked_at DATETIME NOT NULL, notices JSON NOT NULL, CONSTRAINT pk_literature PRIMARY KEY (tenant, lineage) );
CREATE TABLE literature_queries ( tenant VARCHAR(64) NOT NULL, name VARCHAR(64) NOT NULL, source VARCHAR(16) NOT NULL, "query" TEXT NOT NULL, most INTEGER NOT NULL, tags JSON NOT NULL, journeys JSON NOT NULL, saved_by VARCHAR(255) NOT NULL, due_at DATETIME NOT NULL, ran_at DATETIME, outcome JSON NOT NULL, seen JSON NOT NULL, CONSTRAINT pk_literature_queries PRIMARY KEY (tenant, name) );
UPDATE alembic_version SET version_num='0014' WHERE alembic_version.version_num = '0013';
-- 0015
CREATE TABLE watched_folders ( id VARCHAR(36) NOT NULL, tenant VARCHAR(64) NOT NULL, address TEXT NOT NULL, tags JSON NOT NULL, rules JSON NOT NULL, journeys JSON NOT NULL, added_at DATETIME NOT NULL, looked_at DATETIME, problem TEXT, look JSON, CONSTRAINT pk_watched_folders PRIMARY KEY (id), CONSTRAINT uq_watched_folders_tenant UNIQUE (tenant, address) );
CREATE TABLE watched_files ( folder_id VARCHAR(36) NOT NULL, path TEXT NOT NULL, mark TEXT NOT NULL, content_hash VARCHAR(64) NOT NULL, document_id VARCHAR(36), is_ours BOOLEAN NOT NULL, is_gone BOOLEAN NOT NULL, problem TEXT, CONSTRAINT pk_watched_files PRIMARY KEY (folder_id, path), CONSTRAINT fk_watched_files_folder_id FOREIGN KEY(folder_id) REFERENCES watched_folders (id) ON DELETE CASCADE );
CREATE INDEX ix_watched_files_document ON watched_files (document_id);
UPDATE alembic_version SET version_num='0015' WHERE alembic_version.version_num = '0014';
-- 0016
CREATE TABLE shares ( id VARCHAR(36) NOT NULL, tenant VARCHAR(64) NOT NULL, answer_id VARCHAR(36) NOT NULL, made_by VARCHAR(36) NOT NULL, made_at DATETIME NOT NULL, CONSTRAINT pk_shares PRIMARY KEY (id), CONSTRAINT uq_shares_tenant UNIQUE (tenant, answer_id) );
UPDATE alembic_version SET version_num='0016' WHERE alembic_version.version_num = '0015';
