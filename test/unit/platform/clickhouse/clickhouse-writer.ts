import { openChdb } from '../../../../services/platform/clickhouse/chdb.ts'
import { meterCostBlock } from '../../../../services/platform/clickhouse/encoding/fast-path/meter-cost-block.ts'
import { applySchemas, schemaFiles } from '../../../../services/platform/clickhouse/schemas.ts'
import { costRow, hexId } from '../../../suites/cost-rows.ts'

// Inserts blocks of 50 rows forever; the record ids contain the block's number. `abort` crashes at once instead.
const [folder = '', first = '0', mode = ''] = process.argv.slice(2)
const db = openChdb({ folder })
await applySchemas(db, schemaFiles())
if (mode === 'abort') process.abort()
for (let block = Number(first); ; block += 1) {
  const rows = Array.from({ length: 50 }, (_, i) =>
    costRow({ recordId: hexId('', block * 50 + i), start: 1_790_000_000_000 + i * 900_000 }),
  )
  await db.insert(meterCostBlock(rows))
  process.stdout.write(`${block}\n`)
}
