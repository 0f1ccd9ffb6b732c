"""Identities of the records of a call."""

import json
from array import array
from datetime import datetime
from decimal import Decimal
from hashlib import blake2b
from typing import Any

#: Records of a table. Two tables are in memory, so each record is compared with at least so many records before it.
TABLE_RECORDS = 2**22
#: Bits of the position in an entry; the other bits are a hash of the value.
POSITION_BITS = 36

_NAMES = ("location_id", "device_id", "session_reference_id", "record_reference_id")


def _number_text(value: Any) -> str:
    """Return a number as text. Equal numbers of another length, such as 1.50 and 1.5, have one text."""
    if isinstance(value, (int, Decimal)) and not isinstance(value, bool) and Decimal(value).is_finite():
        return str(Decimal(value).normalize())
    return repr(value)


def _time_text(value: Any) -> str:
    try:
        at = datetime.fromisoformat(value)
    except (TypeError, ValueError):
        return repr(value)
    return repr(value) if at.tzinfo is None else repr(at.timestamp())


def _identity_text(record: dict[str, Any]) -> str:
    """Return the members that make the identity of a record in both API versions."""
    is_outbound = record.get("energy_flow_direction") == "OUTBOUND" or record.get("direction") == "EXPORT"
    default = "EXPORT" if is_outbound else "IMPORT"
    tariff = record.get("tariff_direction") or record.get("tariff_rate") or default
    times = [_time_text(record.get("start_time")), _time_text(record.get("end_time"))]
    return json.dumps([*(record.get(name) for name in _NAMES), is_outbound, tariff, *times], default=repr)


def _value_text(record: dict[str, Any]) -> str:
    confidence = record.get("confidence")
    numbers = [_number_text(record.get("value")), _number_text(1 if confidence is None else confidence)]
    return json.dumps([record.get("units"), *numbers], default=repr)


def _hash(text: str) -> int:
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


class _HashTable:
    """Table of hashes with open addressing. It doubles when it is half full. A free slot has the entry 0."""

    def __init__(self) -> None:
        self._hashes = array("Q", bytes(8 * 1024))
        self._entries = array("Q", bytes(8 * 1024))
        self._count = 0

    def is_full(self) -> bool:
        return self._count == TABLE_RECORDS

    def _slot(self, identity: int) -> int:
        mask = len(self._hashes) - 1
        slot = identity & mask
        while self._entries[slot] != 0 and self._hashes[slot] != identity:
            slot = (slot + 1) & mask
        return slot

    def find(self, identity: int) -> int:
        """Return the entry of an identity; 0 if the table does not have it."""
        return self._entries[self._slot(identity)]

    def add(self, identity: int, entry: int) -> None:
        if self._count * 2 >= len(self._hashes):
            self._grow()
        slot = self._slot(identity)
        self._hashes[slot] = identity
        self._entries[slot] = entry
        self._count += 1

    def _grow(self) -> None:
        hashes, entries = self._hashes, self._entries
        self._hashes = array("Q", bytes(16 * len(hashes)))
        self._entries = array("Q", bytes(16 * len(hashes)))
        for identity, entry in zip(hashes, entries):
            if entry != 0:
                slot = self._slot(identity)
                self._hashes[slot] = identity
                self._entries[slot] = entry


class CallIdentities:
    """Finds records of a call that have the identity of an earlier record of the call and another value.

    Needs at most 256 MiB: compares each record with at least 4,194,304 records before it.
    """

    def __init__(self) -> None:
        self._current = _HashTable()
        self._earlier = _HashTable()
        self._position = 0

    def note(self, record: Any) -> int | None:
        """Note a record. Return the position of the earlier record, or None."""
        self._position += 1
        if not isinstance(record, dict):
            return None
        identity = _hash(_identity_text(record))
        value = _hash(_value_text(record)) >> POSITION_BITS
        found = self._current.find(identity) or self._earlier.find(identity)
        if found != 0:
            return None if found >> POSITION_BITS == value else found & ((1 << POSITION_BITS) - 1)
        if self._current.is_full():
            self._current, self._earlier = _HashTable(), self._current
        self._current.add(identity, (value << POSITION_BITS) | self._position)
        return None
