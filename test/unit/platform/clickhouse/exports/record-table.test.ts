import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parquetReadObjects } from 'hyparquet'
import { describe, expect, it } from 'vitest'
import { fileSettings } from '../../../../../services/platform/clickhouse/exports/engine-file.ts'
import { monthsWithRows } from '../../../../../services/platform/clickhouse/exports/record-periods.ts'
import {
  type RecordTable,
  recordTableSelect,
} from '../../../../../services/platform/clickhouse/exports/record-table.ts'
import type { RowSelection } from '../../../../../services/platform/clickhouse/meter-cost/meter-cost-pages.ts'
import { hexId } from '../../../../suites/cost-rows.ts'
import { base, dayMs, db, hourMs, insert, own, tenant, useMeterTables } from '../../../../suites/meter-tables.ts'

useMeterTables()

const everything: RowSelection = {
  locationIds: null,
  deviceIds: null,
  sessionReferenceId: null,
  recordReferenceId: null,
  batchId: null,
  from: null,
  to: null,
}
const selectOf = async (format: RecordTable['format'], selection: RowSelection, hasPieces = false): Promise<string> => {
  const table: RecordTable = {
    tenant,
    selection,
    nonCommodityIds: [],
    raisedPowers: [],
    hasPieces,
    format,
    isRaw: false,
  }
  return recordTableSelect(table, await monthsWithRows(db, tenant, selection))
}

/** Rows of two locations, two devices, three days in each of two months, in several parts with replaced rows. */
const fill = async (): Promise<void> => {
  const rows = [0, 1, 2, 40, 41, 42].flatMap(day =>
    [1, 2].flatMap(location =>
      [null, hexId('dev_', 1), hexId('dev_', 2)].flatMap(deviceId =>
        [9, 3].map(hour =>
          own({
            locationId: hexId('loc_', location),
            deviceId,
            sessionReferenceId: 'session',
            start: base + day * dayMs + hour * hourMs,
          }),
        ),
      ),
    ),
  )
  const numbered = rows.map((row, index) => ({ ...row, recordId: hexId('', ((index * 29) % 97) + 1) }))
  for (let part = 0; part < 4; part += 1) await insert(numbered.filter((_, index) => index % 4 === part))
  await insert(numbered.filter((_, index) => index % 3 === 0).map(row => ({ ...row, version: 2n })))
}
const count = 6 * 2 * 3 * 2

type Row = Readonly<Record<'id' | 'location_id' | 'start_time', string>> & { readonly device_id: string | null }

/** Read the rows of an NDJSON or Parquet file. */
const readRows = async (path: string): Promise<readonly Row[]> => {
  const bytes = readFileSync(path)
  if (path.endsWith('.ndjson'))
    return bytes
      .toString('utf8')
      .trim()
      .split('\n')
      .map(line => JSON.parse(line) as Row)
  const file = new Uint8Array(bytes).buffer
  return (await parquetReadObjects({ file })).map(
    row => ({ ...row, start_time: (row['start_time'] as Date).toISOString() }) as Row,
  )
}

describe('the table of records', () => {
  it.each([
    ['ndjson', 'start and id', (row: Row) => [row.start_time, row.id]],
    [
      'parquet',
      'month, location, day, device, start and id',
      ({ id, location_id, device_id, start_time }: Row) => [
        ...[start_time.slice(0, 7), location_id, start_time.slice(0, 10), device_id ?? '', start_time, id],
      ],
    ],
  ] as const)('is ordered as %s by %s, and has each record once', async (format, _, keyOf) => {
    await fill()
    const folder = mkdtempSync(join(tmpdir(), 'wattledger-table-'))
    const path = join(folder, `records.${format}`)
    await db.writeFile(await selectOf(format, everything), { path, format }, new AbortController().signal)
    const keys = (await readRows(path)).map(row => keyOf(row).join(' '))
    rmSync(folder, { recursive: true })
    expect([keys.length, new Set(keys).size]).toEqual([count, count])
    expect(keys).toEqual(keys.toSorted())
  })

  it.each([
    ['everything', {}, false],
    ['pieces', {}, true],
    ['locations', { locationIds: [hexId('loc_', 1), hexId('loc_', 2)] }, false],
    ['a device', { locationIds: [hexId('loc_', 1)], deviceIds: [hexId('dev_', 1)] }, false],
    ['a session', { sessionReferenceId: 'session' }, false],
    ['a period', { from: base + hourMs, to: base + 41 * dayMs }, false],
  ])('is read in the stored order and not sorted: %s', async (_, selection, hasPieces) => {
    await fill()
    const select = await selectOf('parquet', { ...everything, ...selection }, hasPieces)
    const plan = await db.rows(`EXPLAIN PIPELINE ${select} SETTINGS ${fileSettings('parquet')}`)
    const text = plan.map(([line]) => String(line)).join('\n')
    expect(text).toContain('InOrder')
    expect(text).not.toMatch(/PartialSorting|MergeSorting|FinishSorting/)
    // The same text names the steps of a table that is sorted.
    const sorted = select.replaceAll('ORDER BY account_id', 'ORDER BY end_time, account_id')
    const sortedPlan = await db.rows(`EXPLAIN PIPELINE ${sorted} SETTINGS ${fileSettings('parquet')}`)
    expect(sortedPlan.join('\n')).toMatch(/PartialSorting|MergeSorting/)
  })
})
