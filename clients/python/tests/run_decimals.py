"""Uploads records with decimals from standard input, reads them from a list, and prints the texts by reference."""

import json
import sys
from decimal import Decimal

from wattledger import Wattledger, decimal_text

given = json.load(sys.stdin)
location_id = given["location_id"]
records = (
    {**record, "location_id": location_id, "units": "WH", "value": Decimal(record["value"])}
    for record in given["records"]
)
with Wattledger(given["base_url"], given["api_key"]) as client:
    receipts = [client.wait_for_batch(batch["id"]) for batch in client.submit_records(records)]
    read = {
        record["data"]["record_reference_id"]: decimal_text(record["energy_submitted"])
        for record in client.meter_record_list(location_id=location_id, limit=100)
    }
print(json.dumps({"processed": [receipt["records_processed"] for receipt in receipts], "read": read}))
