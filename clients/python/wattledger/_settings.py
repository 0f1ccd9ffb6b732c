"""Check of the settings of a client."""

from typing import Any

import httpx

from ._errors import WattledgerError


def read_base_url(given: Any) -> str:
    """Check the address of the service, and return it without white space and slashes at its ends."""
    text = given.strip() if isinstance(given, str) else ""
    has_scheme = text.lower().startswith(("http://", "https://")) and " " not in text
    try:
        has_host = has_scheme and httpx.URL(text).host != ""
    except httpx.InvalidURL:
        has_host = False
    if not has_host:
        # The message does not repeat the address: it can be a key in the wrong place.
        raise WattledgerError(
            "The base URL is wrong. Write http:// or https:// and a host: https://energy.example.com."
        )
    return text.rstrip("/")


def read_api_key(given: Any) -> str:
    """Check an API key, and return it without white space at its ends. No message contains the key."""
    text = given.strip() if isinstance(given, str) else ""
    if not (text and text.isascii() and text.isprintable()):
        raise WattledgerError(
            "The API key is missing, or has characters that no key has. Set a key sk_live_… or sk_test_…."
        )
    return text
