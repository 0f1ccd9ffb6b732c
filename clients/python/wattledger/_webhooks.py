"""Verification of webhook deliveries."""

import base64
import hashlib
import hmac
import time
from collections.abc import Mapping
from typing import Any

from ._errors import WebhookVerificationError
from ._exact_json import parse_exact

TOLERANCE_SECONDS = 300
MIN_KEY_BYTES = 16


def _key_of(secret: Any) -> bytes:
    """Return the key of a secret. A key that is empty or short lets everybody sign."""
    text = secret.strip() if isinstance(secret, str) else ""
    try:
        key = base64.b64decode(text.removeprefix("whsec_"), validate=True)
    except ValueError:
        key = b""
    if len(key) < MIN_KEY_BYTES:
        raise WebhookVerificationError("The secret is missing or incomplete. Set the whsec_… secret of the endpoint.")
    return key


def verify_delivery(
    secret: str,
    headers: Mapping[str, str],
    body: bytes | str,
    integers: frozenset[str],
    now: float | None,
) -> Any:
    """Check signature and time of a delivery, and return its event with exact decimals.

    Raises WebhookVerificationError. Source: docs/webhooks.md #receive-a-delivery.
    """
    key = _key_of(secret)
    found = {name.lower(): value for name, value in headers.items()}
    for name in ("webhook-id", "webhook-timestamp", "webhook-signature"):
        if name not in found:
            raise WebhookVerificationError(f"The header {name} is missing.")
    timestamp = found["webhook-timestamp"]
    at = time.time() if now is None else now
    is_number = timestamp.isascii() and timestamp.isdigit() and len(timestamp) <= 12
    if not is_number or abs(at - int(timestamp)) > TOLERANCE_SECONDS:
        raise WebhookVerificationError("The time of the delivery is more than five minutes away.")
    content = body.encode() if isinstance(body, str) else body
    signed = f"{found['webhook-id']}.{timestamp}.".encode() + content
    expected = "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    signatures = found["webhook-signature"].split(" ")
    if not any(hmac.compare_digest(text.encode(), expected.encode()) for text in signatures):
        raise WebhookVerificationError("The signature of the delivery is wrong. Check the secret and use the raw body.")
    return parse_exact(content, integers)
