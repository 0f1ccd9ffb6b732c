"""One request with its retries, as a generator without I/O. The clients perform its effects."""

import base64
import random
import time
import uuid
from collections.abc import Generator, Mapping
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote

import httpx

from ._errors import ApiError, ConnectionError, WattledgerError
from ._exact_json import decimal_text, parse_exact, write_exact
from ._operation import Api, Operation
from ._retry import RetryOptions, retry_after_seconds, retry_delay
from ._settings import read_api_key, read_base_url

#: Share of its life after which a token is renewed.
USABLE_SHARE = 0.9


@dataclass(frozen=True)
class Send:
    """Effect: send a request. The result is an answer or an `httpx.TransportError`."""

    method: str
    url: str
    headers: Mapping[str, str]
    params: Mapping[str, str]
    content: str | None
    is_stream: bool = False


@dataclass(frozen=True)
class Wait:
    """Effect: wait for a time in s."""

    seconds: float


Result = httpx.Response | httpx.TransportError
Exchange = Generator[Send | Wait, Result, httpx.Response]


def _query_text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        raise TypeError(f"{value} is a binary fraction. Write it as Decimal('{value}').")
    return decimal_text(value) if hasattr(value, "as_tuple") else str(value)


def _error_body(answer: httpx.Response) -> dict[str, Any]:
    """Read the error object of an answer. A proxy before the service can answer with other text."""
    try:
        body = parse_exact(answer.content, frozenset())
    except ValueError:
        return {}
    return body if isinstance(body, dict) else {}


def read_json(answer: httpx.Response, integers: frozenset[str]) -> Any:
    """Parse an answer. Another server or a proxy can answer with success and other text."""
    try:
        return parse_exact(answer.content, integers)
    except ValueError as error:
        method, url = answer.request.method, answer.request.url
        address = f"{url.scheme}://{url.netloc.decode()}{url.path}"
        raise WattledgerError(f"{address} answered {method} with no JSON. Check the base URL.") from error


def _failure_of(answer: httpx.Response) -> ApiError:
    body = _error_body(answer)
    retry_after = retry_after_seconds(answer.headers.get("retry-after"), time.time())
    return ApiError(answer.status_code, body, answer.headers.get("x-request-id"), retry_after)


class Session:
    """Requests of one key: addresses, headers, the token and its renewal."""

    def __init__(self, api: Api, base_url: str, api_key: str, account_id: str | None, options: RetryOptions):
        self.api = api
        self._base_url = read_base_url(base_url)
        self._api_key = read_api_key(api_key)
        self._account_id = account_id
        self._options = options
        self._token: str | None = None
        self._token_until = 0.0

    def operation(self, name: str) -> Operation:
        """Return an operation by its name."""
        found = self.api.operations.get(name)
        if found is None:
            raise WattledgerError(f"The API version {self.api.version} has no operation {name}.")
        return found

    def perform(
        self,
        name: str,
        *,
        path: Mapping[str, Any] | None = None,
        query: Mapping[str, Any] | None = None,
        body: Any = None,
        idempotency_key: str | None = None,
        accept: str = "application/json",
        content_type: str = "application/json",
        is_stream: bool = False,
    ) -> Exchange:
        """Send the request of an operation until it succeeds, is refused, or has no attempt left."""
        operation = self.operation(name)
        target = operation.path
        for member, value in (path or {}).items():
            if value is None or value == "":
                raise WattledgerError(f"The path {operation.path} needs {member}.")
            target = target.replace("{" + member + "}", quote(str(value), safe=""))
        headers = {"Accept": accept, "Api-Version": self.api.version}
        if body is not None:
            headers["Content-Type"] = content_type
        if operation.takes_key:
            headers["Idempotency-Key"] = idempotency_key or str(uuid.uuid4())
        params = {member: _query_text(value) for member, value in (query or {}).items() if value is not None}
        content = body if body is None or isinstance(body, str) else write_exact(body)
        send = Send(operation.method, self._base_url + target, headers, params, content, is_stream)
        return (yield from self._send_with_retries(operation, send))

    def _send_with_retries(self, operation: Operation, send: Send) -> Exchange:
        attempt = 1
        has_renewed = False
        while True:
            authorization = yield from self._authorization(operation.access)
            headers = {**send.headers, **({"Authorization": authorization} if authorization else {})}
            result = yield replace(send, headers=headers)
            if isinstance(result, httpx.Response) and result.is_success:
                return result
            error: ApiError | ConnectionError
            if isinstance(result, httpx.Response):
                error = _failure_of(result)
                if error.code == "token_expired" and self._account_id is not None and not has_renewed:
                    has_renewed = True
                    self._token = None
                    continue
                status, code, retry_after = error.status, error.code, error.retry_after
            else:
                host = httpx.URL(send.url).host
                if isinstance(result, (httpx.UnsupportedProtocol, httpx.LocalProtocolError)):
                    raise WattledgerError(f"The request {send.method} to {host} is wrong. It was not sent.") from result
                error = ConnectionError(f"{host} did not answer {send.method}. The outcome is unknown.")
                error.__cause__ = result
                status, code, retry_after = None, None, None
            delay = retry_delay(
                status,
                code,
                retry_after,
                attempt=attempt,
                is_repeatable=operation.is_repeatable(),
                options=self._options,
                chance=random.random(),
            )
            if delay is None:
                raise error
            yield Wait(delay)
            attempt += 1

    def _basic(self) -> str:
        if self._account_id is None:
            raise WattledgerError("The login needs the argument account_id.")
        return "Basic " + base64.b64encode(f"{self._account_id}:{self._api_key}".encode()).decode()

    def _authorization(self, access: str) -> Generator[Send | Wait, Result, str | None]:
        if access == "none":
            return None
        if access == "basic":
            return self._basic()
        if self._account_id is None:
            return f"Bearer {self._api_key}"
        if self._token is None or time.monotonic() >= self._token_until:
            answer = yield from self.perform("account_login_post")
            login = read_json(answer, self.api.integers)
            self._token_until = time.monotonic() + login["expires_in"] * USABLE_SHARE
            self._token = f"Bearer {login['bearer_token']}"
        return self._token
