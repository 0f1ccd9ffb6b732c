"""Clients with and without `async`: they perform the effects of an exchange."""

import asyncio
import time
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import httpx

from ._errors import WattledgerError
from ._exchange import Exchange, Send, Session, read_json
from ._operation import Api, AsyncCaller, Caller
from ._records import ChunkWriter, cut_records
from ._retry import RetryOptions

POLL_SECONDS = 0.1
NDJSON = "application/x-ndjson"
CSV = "text/csv"


def _is_complete(receipt: Any, deadline: float) -> bool:
    if receipt["status"] == "COMPLETE":
        return True
    if time.monotonic() > deadline:
        raise WattledgerError(f"The batch {receipt['id']} is not complete after the time limit.")
    return False


class Client(Caller):
    """Client that waits for each answer."""

    _api: Api

    def __init__(
        self,
        base_url: str,
        api_key: str,
        *,
        account_id: str | None = None,
        max_attempts: int = 5,
        max_delay: float = 60.0,
        timeout: float = 60.0,
    ):
        """Create a client.

        base_url: address of the service. api_key: key of an account, which decides the mode.
        account_id: with it, the client exchanges the key for a token and renews the token.
        timeout, max_delay: times in s of an answer, and between two attempts.
        """
        self._session = Session(self._api, base_url, api_key, account_id, RetryOptions(max_attempts, max_delay))
        self._http = httpx.Client(timeout=timeout)

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def _send(self, send: Send) -> httpx.Response | httpx.TransportError:
        request = self._http.build_request(
            send.method, send.url, headers=send.headers, params=send.params, content=send.content
        )
        try:
            answer = self._http.send(request, stream=send.is_stream)
            if not answer.is_success:
                answer.read()
            return answer
        except httpx.TransportError as error:
            return error

    def _run(self, exchange: Exchange) -> httpx.Response:
        effect = next(exchange)
        while True:
            try:
                if isinstance(effect, Send):
                    effect = exchange.send(self._send(effect))
                else:
                    time.sleep(effect.seconds)
                    effect = next(exchange)
            except StopIteration as done:
                return done.value

    def _call(self, name: str, **request: Any) -> Any:
        answer = self._run(self._session.perform(name, **request))
        return read_json(answer, self._api.integers)

    @contextmanager
    def download(self, name: str, accept: str, **request: Any) -> Iterator[Iterator[bytes]]:
        """Open an answer of another media type as chunks of bytes. `path` and `query` are dictionaries."""
        answer = self._run(self._session.perform(name, accept=accept, is_stream=True, **request))
        try:
            yield answer.iter_bytes()
        finally:
            answer.close()

    def submit_records(self, records: Iterable[Any], *, chunk_records: int = 5_000) -> Iterator[Any]:
        """Upload records in chunks as NDJSON. Yields the receipt of each chunk.

        A record that is sent twice counts once, so an upload that stopped can start again. A record with the identity of
        an earlier record of the call and another value fails with `duplicate_row` and the positions of both.
        """
        for chunk in cut_records(records, chunk_records):
            yield chunk.explain(self._call("meter_submit", body=chunk.body, content_type=NDJSON))

    def submit_csv(self, text: str, **query: Any) -> Any:
        """Upload a text in CSV, with at most 10,000 readings, in one request. Returns its receipt.

        The named arguments are those of `meter_submit`: columns, unit, zone and so on, as the options of
        `wattledger import readings`. A repeat counts each record once.
        """
        return self._call("meter_submit", query=query, body=text, content_type=CSV)

    def wait_for_batch(self, batch_id: str, *, timeout: float = 60.0) -> Any:
        """Wait until all records of a batch are processed or failed. Raises WattledgerError after `timeout` s."""
        deadline = time.monotonic() + timeout
        while True:
            receipt = self._call("meter_batch_read", path={"id": batch_id})
            if _is_complete(receipt, deadline):
                return receipt
            time.sleep(POLL_SECONDS)


class AsyncClient(AsyncCaller):
    """Client for programs with `async`."""

    _api: Api

    def __init__(
        self,
        base_url: str,
        api_key: str,
        *,
        account_id: str | None = None,
        max_attempts: int = 5,
        max_delay: float = 60.0,
        timeout: float = 60.0,
    ):
        """Create a client. The arguments are those of the client without `async`."""
        self._session = Session(self._api, base_url, api_key, account_id, RetryOptions(max_attempts, max_delay))
        self._http = httpx.AsyncClient(timeout=timeout)

    async def __aenter__(self) -> "AsyncClient":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def _send(self, send: Send) -> httpx.Response | httpx.TransportError:
        request = self._http.build_request(
            send.method, send.url, headers=send.headers, params=send.params, content=send.content
        )
        try:
            answer = await self._http.send(request, stream=send.is_stream)
            if not answer.is_success:
                await answer.aread()
            return answer
        except httpx.TransportError as error:
            return error

    async def _run(self, exchange: Exchange) -> httpx.Response:
        effect = next(exchange)
        while True:
            try:
                if isinstance(effect, Send):
                    effect = exchange.send(await self._send(effect))
                else:
                    await asyncio.sleep(effect.seconds)
                    effect = next(exchange)
            except StopIteration as done:
                return done.value

    async def _call(self, name: str, **request: Any) -> Any:
        answer = await self._run(self._session.perform(name, **request))
        return read_json(answer, self._api.integers)

    @asynccontextmanager
    async def download(self, name: str, accept: str, **request: Any) -> AsyncIterator[AsyncIterator[bytes]]:
        """Open an answer of another media type as chunks of bytes. `path` and `query` are dictionaries."""
        answer = await self._run(self._session.perform(name, accept=accept, is_stream=True, **request))
        try:
            yield answer.aiter_bytes()
        finally:
            await answer.aclose()

    async def submit_records(
        self, records: Iterable[Any] | AsyncIterable[Any], *, chunk_records: int = 5_000
    ) -> AsyncIterator[Any]:
        """Upload records in chunks as NDJSON. Yields the receipt of each chunk, as the client without `async` does."""
        writer = ChunkWriter(chunk_records)
        async for record in _each(records):
            chunk = writer.add(record)
            if chunk is not None:
                yield chunk.explain(await self._call("meter_submit", body=chunk.body, content_type=NDJSON))
        rest = writer.rest()
        if rest is not None:
            yield rest.explain(await self._call("meter_submit", body=rest.body, content_type=NDJSON))

    async def submit_csv(self, text: str, **query: Any) -> Any:
        """Upload a text in CSV, as the client without `async` does. Returns its receipt."""
        return await self._call("meter_submit", query=query, body=text, content_type=CSV)

    async def wait_for_batch(self, batch_id: str, *, timeout: float = 60.0) -> Any:
        """Wait until all records of a batch are processed or failed. Raises WattledgerError after `timeout` s."""
        deadline = time.monotonic() + timeout
        while True:
            receipt = await self._call("meter_batch_read", path={"id": batch_id})
            if _is_complete(receipt, deadline):
                return receipt
            await asyncio.sleep(POLL_SECONDS)


async def _each(records: Iterable[Any] | AsyncIterable[Any]) -> AsyncIterator[Any]:
    if isinstance(records, AsyncIterable):
        async for record in records:
            yield record
        return
    for record in records:
        yield record
