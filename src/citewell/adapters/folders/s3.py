"""The objects of a bucket under a prefix."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

from citewell.adapters.blobs.s3 import NOT_THERE, s3_client
from citewell.adapters.folders.names import why_skipped
from citewell.errors import InputError, Unavailable
from citewell.types.watched import FolderListing, SeenFile

BAD_ADDRESS = "This is not the address of a bucket. Write it as s3://bucket or s3://bucket/prefix."
REFUSED = (
    "{place} refused the request ({code}). Nothing was changed. Check the bucket, CITEWELL_WATCH_LOGINS and "
    "CITEWELL_WATCH_S3_URL."
)
NO_LOGIN = "There is no login for {place}. Nothing was changed. Add one to CITEWELL_WATCH_LOGINS."
SILENT = "{place} is not responding. Nothing was changed. Try again, or check CITEWELL_WATCH_S3_URL."
CHANGED = NOT_THERE | {"412", "PreconditionFailed"}


class S3Folder:
    """Objects are whole as soon as they are there, and are read under the tag that was listed."""

    is_settled = True

    def __init__(self, address: str, *, url: str | None, key: str | None, secret: str | None) -> None:
        parts = urlsplit(address)
        if not parts.netloc:
            raise InputError(BAD_ADDRESS)
        prefix = parts.path.strip("/")
        self._bucket, self._prefix, self._place = parts.netloc, f"{prefix}/" if prefix else "", address
        self._client = s3_client(url=url, key=key, secret=secret)

    def listing(self) -> FolderListing:
        """All objects under the prefix."""
        files, skipped = [], dict[str, str]()
        with self._plain_errors():
            for page in self._client.get_paginator("list_objects_v2").paginate(
                Bucket=self._bucket, Prefix=self._prefix
            ):
                for found in page.get("Contents", ()):
                    path = found["Key"].removeprefix(self._prefix)
                    if not path or path.endswith("/"):
                        continue  # what stands for a folder
                    if (why := why_skipped(path)) is not None:
                        skipped[path] = why
                    else:
                        files.append(SeenFile(path, found["ETag"], found["Size"]))
        return FolderListing(tuple(files), skipped)

    def read(self, file: SeenFile) -> bytes | None:
        """The bytes of an object, if it is still the one that was listed."""
        with self._plain_errors():
            from botocore.exceptions import ClientError

            try:
                found = self._client.get_object(Bucket=self._bucket, Key=self._prefix + file.path, IfMatch=file.mark)
                data: bytes = found["Body"].read()
            except ClientError as error:
                if _code(error.response) & CHANGED:
                    return None
                raise
            return data if found["ETag"] == file.mark else None

    def close(self) -> None:
        """Let go of connections."""
        self._client.close()

    @contextmanager
    def _plain_errors(self) -> Iterator[None]:
        from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError

        try:
            yield
        except NoCredentialsError as error:
            raise Unavailable(NO_LOGIN.format(place=self._place)) from error
        except ClientError as error:
            code = error.response.get("Error", {}).get("Code", "unknown")
            raise Unavailable(REFUSED.format(place=self._place, code=code)) from error
        except (BotoCoreError, OSError) as error:
            raise Unavailable(SILENT.format(place=self._place)) from error


def _code(response: object) -> set[str]:
    """What the store calls an error: its word for it, and the status."""
    told = response if isinstance(response, dict) else {}
    status = told.get("ResponseMetadata", {}).get("HTTPStatusCode", "")
    return {str(told.get("Error", {}).get("Code", "")), str(status)}
