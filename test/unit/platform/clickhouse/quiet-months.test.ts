import { mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { openChdb } from '../../../../services/platform/clickhouse/chdb.ts'
import type { ClickHouse } from '../../../../services/platform/clickhouse/clickhouse.ts'
import { meterCostBlock } from '../../../../services/platform/clickhouse/encoding/fast-path/meter-cost-block.ts'
import { costSumsOf, readBucketSums } from '../../../../services/platform/clickhouse/meter-cost/meter-cost-sums.ts'
import { applySchemas, schemaFiles } from '../../../../services/platform/clickhouse/schemas.ts'
import { costRow, hexId } from '../../../suites/cost-rows.ts'
import { until } from '../../../support/system/until.ts'

const folder = mkdtempSync(join(tmpdir(), 'wattledger-engine-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const tenant = { accountId: hexId('acc_', 1), liveMode: true }
const location = hexId('loc_', 1)
const hourMs = 3_600_000
const months = [Date.UTC(2025, 0, 1), Date.UTC(2025, 1, 1), Date.UTC(2025, 2, 1)]

/** Insert a part for each of two months: new rows, a newer version of an earlier row, and a withdrawn row. */
const insertParts = async (db: ClickHouse, write: number): Promise<void> => {
  for (const month of months.slice(0, 2)) {
    const rowAt = (hour: number, version: number, isDeleted = false) => {
      const start = month + hour * hourMs
      const recordId = hexId('', start / hourMs)
      return costRow({
        ...tenant,
        locationId: location,
        recordId,
        start,
        end: start + hourMs,
        version: BigInt(version),
        isDeleted,
      })
    }
    const rows = [rowAt(write, write), rowAt(write - 1, write), rowAt(write - 2, write, true)]
    await db.insert(meterCostBlock(rows.filter(({ start }) => start >= month)))
  }
}

/** Add a part of some MB to each month, of another location. The usual merges leave it alone for days. */
const insertLargeParts = async (db: ClickHouse): Promise<void> => {
  for (const month of months.slice(0, 2))
    await db.command(`INSERT INTO meter_cost (account_id, live_mode, location_id, start_time, end_time, record_id, currency, version)
      SELECT unhex('${tenant.accountId.slice(4)}'), true, unhex('${hexId('', 2)}'), toDateTime64(${month / 1000}, 3, 'UTC') AS at, at,
      randomFixedString(12), 'EUR', 1 FROM numbers(400000)`)
}

const partsOf = (db: ClickHouse) =>
  db.rows(`SELECT partition, count(), max(rows) FROM system.parts WHERE active AND table = 'meter_cost'
    GROUP BY partition ORDER BY partition`)

const sumsIn = async (db: ClickHouse) => {
  const { lines } = await readBucketSums(db, tenant, { locationIds: [location] }, months)
  return costSumsOf(lines, months)
}

/** Set the time of all parts back, as if nothing had arrived for 49 h. */
const setPartsBack = (): void => {
  const then = new Date(Date.now() - 49 * hourMs)
  for (const entry of readdirSync(join(folder, 'engine', 'store'), { recursive: true, withFileTypes: true }))
    if (entry.isDirectory() && /^\d{6}_\d+_\d+_\d+$/.test(entry.name))
      utimesSync(join(entry.parentPath, entry.name), then, then)
}

it('merges the parts of a month after two days without new rows, and sums stay the same', async () => {
  const created = openChdb({ folder })
  await applySchemas(created, schemaFiles())
  await created.command('SYSTEM STOP MERGES meter_cost')
  await insertLargeParts(created)
  for (let write = 0; write < 3; write += 1) await insertParts(created, write)
  const before = await sumsIn(created)
  expect((await partsOf(created)).map(([, count]) => Number(count))).toEqual([4, 4])
  expect(before.map(({ records }) => records)).toEqual([2, 2])
  await created.close()
  // First the usual merges combine the small parts, which makes a new part.
  for (const parts of [2, 1]) {
    setPartsBack()
    const db = openChdb({ folder })
    await until(
      () => partsOf(db),
      counts => counts.every(([, count]) => Number(count) <= parts),
    )
    expect(await sumsIn(db)).toEqual(before)
    await db.close()
  }
})

it('has the merge settings of the server of the deployment', () => {
  const settings = (xml: string): readonly string[] =>
    [...(xml.split('<merge_tree>')[1] ?? '').matchAll(/<(\w+)>(\d+)<\/\1>/g)].map(([setting]) => setting)
  const deployed = settings(readFileSync(new URL('../../../../deploy/clickhouse/durable.xml', import.meta.url), 'utf8'))
  expect(deployed.length).toBeGreaterThan(3)
  expect(settings(readFileSync(join(folder, 'engine.xml'), 'utf8'))).toEqual(expect.arrayContaining([...deployed]))
})
