"""A file from the address that GitHub redirects to: without the token, bounded in size and time."""

from __future__ import annotations

import ssl
import time
from urllib.parse import urlsplit

from repeat_eval.github.errors import GitHubError

SECONDS = 60.0
"""How long a download may take as a whole."""


def download(address: str, *, limit: int, ca_bundle: str | None, timeout: float) -> bytes:
    """The content behind an address. The address is itself a secret of a minute: it is in no error.

    Args:
        address: a web address that needs no authorisation.
        limit: bytes at most. ca_bundle: certificates to trust instead of the usual ones; None for those.
        timeout: seconds between two pieces.

    Raises:
        GitHubError: status 413 for more than `limit`, the storage's own status, None when there was no answer.
    """
    import httpx

    if urlsplit(address).scheme not in {"https", "http"}:
        raise GitHubError(None, "the download's address is no web address")
    trusted: ssl.SSLContext | bool = ssl.create_default_context(cafile=ca_bundle) if ca_bundle else True
    end = time.monotonic() + SECONDS
    pieces = bytearray()
    try:
        with httpx.stream("GET", address, verify=trusted, timeout=timeout, follow_redirects=False) as answer:
            if answer.status_code != 200:
                raise GitHubError(answer.status_code, "the download was refused")
            for piece in answer.iter_bytes():
                pieces += piece
                if len(pieces) > limit:
                    raise GitHubError(413, f"the download has more than {limit:,} bytes")
                if time.monotonic() > end:
                    raise GitHubError(None, "the download takes too long")
    except (httpx.HTTPError, httpx.InvalidURL):
        raise GitHubError(None, "the download failed") from None
    return bytes(pieces)
