"""Chunks of an upload."""

import json
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from ._exact_json import write_exact
from ._identities import CallIdentities

#: Bytes of a chunk, half of the limit of the service.
MAX_CHUNK_BYTES = 8 * 1024 * 1024


class Chunk(NamedTuple):
    """Records as NDJSON, and the errors of records that the chunk does not have, by their number in the chunk."""

    body: str
    duplicates: dict[int, str]

    def explain(self, receipt: Any) -> Any:
        """Return the receipt of the chunk with the errors of its duplicates."""
        for failed in receipt["failed_records"] if self.duplicates else ():
            failed["error"] = self.duplicates.get(failed["record_num"], failed["error"])
        return receipt


def _duplicate_error(position: int, first: int) -> str:
    return (
        f"duplicate_row: Record {position} of the call has the meter, times and references of record {first}, "
        "and another value. Send one of them."
    )


def _duplicate_line(record: dict[str, Any], error: str) -> str:
    """Return the line in place of a duplicate: the service refuses it, so that the other records keep their numbers."""
    reference = record.get("record_reference_id")
    named = {"record_reference_id": reference} if isinstance(reference, str) else {}
    return json.dumps({**named, "duplicate_row": error}) + "\n"


class ChunkWriter:
    """Collects records as NDJSON. One chunk is in memory at a time.

    A record with the identity of an earlier record and another value is a duplicate.
    """

    def __init__(self, chunk_records: int):
        if not 1 <= chunk_records <= 10_000:
            raise ValueError("chunk_records must be from 1 to 10,000.")
        self._chunk_records = chunk_records
        self._identities = CallIdentities()
        self._position = 0
        self._lines: list[str] = []
        self._duplicates: dict[int, str] = {}
        self._bytes = 0

    def add(self, record: Any) -> Chunk | None:
        """Add a record. Return the chunk before it if the chunk is full."""
        self._position += 1
        first = self._identities.note(record)
        error = None if first is None else _duplicate_error(self._position, first)
        line = write_exact(record) + "\n" if error is None else _duplicate_line(record, error)
        size = len(line.encode())
        is_full = len(self._lines) == self._chunk_records or self._bytes + size > MAX_CHUNK_BYTES
        chunk = self.rest() if self._lines and is_full else None
        self._lines.append(line)
        if error is not None:
            self._duplicates[len(self._lines)] = error
        self._bytes += size
        return chunk

    def rest(self) -> Chunk | None:
        """Return the records that no chunk has, or None."""
        chunk = Chunk("".join(self._lines), self._duplicates) if self._lines else None
        self._lines = []
        self._duplicates = {}
        self._bytes = 0
        return chunk


def cut_records(records: Iterable[Any], chunk_records: int) -> Iterator[Chunk]:
    """Cut records into NDJSON texts of bounded length."""
    writer = ChunkWriter(chunk_records)
    for record in records:
        chunk = writer.add(record)
        if chunk is not None:
            yield chunk
    rest = writer.rest()
    if rest is not None:
        yield rest
