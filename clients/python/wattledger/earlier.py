"""Client of the earlier API version."""

from ._client import AsyncClient, Client
from .generated.earlier import types
from .generated.earlier.operations import API, AsyncOperations, Operations, WebhookEvent

__all__ = ["AsyncWattledger", "Wattledger", "WebhookEvent", "types"]


class Wattledger(Client, Operations):
    """Client of the earlier API version."""

    _api = API


class AsyncWattledger(AsyncClient, AsyncOperations):
    """Client of the earlier API version for programs with `async`."""

    _api = API
