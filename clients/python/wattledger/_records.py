"""Chunks of an upload."""

from collections.abc import Iterable, Iterator
from typing import Any

from ._exact_json import write_exact

#: Bytes of a chunk, half of the limit of the service.
MAX_CHUNK_BYTES = 8 * 1024 * 1024


class ChunkWriter:
    """Collects records as NDJSON. One chunk is in memory at a time."""

    def __init__(self, chunk_records: int):
        if not 1 <= chunk_records <= 10_000:
            raise ValueError("chunk_records must be from 1 to 10,000.")
        self._chunk_records = chunk_records
        self._lines: list[str] = []
        self._bytes = 0

    def add(self, record: Any) -> str | None:
        """Add a record. Return the chunk before it if the chunk is full."""
        line = write_exact(record) + "\n"
        size = len(line.encode())
        is_full = len(self._lines) == self._chunk_records or self._bytes + size > MAX_CHUNK_BYTES
        chunk = self.rest() if self._lines and is_full else None
        self._lines.append(line)
        self._bytes += size
        return chunk

    def rest(self) -> str | None:
        """Return the records that no chunk has, or None."""
        chunk = "".join(self._lines) or None
        self._lines = []
        self._bytes = 0
        return chunk


def cut_records(records: Iterable[Any], chunk_records: int) -> Iterator[str]:
    """Cut records into NDJSON texts of bounded length."""
    writer = ChunkWriter(chunk_records)
    for record in records:
        chunk = writer.add(record)
        if chunk is not None:
            yield chunk
    rest = writer.rest()
    if rest is not None:
        yield rest
