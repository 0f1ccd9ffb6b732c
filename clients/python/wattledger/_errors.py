"""Errors of the client."""

from typing import Any


class WattledgerError(Exception):
    """Base of all errors of the client."""


class ApiError(WattledgerError):
    """Answer of the service that is not a success."""

    def __init__(self, status: int, body: dict[str, Any], request_id: str | None, retry_after: float | None):
        super().__init__(body.get("message") or f"The service answered with status {status}.")
        self.status = status
        self.code: str = body.get("code", "internal_error")
        self.type: str = body.get("type", "api_error")
        #: Path of the wrong member of the request, or None.
        self.field: str | None = body.get("field")
        #: Id of the request, for questions to the operator.
        self.request_id: str | None = body.get("request_id") or request_id
        #: Time in s after which the service can accept the request, or None.
        self.retry_after = retry_after


class ConnectionError(WattledgerError):
    """The service did not answer: the network failed, or the time limit passed. The outcome is unknown."""


class WebhookVerificationError(WattledgerError):
    """A webhook delivery is not from the service, or is too old, or the secret is incomplete."""
