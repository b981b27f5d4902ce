"""One frozen Settings, read from the environment (prefix CITEWELL_) or given by the caller."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from citewell.types import ParseLimits, Role
from citewell.work import WorkLimits


class CdsClient(BaseModel):
    """A record system that calls CDS Hooks: where its public keys are, and the user as whom it acts."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    keys: str
    """A file with a JSON Web Key Set, or the https address of one."""
    user: str
    """Email of the user as whom it acts."""

    @field_validator("keys")
    @classmethod
    def _safe(cls, keys: str) -> str:
        if "://" in keys and not keys.startswith(("https://", "http://127.0.0.1", "http://localhost")):
            raise ValueError("give a file, or an address that begins with https://")
        return keys

    @property
    def is_remote(self) -> bool:
        return "://" in self.keys

    @property
    def path(self) -> Path:
        return Path(self.keys)


class SmartServer(BaseModel):
    """A record system (EHR) that may open patients here by SMART App Launch."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    client_id: str = Field(min_length=1, max_length=255)
    """How Citewell is registered there, as a public client."""
    label: str = Field(default="", max_length=80)
    """Its name on the page."""
    sign_in: str | None = None
    """Address of its sign-in server, where that is on another host."""

    @field_validator("sign_in")
    @classmethod
    def _safe(cls, address: str | None) -> str | None:
        return None if address is None else safe_address(address)


def safe_address(address: str) -> str:
    """The address of a server that patients' data may come from: encrypted, or on this machine."""
    parts = urlsplit(address)
    is_local = parts.scheme == "http" and parts.hostname in ("127.0.0.1", "localhost", "::1")
    if not parts.hostname or not (parts.scheme == "https" or is_local):
        raise ValueError("give an address that begins with https://")
    if parts.username is not None or parts.query or parts.fragment:
        raise ValueError("give an address without a user, a query or a fragment")
    return address.rstrip("/")


