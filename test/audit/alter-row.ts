import { openChdb } from '../../services/platform/clickhouse/chdb.ts'
import { openClickHouseHttp } from '../../services/platform/clickhouse/clickhouse-http.ts'

// Writes one stored row again with a higher version and a cost that is wrong in its last digit, and prints the record's
// id. The service must be stopped. The shortest record is in one month, so that the sum of this month is also wrong.
const [store = ''] = process.argv.slice(2)
const access = { user: 'default', password: '', database: 'default', ca: null, isReplicated: false }
const db = store.startsWith('http') ? openClickHouseHttp({ url: store, ...access }) : openChdb({ folder: store })
const [row] = await db.rows(
  `SELECT lower(hex(record_id)) FROM meter_cost FINAL WHERE status = 'PRICED' AND energy > 0
   ORDER BY end_time - start_time, record_id LIMIT 1`,
)
const id = String(row?.[0])
await db.command(`INSERT INTO meter_cost
  SELECT * REPLACE (version + 1 AS version, version_lead + 1 AS version_lead,
    cost + toDecimal128('0.000000001', 9) AS cost)
  FROM meter_cost FINAL WHERE record_id = unhex('${id}')`)
await db.close()
process.stdout.write(`mre_${id}\n`)
