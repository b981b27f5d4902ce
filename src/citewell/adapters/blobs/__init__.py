"""Where original files are kept outside of the library: a folder, or S3."""

from __future__ import annotations

import uuid

from citewell.errors import BlobsUnavailable
from citewell.ports.blobs import Blobs

PROBE = b"probe"


def try_blobs(store: Blobs) -> None:
    """Keep a few bytes, read them back and remove them; whatever goes wrong says what to do."""
    key = f"00/00/probe-{uuid.uuid4().hex}"
    store.put(key, PROBE)
    is_same = store.get(key) == PROBE
    store.remove(key)
    if not is_same:
        raise BlobsUnavailable(
            "The storage for original files returned different bytes from those it was given. Check its disk."
        )