class Settings(BaseSettings):
    """Everything that can be set; each has a default that keeps all of it on this machine."""

    model_config = SettingsConfigDict(env_prefix="CITEWELL_", frozen=True, extra="ignore")

    home: Path = Field(default=Path.home() / ".citewell", description="Folder that holds the library.")
    database_url: SecretStr | None = Field(
        default=None,
        description="PostgreSQL database to use instead of a file in the home folder, as "
        "`postgresql://user:password@host:5432/name`.",
    )
    library_key_file: Path | None = Field(
        default=None,
        description="File that holds the key of an encrypted library; keep it apart from the library and its backups. "
        "A new library is then encrypted from the start, an existing one by `citewell encrypt`.",
    )
    index_memory_mb: int = Field(
        default=2_048,
        ge=0,
        description="PostgreSQL only: memory in MiB for the vectors of recently searched tenants. The database "
        "compares the vectors of the others.",
    )
    qdrant_url: str | None = Field(
        default=None,
        description="Qdrant server that holds a search copy of vectors and words, as `https://host:6333`; "
        "`local:/folder` for a trial.",
    )
    qdrant_key: SecretStr | None = Field(default=None, description="Key for the Qdrant server.")
    broker_url: SecretStr | None = Field(
        default=None,
        description="Redis that coordinates workers on several computers, as `redis://host:6379/0`. If unset, the "
        "process that receives documents also processes them.",
    )
    worker_processes: int | None = Field(
        default=None, ge=1, le=256, description="Processes for one `citewell worker`. If unset, one per core."
    )
    blobs: str | None = Field(
        default=None,
        description="External storage for original files: a folder, or `s3://bucket/prefix`. If unset, they are kept "
        "in the library.",
    )
    blobs_url: str | None = Field(default=None, description="Address of S3-compatible storage other than Amazon's.")
    blobs_key: SecretStr | None = Field(default=None, description="Access key for that storage.")
    blobs_secret: SecretStr | None = Field(default=None, description="Secret for that access key.")
    tenant: str | None = Field(
        default=None,
        min_length=1,
        max_length=64,
        description="Tenant used by the command line and the printed link. If unset, the only tenant in the library, "
        "or `local` in a new one. Required if several tenants share a library.",
    )

    embedder: Literal["minilm", "openai", "ollama"] = Field(
        default="minilm", description="Embedding model: the built-in one, an OpenAI-compatible server, or Ollama."
    )
    embedder_backend: Literal["auto", "openvino", "onnxruntime"] = Field(
        default="auto", description="Runtime for the built-in model."
    )
    embedder_threads: int | None = Field(
        default=None, ge=1, le=1_024, description="Threads for the built-in model. If unset, one per core."
    )
    embedder_model: str | None = Field(default=None, description="Model name on the embedding server.")
    embedder_url: str | None = Field(default=None, description="Address of the embedding server.")
    embedder_key: SecretStr | None = Field(default=None, description="Key for the embedding server.")

    model: str = Field(
        default="extractive",
        description="What writes the answers: `extractive` (quotes word for word, no model), or `ollama:NAME`, "
        "`openai:NAME`, `anthropic:NAME` or `google:NAME`.",
    )
    model_url: str | None = Field(default=None, description="Address of the model server.")
    model_key: SecretStr | None = Field(default=None, description="Key for the model server.")
    model_timeout_s: float | None = Field(default=None, gt=0, description="Time limit for one model answer.")
    allowed_models: tuple[str, ...] = Field(
        default=(), description='Additional models to allow, as a JSON list of "name=window/reply".'
    )
    pair_reader: bool = Field(
        default=True,
        description="Use the small built-in model that compares each sentence with its source. It counts towards "
        "support but never lifts a veto. If off, only words and similarity are compared.",
    )
    answer_reader: bool = Field(
        default=True,
        description="Use the small trained model that reads the question with each statement, chooses what answers "
        "it and gives the confidence. If off, words and similarity alone choose, and the answer says so.",
    )
    entailment: Path | None = Field(
        default=None,
        description="Folder of a local entailment model to consult last for every checked sentence: `model.onnx`, "
        "`tokenizer.json` and `config.json`. None by default.",
    )
    admin_email: str | None = Field(
        default=None,
        min_length=3,
        max_length=255,
        description="Email address of the user who receives questions that have no owner. Needed if other people can "
        "reach the server and it has no administrator account. If several organisations use the server, it counts for "
        "the one that runs it.",
    )
    confidence_threshold: float = Field(
        default=0.6,
        ge=0,
        le=1,
        description="Questions with a score (`confidence.overall`) below this are not answered.",
    )
    context_chunks: int = Field(default=5, ge=1, le=50, description="Maximum number of passages an answer may draw on.")
    max_context_tokens: int = Field(default=3_000, ge=200, description="Maximum tokens of evidence in a prompt.")
    max_history_tokens: int = Field(default=1_000, ge=0, description="Maximum tokens of conversation in a prompt.")

    literature: tuple[Literal["pubmed", "europepmc", "zotero"], ...] = Field(
        default=(),
        description="Where articles may be fetched from, as a JSON list of `pubmed`, `europepmc` and `zotero`; the "
        "first is asked first. None by default: nothing is contacted.",
    )
    literature_hours: float = Field(
        default=24, gt=0, description="Hours between two runs of a saved query, and between two looks for retractions."
    )
    pubmed_url: str = Field(
        default="https://eutils.ncbi.nlm.nih.gov/entrez/eutils", description="Address of PubMed's E-utilities."
    )
    pubmed_ids_url: str = Field(
        default="https://pmc.ncbi.nlm.nih.gov/tools/idconv/api/v1/articles",
        description="Address of the service that converts PMCIDs for PubMed.",
    )
    pubmed_key: SecretStr | None = Field(
        default=None, description="Key for PubMed: 10 requests a second instead of 3. Optional."
    )
    europepmc_url: str = Field(
        default="https://www.ebi.ac.uk/europepmc/webservices/rest", description="Address of Europe PMC."
    )

    zotero_url: str = Field(default="https://api.zotero.org", description="Address of Zotero's web API.")
    zotero_key: SecretStr | None = Field(default=None, description="Key for a Zotero library that is not public.")

    country: str = Field(
        default="GB",
        pattern=r"^[A-Za-z]{2}$",
        description="Country whose emergency numbers are shown, as a two-letter code (ISO 3166). 112 is shown for "
        "unknown countries.",
    )
    backup_folder: Path | None = Field(
        default=None,
        description="Folder for scheduled backups, on another disk if possible. `serve` makes them; `citewell backup` "
        "makes one now. None by default.",
    )
    backup_hours: float = Field(default=24, gt=0, description="Hours between scheduled backups.")
    backup_keep: int = Field(default=14, ge=1, description="Number of scheduled backups to keep.")
    watch_seconds: float = Field(
        default=60,
        ge=0,
        description="Seconds between two looks at the folders that `citewell watch` put on the list; 0: `serve` does "
        "not look at them.",
    )
    watch_settle_s: float = Field(
        default=2, ge=0, description="Seconds for which a file in a watched folder must not change before it is read."
    )
    watch_logins: dict[str, SecretStr] = Field(
        default={},
        description='Logins for watched S3 and WebDAV addresses, as JSON: {"https://files.example/dav": '
        '"user:password", "s3://bucket": "key:secret"}. Each is sent only to addresses that begin so.',
    )
    watch_s3_url: str | None = Field(
        default=None, description="Address of S3-compatible storage other than Amazon's, for watched folders."
    )
    conversation_days: int | None = Field(
        default=None,
        ge=1,
        description="Days without a message after which a conversation is deleted, unless `citewell holds` keeps it. "
        "If unset, conversations are kept. The audit log keeps its answers.",
    )
    chat_days: int = Field(default=30, ge=1, description="Days without a message after which a chat is deleted.")

    lock_minutes: int = Field(default=15, ge=1, le=24 * 60, description="Idle minutes after which a vault is locked.")

    max_file_mb: int = Field(default=100, ge=1, description="Maximum file size, in MiB.")
    max_pages: int = Field(default=1_500, ge=1, description="Maximum pages in one PDF.")
    max_characters: int = Field(default=20_000_000, ge=1, description="Maximum characters in one document.")

    host: str = Field(default="127.0.0.1", description="Address that `serve` listens on.")
    port: int = Field(default=8477, ge=0, le=65_535, description="Port that `serve` listens on; 0 picks a free one.")
    token: SecretStr | None = Field(
        default=None, description="Token for the web pages. If unset, one is created and kept."
    )
    hosts: tuple[str, ...] = Field(
        default=(), description="Host names under which a proxy publishes `serve`, as a JSON list."
    )
    proxies: tuple[str, ...] = Field(
        default=(),
        description="Addresses of the proxies in front of `serve`, as a JSON list. From these, the last address in "
        "`X-Forwarded-For` that is not a proxy's is taken for the machine that signs in.",
    )
    is_https: bool = Field(default=False, description="Reached over TLS only: cookies are marked Secure.")
    oidc_issuer: str | None = Field(
        default=None, description="Address of an OpenID Connect provider for single sign-on, alongside passwords."
    )
    oidc_client_id: str = Field(default="citewell", description="Client ID of this server at the provider.")
    oidc_client_secret: SecretStr | None = Field(default=None, description="Client secret for that ID.")
    oidc_label: str = Field(default="your organisation", description="Name of the provider on the sign-in page.")
    oidc_role_claim: str = Field(
        default="roles", description="Claim that sets a user's role; use dots for nested claims."
    )
    oidc_roles: dict[str, Role] = Field(
        default={},
        description='Role for each value of that claim, as JSON: {"nurses": "member", "library": "editor"}. Anyone '
        "with none of these values is refused.",
    )
    oidc_tags_claim: str | None = Field(
        default=None, description="Claim that lists a user's tags. If unset, tags are set on the Admin page."
    )
    oidc_back: str | None = Field(
        default=None,
        description="Address under which browsers reach this server, as `https://citewell.example`. Required behind a "
        "proxy.",
    )
    cds_clients: dict[str, CdsClient] = Field(
        default={},
        description='Record systems that may call CDS Hooks with signed tokens, as JSON: {"https://ehr.example": '
        '{"keys": "/etc/citewell/ehr.jwks", "user": "ehr@clinic.example"}}. `keys` is a file or an https address.',
    )
    smart_servers: dict[str, SmartServer] = Field(
        default={},
        description="Record systems that may open patients here by SMART App Launch, as JSON: "
        '{"https://ehr.example/fhir": {"client_id": "citewell", "label": "Ward system"}}. Add `sign_in` where its '
        "sign-in server is on another host. No other address is contacted.",
    )
    smart_timeout_s: float = Field(
        default=30.0, gt=0, description="Time limit for reading one patient from a record system, in seconds."
    )
    requests_per_minute: int = Field(default=3_000, ge=1, description="Maximum requests per user or key.")
    asks_per_minute: int = Field(
        default=600,
        ge=1,
        description="Maximum questions per user or key. Ten checked sentences count as one question.",
    )
    trail_to: tuple[str, ...] = Field(
        default=(),
        description="Where the trail of access and the ends of the logs are also told, as a JSON list of "
        "`file:/folder/name` (lines of JSON), `udp://host:port` or `tcp://host:port` (syslog, RFC 5424).",
    )
    key_days: int = Field(
        default=365, ge=1, le=3_650, description="Longest lifetime of an API key, in days; also the usual one."
    )
    second_factor_roles: tuple[Role, ...] = Field(
        default=(),
        description='Roles that must use a second factor, as a JSON list such as ["editor", "admin"]. Someone with one '
        "of these roles who signs in with a password alone can do nothing but set one up.",
    )
    oidc_second_factor: tuple[str, ...] = Field(
        default=(),
        description="Values of the provider's `amr` or `acr` claim that prove a second factor, as a JSON list such as "
        '["mfa"]. If set, a sign-in without one of them is refused.',
    )
    sign_ins_per_quarter: int = Field(
        default=10, ge=1, description="Maximum failed sign-ins per address in a quarter of an hour."
    )
    max_request_kb: int = Field(
        default=512, ge=16, description="Maximum size of a request other than an upload or a patient's record, in KiB."
    )
    max_streams: int = Field(
        default=16, ge=1, description="Maximum answers written at the same time. Others wait their turn."
    )

    max_processor_s: float = Field(
        default=2.0,
        gt=0,
        description="Maximum processor time of one question, search or page, in seconds. What takes more is cut or "
        "refused, and says so; what brings a file or a whole record may take longer.",
    )
    max_long_processor_s: float = Field(
        default=10.0,
        gt=0,
        description="The same for a check of a text, an assessment, a consult, a guideline or a patient's record.",
    )
    max_active: int | None = Field(
        default=None,
        ge=1,
        le=256,
        description="Maximum requests worked on at the same time; others wait, and people who have used little come "
        "first. If unset, one per core and at least four, or `CITEWELL_MAX_STREAMS` where a language model writes; its "
        "answers wait apart.",
    )
    max_waiting: int = Field(default=256, ge=1, description="Maximum waiting requests of one person. More are refused.")

    max_connections: int | None = Field(
        default=None,
        ge=16,
        le=65_536,
        description="Maximum open connections; the one that was idle longest is closed for another. If unset, three "
        "quarters of the files that the process may open, at most 8,192.",
    )
    max_header_s: float = Field(
        default=10.0, gt=0, description="Time limit for the head of a request to arrive, in seconds."
    )
    log_file: Path | None = Field(
        default=None,
        description="File for the log of `serve`; older lines move to numbered files beside it. If unset, warnings "
        "go to standard error.",
    )
    log_mb: int = Field(default=10, ge=1, description="Maximum size of that file, in MiB; five older ones are kept.")

    @field_validator("smart_servers")
    @classmethod
    def _safe_servers(cls, servers: dict[str, SmartServer]) -> dict[str, SmartServer]:
        return {safe_address(address): server for address, server in servers.items()}

    @property
    def work(self) -> WorkLimits:
        """What requests may ask of the processor."""
        usual = max(4, os.cpu_count() or 1) if self.model == "extractive" else self.max_streams
        return WorkLimits(
            processor_s=self.max_processor_s,
            long_processor_s=self.max_long_processor_s,
            at_once=self.max_active or usual,
            waiting=self.max_waiting,
        )

    @property
    def limits(self) -> ParseLimits:
        """What one file may ask of the machine."""
        return ParseLimits(
            max_bytes=self.max_file_mb * 1024 * 1024,
            max_pages=self.max_pages,
            max_characters=self.max_characters,
            max_unpacked_bytes=4 * self.max_file_mb * 1024 * 1024,
        )
