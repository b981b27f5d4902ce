"""One frozen Settings, read from the environment (prefix CITEWELL_) or given by the caller."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict

from citewell.types import Limits, Role


class Settings(BaseSettings):
    """Everything that can be set; each has a default that keeps all of it on this machine."""

    model_config = SettingsConfigDict(env_prefix="CITEWELL_", frozen=True, extra="ignore")

    home: Path = Field(default=Path.home() / ".citewell", description="Folder that holds the library.")
    database_url: SecretStr | None = Field(
        default=None,
        description="PostgreSQL database that holds the library instead of a file in the home folder, as "
        "`postgresql://user:password@host:5432/name`.",
    )
    index_memory_mb: int = Field(
        default=2_048,
        ge=0,
        description="With PostgreSQL: memory for vectors of the tenants that were searched last, in MiB; the vectors "
        "of others are compared by the database.",
    )
    qdrant_url: str | None = Field(
        default=None,
        description="Qdrant server that holds a copy of vectors and words for searching, as `https://host:6333`; "
        "`local:/folder` for a trial.",
    )
    qdrant_key: SecretStr | None = Field(default=None, description="Key of that server.")
    broker_url: SecretStr | None = Field(
        default=None,
        description="Redis that wakes workers on several machines, as `redis://host:6379/0`; unset: documents are read "
        "in the process that takes them in.",
    )
    worker_processes: int | None = Field(
        default=None, ge=1, le=256, description="Processes of one `citewell worker`; unset: one a core."
    )
    blobs: str | None = Field(
        default=None,
        description="Where original files are kept outside of the library: a folder, or `s3://bucket/prefix`; unset: "
        "in the library.",
    )
    blobs_url: str | None = Field(default=None, description="Address of a store that speaks S3, other than Amazon's.")
    blobs_key: SecretStr | None = Field(default=None, description="Access key of that store.")
    blobs_secret: SecretStr | None = Field(default=None, description="Secret of that access key.")
    tenant: str | None = Field(
        default=None,
        min_length=1,
        max_length=64,
        description="Tenant of the person at the command line and of the printed link; unset: the one that the library "
        "has, `local` in a new one. Where several share a library it must be set.",
    )

    embedder: Literal["minilm", "openai", "ollama"] = Field(
        default="minilm", description="Who embeds: the built-in model, an OpenAI-compatible server, or Ollama."
    )
    embedder_backend: Literal["auto", "openvino", "onnxruntime"] = Field(
        default="auto", description="What runs the built-in model."
    )
    embedder_threads: int | None = Field(
        default=None, ge=1, le=1_024, description="Threads of the built-in model; unset: one a core."
    )
    embedder_model: str | None = Field(default=None, description="Model name at the remote embedder.")
    embedder_url: str | None = Field(default=None, description="Address of the remote embedder.")
    embedder_key: SecretStr | None = Field(default=None, description="Key for the remote embedder.")

    model: str = Field(
        default="extractive",
        description="Who writes: `extractive` (verbatim sentences, no model), or `ollama:NAME`, `openai:NAME`, "
        "`anthropic:NAME`, `google:NAME`.",
    )
    model_url: str | None = Field(default=None, description="Address of the model's server.")
    model_key: SecretStr | None = Field(default=None, description="Key for the model's server.")
    model_timeout_s: float | None = Field(
        default=None, gt=0, description="Longest that a model may take for one answer."
    )
    allowed_models: tuple[str, ...] = Field(
        default=(), description='Models allowed besides the built-in list, as a JSON list of "name=window/reply".'
    )
    pair_reader: bool = Field(
        default=True,
        description="A small model reads a sentence and the words it cites together; its word counts towards support, "
        "and never lifts a veto. Off: words and cosines alone.",
    )
    answer_reader: bool = Field(
        default=True,
        description="A small trained model reads the question and each statement together, chooses what answers, and "
        "says how sure that is. Off: words and cosines alone choose, and the answer says so.",
    )
    entailment: Path | None = Field(
        default=None,
        description="Folder of a local entailment model that is asked last of every sentence that is checked: "
        "`model.onnx`, `tokenizer.json` and `config.json`; none unless named.",
    )
    admin_email: str | None = Field(
        default=None,
        min_length=3,
        max_length=255,
        description="Who gets questions that have no owner in the tenant that runs this server, where it has no "
        "administrator with an account. "
        "`serve` needs it as soon as it serves others than the person at this machine.",
    )
    confidence_threshold: float = Field(default=0.6, ge=0, le=1, description="Below this a question is routed.")
    context_chunks: int = Field(default=5, ge=1, le=50, description="Passages that an answer may rest on.")
    max_context_tokens: int = Field(default=3_000, ge=200, description="Most tokens of evidence in a prompt.")
    max_history_tokens: int = Field(default=1_000, ge=0, description="Most tokens of conversation in a prompt.")

    country: str = Field(
        default="GB",
        pattern=r"^[A-Za-z]{2}$",
        description="Country whose emergency numbers are shown, as a code of two letters (ISO 3166); 112 is shown for "
        "one that is not known.",
    )
    chat_days: int = Field(default=30, ge=1, description="Days without a word after which a chat is deleted.")

    lock_minutes: int = Field(default=15, ge=1, le=24 * 60, description="Idle minutes after which a vault is locked.")

    max_file_mb: int = Field(default=100, ge=1, description="Largest file that is read, in MiB.")
    max_pages: int = Field(default=1_500, ge=1, description="Most pages that one PDF may have.")
    max_characters: int = Field(default=20_000_000, ge=1, description="Most characters that one document may have.")

    host: str = Field(default="127.0.0.1", description="Address that `serve` binds to.")
    port: int = Field(default=8477, ge=0, le=65_535, description="Port that `serve` binds to; 0 takes a free one.")
    token: SecretStr | None = Field(default=None, description="Token of the web page; made anew and kept when unset.")
    hosts: tuple[str, ...] = Field(
        default=(), description="Names under which a proxy makes `serve` known, as a JSON list."
    )
    is_https: bool = Field(default=False, description="Reached over TLS only: cookies are marked Secure.")
    oidc_issuer: str | None = Field(
        default=None, description="Address of an OpenID Connect provider that signs people in beside passwords."
    )
    oidc_client_id: str = Field(default="citewell", description="Name under which the provider knows this server.")
    oidc_client_secret: SecretStr | None = Field(default=None, description="Secret that goes with that name.")
    oidc_label: str = Field(default="your organisation", description="What the sign-in page calls the provider.")
    oidc_role_claim: str = Field(
        default="roles", description="Claim that says what somebody may do; dots lead to inner claims."
    )
    oidc_roles: dict[str, Role] = Field(
        default={},
        description='Role for each value of that claim, as JSON: {"nurses": "member", "library": "editor"}. Whoever '
        "has none of them is not let in.",
    )
    oidc_tags_claim: str | None = Field(
        default=None, description="Claim whose values are a person's tags; unset: tags are set on the Admin page."
    )
    oidc_back: str | None = Field(
        default=None,
        description="Address under which browsers reach this server, as `https://citewell.example`; needed behind a "
        "proxy.",
    )
    requests_per_minute: int = Field(default=3_000, ge=1, description="Requests that one user or key may send.")
    asks_per_minute: int = Field(
        default=600,
        ge=1,
        description="Questions that one user or key may send; ten sentences of a text to check count as one.",
    )
    sign_ins_per_quarter: int = Field(
        default=10, ge=1, description="Failed sign-ins for one address in a quarter of an hour."
    )
    max_request_kb: int = Field(default=512, ge=16, description="Largest request besides uploads, in KiB.")
    max_streams: int = Field(default=16, ge=1, description="Answers written at the same time; others wait their turn.")

    @property
    def limits(self) -> Limits:
        """What one file may ask of the machine."""
        return Limits(
            max_bytes=self.max_file_mb * 1024 * 1024,
            max_pages=self.max_pages,
            max_characters=self.max_characters,
            max_unpacked_bytes=4 * self.max_file_mb * 1024 * 1024,
        )
