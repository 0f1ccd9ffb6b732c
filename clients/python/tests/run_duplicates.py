"""Uploads hours of electricity, then gas of the same hours, with both clients. Prints the counts and the failed records."""

import asyncio
import json
import sys
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

from wattledger import AsyncWattledger, Wattledger

given = json.load(sys.stdin)
hour = timedelta(hours=1)
begin = datetime(2025, 1, 1, tzinfo=timezone.utc)


def hours(location_id: str, value: str) -> Iterator[dict[str, Any]]:
    for number in range(given["count"]):
        start = begin + number * hour
        times = {"start_time": start.isoformat(), "end_time": (start + hour).isoformat()}
        yield {"location_id": location_id, "units": "KWH", "value": Decimal(value), **times}


def rows(location_id: str) -> Iterator[dict[str, Any]]:
    # The gas is sent twice. The electricity is repeated with equal values at the end.
    for value in ("1", "0.1", "1.00"):
        yield from hours(location_id, value)


def summary(receipts: list[Any]) -> dict[str, Any]:
    failed = [error["error"] for receipt in receipts for error in receipt["failed_records"]]
    accepted = sum(receipt["records_accepted"] for receipt in receipts)
    return {"accepted": accepted, "failed": len(failed), "first": failed[0], "last": failed[-1]}


async def upload(location_id: str) -> list[Any]:
    async with AsyncWattledger(given["base_url"], given["api_key"]) as client:
        receipts = [receipt async for receipt in client.submit_records(rows(location_id))]
        for receipt in receipts:
            await client.wait_for_batch(receipt["id"])
        return receipts


with Wattledger(given["base_url"], given["api_key"]) as client:
    receipts = list(client.submit_records(rows(given["location_ids"][0])))
    for receipt in receipts:
        client.wait_for_batch(receipt["id"])
print(json.dumps([summary(receipts), summary(asyncio.run(upload(given["location_ids"][1])))]))
