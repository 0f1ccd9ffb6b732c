"""Lists of the service as iterators. An iterator keeps one page in memory and reads the next page on demand."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from typing import Any, Generic, TypeVar

from ._errors import WattledgerError

Item = TypeVar("Item")
Query = Mapping[str, Any]


def _items_and_next(query: Query, page: dict[str, Any]) -> tuple[list[Any], Query | None]:
    """Return the objects of a page in reading order, and the query of the next page.

    With `ending_before` the order is from oldest to newest.
    """
    cursor = "ending_before" if query.get("ending_before") is not None else "starting_after"
    items = page["data"][::-1] if cursor == "ending_before" else page["data"]
    if not page["has_more"]:
        return items, None
    if not items:
        raise WattledgerError("The service sent an empty page of a list with more objects.")
    return items, {**query, cursor: items[-1]["id"]}


class Pages(Generic[Item]):
    """List of the service. A `for` loop reads all objects, page by page."""

    def __init__(self, query: Query, read: Callable[[Query], dict[str, Any]]):
        self._query = query
        self._read = read

    def page(self) -> dict[str, Any]:
        """Read the first page alone."""
        return self._read(self._query)

    def __iter__(self) -> Iterator[Item]:
        query: Query | None = self._query
        while query is not None:
            items, query = _items_and_next(query, self._read(query))
            yield from items


class AsyncPages(Generic[Item]):
    """List of the service. An `async for` loop reads all objects, page by page."""

    def __init__(self, query: Query, read: Callable[[Query], Awaitable[dict[str, Any]]]):
        self._query = query
        self._read = read

    async def page(self) -> dict[str, Any]:
        """Read the first page alone."""
        return await self._read(self._query)

    async def __aiter__(self) -> AsyncIterator[Item]:
        query: Query | None = self._query
        while query is not None:
            items, query = _items_and_next(query, await self._read(query))
            for item in items:
                yield item
