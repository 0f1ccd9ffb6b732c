"""Performs one step of a program with readings of the field. The step is in standard input. Prints its outcome as JSON."""

import sys
from typing import Any

from wattledger import Wattledger, parse_exact, write_exact

given = parse_exact(sys.stdin.read(), frozenset(["time"]))


def outcome(client: Wattledger, batches: list[Any]) -> dict[str, Any]:
    """Return the accepted and failed records of batches after all are processed."""
    accepted = 0
    failed: list[Any] = []
    for batch in batches:
        receipt: Any = client.wait_for_batch(batch["id"])
        accepted += batch["records_accepted"]
        # The receipt of the upload says more about a duplicate.
        errors = {one["record_num"]: one["error"] for one in batch["failed_records"]}
        failed += [{**one, "error": errors.get(one["record_num"], one["error"])} for one in receipt["failed_records"]]
    return {"accepted": accepted, "failed_records": failed}


def perform(client: Wattledger, step: str, value: Any) -> Any:
    if step == "readings":
        return outcome(client, [client.meter_cumulative_submit(value)])
    if step == "csv":
        return outcome(client, [client.submit_csv(value["text"], **value["query"])])
    if step == "records":
        return outcome(client, list(client.submit_records(value)))
    if step == "costs":
        return client.interval_cost_calculate(value["id"], value["body"])
    with client.download("meter_record_list", value["accept"], query=value["query"]) as chunks:
        return b"".join(chunks).decode()


with Wattledger(given["base_url"], given["api_key"]) as client:
    print(write_exact(perform(client, given["step"], given["input"])))
