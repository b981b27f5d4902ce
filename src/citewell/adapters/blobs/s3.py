"""Original files in a store that speaks S3."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

from citewell.errors import BlobsUnavailable, DiskFull, InputError, MissingExtra, NotFound

FULL = "The storage for original files ({place}) is full. Nothing was changed. Free some space there and try again."
SILENT = (
    "The storage for original files ({place}) is not responding. Nothing was changed. Try again, or check "
    "CITEWELL_BLOBS_URL."
)
REFUSED = (
    "The storage for original files ({place}) refused the request ({code}). Nothing was changed. Check the bucket "
    "in CITEWELL_BLOBS, CITEWELL_BLOBS_KEY and CITEWELL_BLOBS_SECRET."
)
MISSING = "The original file is missing from storage ({place}). Restore it from a backup, or add the document again."
NO_ROOM = frozenset({"QuotaExceeded", "InsufficientStorage", "XMinioStorageFull", "InsufficientCapacity", "507"})
"""What stores say that are full; the standard has no word for it."""
NOT_THERE = frozenset({"NoSuchKey", "404", "NotFound"})
CONNECT_S = 5
READ_S = 60


def s3_client(*, url: str | None, key: str | None, secret: str | None) -> Any:
    """A client of Amazon's store, or of another that speaks its protocol."""
    try:
        import boto3
        from botocore.config import Config
    except ImportError as error:
        raise MissingExtra(
            "S3-compatible storage needs a package that is not installed. Install it with: pip install 'citewell[s3]'"
        ) from error
    config = Config(connect_timeout=CONNECT_S, read_timeout=READ_S, retries={"max_attempts": 3, "mode": "standard"})
    return boto3.client(
        "s3",
        endpoint_url=url,
        aws_access_key_id=key,
        aws_secret_access_key=secret,
        region_name=None if url is None else "us-east-1",
        config=config,
    )


class S3Blobs:
    """One object a key, in one bucket."""

    def __init__(self, address: str, *, url: str | None, key: str | None, secret: str | None) -> None:
        parts = urlsplit(address)
        if parts.scheme != "s3" or not parts.netloc:
            raise InputError(
                "CITEWELL_BLOBS is not the address of a bucket. Write it as s3://bucket or s3://bucket/prefix."
            )
        self._bucket, self._prefix = parts.netloc, parts.path.strip("/")
        self.name = "s3"
        self._place = f"s3://{self._bucket}"
        self._client = s3_client(url=url, key=key, secret=secret)

    def put(self, key: str, data: bytes) -> None:
        """Keep bytes under a key; the store answers only when it has all of them."""
        with self._plain_errors():
            self._client.put_object(Bucket=self._bucket, Key=self._full(key), Body=data)

    def get(self, key: str) -> bytes:
        """The bytes of a key."""
        with self._plain_errors():
            body: bytes = self._client.get_object(Bucket=self._bucket, Key=self._full(key))["Body"].read()
            return body

    def remove(self, key: str) -> None:
        """Remove a key for good, as far as the bucket keeps no versions."""
        with self._plain_errors():
            self._client.delete_object(Bucket=self._bucket, Key=self._full(key))

    def _full(self, key: str) -> str:
        return f"{self._prefix}/{key}" if self._prefix else key

    @contextmanager
    def _plain_errors(self) -> Iterator[None]:
        from botocore.exceptions import BotoCoreError, ClientError

        try:
            yield
        except ClientError as error:
            told = error.response
            code = str(told.get("Error", {}).get("Code", "unknown"))
            status = str(told.get("ResponseMetadata", {}).get("HTTPStatusCode", ""))
            if {code, status} & NO_ROOM:
                raise DiskFull(FULL.format(place=self._place)).at(self._place) from error
            if code in NOT_THERE:
                raise NotFound(MISSING.format(place=self._place)).at(self._place) from error
            raise BlobsUnavailable(REFUSED.format(place=self._place, code=code)).at(self._place) from error
        except (BotoCoreError, OSError) as error:
            raise BlobsUnavailable(SILENT.format(place=self._place)).at(self._place) from error
