"""Reads a Parquet file with pyarrow. Prints its types, and all decimals and sums as texts."""

import json
import sys
from decimal import Decimal, localcontext

import pyarrow.parquet

table = pyarrow.parquet.read_table(sys.argv[1])
energies, costs = (table.column(name).to_pylist() for name in ("energy_wh", "cost"))

with localcontext() as context:
    # The sum of a column has more digits than the default precision.
    context.prec = 60
    sums = {"energy_wh": f"{sum(energies, Decimal(0)):f}", "cost": f"{sum(costs, Decimal(0)):f}"}
print(
    json.dumps(
        {
            "types": {field.name: str(field.type) for field in table.schema},
            "read": {
                reference: [f"{energy:f}", f"{cost:f}"]
                for reference, energy, cost in zip(
                    table.column("record_reference_id").to_pylist(), energies, costs, strict=True
                )
            },
            "starts": [start.isoformat() for start in table.column("start_time").to_pylist()[:2]],
            "sums": sums,
        }
    )
)
