import { readdirSync, rmSync, truncateSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { openChdb } from '../../../../services/platform/clickhouse/chdb.ts'
import type { ClickHouse } from '../../../../services/platform/clickhouse/clickhouse.ts'
import { meterCostBlock } from '../../../../services/platform/clickhouse/encoding/fast-path/meter-cost-block.ts'
import { applySchemas, schemaFiles } from '../../../../services/platform/clickhouse/schemas.ts'
import { costRow, hexId } from '../../../suites/cost-rows.ts'
import { fillDownTo, mountSmallDisk, unmountDisk } from '../../../support/stores/small-disk.ts'
import { until } from '../../../support/system/until.ts'

const mebibyte = 1_048_576
const disk = join(tmpdir(), `wattledger-small-disk-${process.pid}`)
const filler = join(disk, 'filler')
let db: ClickHouse
let messages: string[]
let isMounted = false

beforeEach(async context => {
  isMounted = mountSmallDisk(disk, 500)
  if (!isMounted) return context.skip('a small disk needs the rights to mount')
  messages = []
  db = openChdb({ folder: join(disk, 'data'), log: line => messages.push(line) })
  await applySchemas(db, schemaFiles())
})
afterEach(async () => {
  if (isMounted) {
    await db.close()
    unmountDisk(disk)
  }
  rmSync(disk, { recursive: true, force: true })
})

let stored = 0
const insert = async (count: number): Promise<void> => {
  const rows = Array.from({ length: count }, (_, i) =>
    costRow({
      recordId: hexId('', stored + i),
      start: 1_600_000_000_000 + (stored + i) * 60_000,
      sessionReferenceId: `session ${Math.random()}`,
    }),
  )
  await db.insert(meterCostBlock(rows))
  stored += count
}
const countRows = async (): Promise<number> =>
  Number(
    (
      await db.rows('SELECT uniqExact(record_id), sum(length(session_reference_id)), sum(cost) FROM meter_cost')
    )[0]?.[0],
  )
const merge = () => db.command('OPTIMIZE TABLE meter_cost FINAL')
const activePart = async (): Promise<string> =>
  String((await db.rows("SELECT path FROM system.parts WHERE active AND table = 'meter_cost'"))[0]?.[0])

const insertAndMerge = async (): Promise<string> => {
  stored = 0
  for (let i = 0; i < 3; i++) await insert(200)
  await merge()
  return activePart()
}

it('a part with missing file ends is replaced by its sources after a read meets it', async () => {
  const part = await insertAndMerge()
  const marks = readdirSync(part).find(name => name.startsWith('data.cmrk'))
  truncateSync(join(part, marks ?? 'no marks'), 0)
  await expect(countRows()).rejects.toMatchObject({ code: 'clickhouse_spoiled', retriable: true })
  expect(
    await until(
      () => countRows().catch(() => null),
      count => count !== null,
    ),
  ).toBe(600)
  expect(messages).toEqual([expect.stringContaining('meter_cost')])
})

it('a part that can be read but not opened again is found after space was short', { timeout: 60_000 }, async () => {
  const part = await insertAndMerge()
  truncateSync(join(part, 'columns.txt'), 0)
  expect(await countRows()).toBe(600)
  fillDownTo(disk, filler, 4 * mebibyte)
  await expect(insert(1)).rejects.toMatchObject({ code: 'clickhouse_full', retriable: true })
  rmSync(filler)
  await until(
    () => messages,
    lines => lines.length > 0,
    30_000,
  )
  expect(
    await until(
      () => countRows().catch(() => null),
      count => count !== null,
    ),
  ).toBe(600)
  expect(await activePart()).not.toBe(part)
})

it('stored rows stay if other programs fill the disk while parts are written', { timeout: 120_000 }, async () => {
  stored = 0
  fillDownTo(disk, join(disk, 'other'), 250 * mebibyte)
  for (let round = 0; round < 30 && messages.length < 2; round++) {
    for (let i = 0; i < 4; i++) await insert(100 + ((round * 37 + i * 61) % 400))
    // Free space drops to zero before the merge ends.
    const merging = merge().catch(() => undefined)
    await sleep(round % 10)
    fillDownTo(disk, filler, ((round * 29) % 64) * 1024)
    await merging
    await insert(50).catch(() => undefined)
    rmSync(filler)
    const count = await until(
      () => countRows().catch(() => null),
      seen => seen !== null,
      30_000,
    )
    expect(count).toBe(stored)
  }
})
