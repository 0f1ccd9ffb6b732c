"""Client of the Wattledger API: exact decimals, retries, lists, uploads and webhooks."""

from collections.abc import Mapping

from ._client import AsyncClient, Client
from ._errors import ApiError, ConnectionError, WattledgerError, WebhookVerificationError
from ._exact_json import decimal_text, parse_exact, write_exact
from ._webhooks import verify_delivery
from .generated.current import types
from .generated.current.operations import API, AsyncOperations, Operations, WebhookEvent

__version__ = "1.0.0"

__all__ = [
    "ApiError",
    "AsyncWattledger",
    "ConnectionError",
    "Wattledger",
    "WattledgerError",
    "WebhookEvent",
    "WebhookVerificationError",
    "decimal_text",
    "parse_exact",
    "types",
    "verify_webhook",
    "write_exact",
]


class Wattledger(Client, Operations):
    """Client of the current API version."""

    _api = API


class AsyncWattledger(AsyncClient, AsyncOperations):
    """Client of the current API version for programs with `async`."""

    _api = API


def verify_webhook(
    secret: str, headers: Mapping[str, str], body: bytes | str, *, now: float | None = None
) -> WebhookEvent:
    """Check a webhook delivery and return its event. `now` is the present time in s, by default that of the machine."""
    return verify_delivery(secret, headers, body, API.integers, now)
