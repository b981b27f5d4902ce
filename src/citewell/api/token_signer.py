"""The secrets of one server, all derived from its token: sessions, forms, and what a browser carries sealed."""

from __future__ import annotations

import base64
import hashlib
import hmac
import time
import uuid


class TokenSigner:
    """All secrets of one server, derived from its token; every comparison takes the same time."""

    def __init__(self, token: str) -> None:
        if not token:
            raise ValueError("a token is required")
        self._token = token
        self.cookie = f"citewell_{self._derived('cookie')[:8]}"
        """Cookies know no ports: two servers on one machine must not share a name."""

    def _derived(self, purpose: str) -> str:
        return hmac.new(self._token.encode(), f"citewell {purpose}".encode(), hashlib.sha256).hexdigest()

    def is_token(self, given: str | None) -> bool:
        """Whether this is the token that was printed."""
        return is_equal(given, self._token)

    def sealed(self, text: str, *, lasts_s: int) -> str:
        """A text that a browser may carry for a while but cannot change; it can read it."""
        body = base64.urlsafe_b64encode(f"{int(time.time()) + lasts_s} {text}".encode()).decode()
        return f"{body}.{self._derived(f'sealed {body}')}"

    def opened(self, given: str | None) -> str | None:
        """What was sealed, or None where it was changed or its time is over."""
        body, _, mark = (given or "").partition(".")
        if not is_equal(mark, self._derived(f"sealed {body}")):
            return None
        ends_at, _, text = base64.urlsafe_b64decode(body).decode().partition(" ")
        return text if time.time() < int(ends_at) else None

    def own_id(self, given: str) -> str:
        """A UUID by which this server knows again what it named, made of the first half of any UUID."""
        head = uuid.UUID(given).bytes[:8]
        return str(uuid.UUID(bytes=head + bytes.fromhex(self._derived(f"id {head.hex()}")[:16]), version=5))

    def is_own_id(self, given: str) -> bool:
        """Whether this server named something so."""
        try:
            return is_equal(self.own_id(given), str(uuid.UUID(given)))
        except ValueError:
            return False

    def csrf_of(self, session: str) -> str:
        """What forms made for a session carry; of no use to any other session."""
        return self._derived(f"csrf {session}")


def is_equal(given: str | None, expected: str) -> bool:
    """Whether two secrets are the same, in a time that tells nothing."""
    return given is not None and hmac.compare_digest(given.encode(), expected.encode())
