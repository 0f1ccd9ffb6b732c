"""Table of operations, and what the generated methods need."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ._pages import AsyncPages, Pages


@dataclass(frozen=True)
class Operation:
    """Row of the table of operations. `access` is bearer, basic or none."""

    method: str
    path: str
    access: str
    is_list: bool
    takes_key: bool

    def is_repeatable(self) -> bool:
        """Return True if two requests have the effect of one."""
        return self.method in ("GET", "PUT", "POST")


@dataclass(frozen=True)
class Api:
    """API version with its operations, and the names of the members that are integers."""

    version: str
    integers: frozenset[str]
    operations: Mapping[str, Operation]


class Caller:
    """Base of the generated methods."""

    def _call(self, name: str, **request: Any) -> Any:
        raise NotImplementedError

    def _list(self, name: str, *, query: Mapping[str, Any], **request: Any) -> Pages[Any]:
        return Pages(query, lambda page: self._call(name, query=page, **request))


class AsyncCaller:
    """Base of the generated methods with `async`."""

    async def _call(self, name: str, **request: Any) -> Any:
        raise NotImplementedError

    def _list(self, name: str, *, query: Mapping[str, Any], **request: Any) -> AsyncPages[Any]:
        return AsyncPages(query, lambda page: self._call(name, query=page, **request))
