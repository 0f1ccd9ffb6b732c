import os
from decimal import Decimal

from wattledger import Wattledger

with Wattledger(os.environ.get("URL", "http://127.0.0.1:8080"), os.environ["KEY"]) as client:
    location = client.location_create({"postal_address": {"city": "Berlin", "country_code": "DE"}})
    day = {"valid_from": "06:00:00", "valid_to": "22:00:00", "rate": [{"fixed": Decimal("0.32")}]}
    night = {"valid_from": "22:00:00", "valid_to": "06:00:00", "rate": [{"fixed": Decimal("0.21")}]}
    client.tariff_create(
        {
            "location_id": location["id"],
            "direction": "IMPORT",
            "type": "COMMODITY",
            "schedule": [{"months": ["All"], "days_and_hours": [{"days": ["All"], "hours": [day, night]}]}],
        }
    )

    record = {
        "location_id": location["id"],
        "units": "KWH",
        "value": Decimal("7.4"),
        "start_time": "2026-01-15T21:00:00+01:00",
        "end_time": "2026-01-15T23:00:00+01:00",
    }
    for batch in client.submit_records([record]):
        client.wait_for_batch(batch["id"])

    interval = {"start_time": "2026-01-15T00:00:00+01:00", "end_time": "2026-01-16T00:00:00+01:00"}
    cost = client.interval_cost_calculate(location["id"], interval)
    print(cost["data"][0]["tariff"]["cost"]["value"])
