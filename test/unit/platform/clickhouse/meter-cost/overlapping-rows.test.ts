import fc from 'fast-check'
import { expect, it } from 'vitest'
import { overlapSearch, type RecordOverlap } from '../../../../../services/domain/record/warnings.ts'
import { maxSmallBytes } from '../../../../../services/platform/clickhouse/clickhouse.ts'
import { costedRowsIfFew } from '../../../../../services/platform/clickhouse/meter-cost/meter-cost-reads.ts'
import type { MeterCostRow } from '../../../../../services/platform/clickhouse/meter-cost/meter-cost-row.ts'
import {
  readBucketSums,
  searchedActuals,
} from '../../../../../services/platform/clickhouse/meter-cost/meter-cost-sums.ts'
import { firstOverlap } from '../../../../../services/platform/clickhouse/meter-cost/overlapping-rows.ts'
import { searchOverlap } from '../../../../../services/query-service/costs/overlap-search.ts'
import { costRow, hexId } from '../../../../suites/cost-rows.ts'
import { base, db, hourMs, insert, nextTenant, useMeterTables } from '../../../../suites/meter-tables.ts'

useMeterTables()

const locationId = hexId('loc_', 1)
const flow = { energyFlowDirection: 'INBOUND', tariffDirection: 'IMPORT' } as const
const interval = { from: base + 2 * hourMs, to: base + 9 * hourMs }

/** Choose mostly the first value. */
const mostly = <T>(first: T, other: T) =>
  fc.oneof({ weight: 7, arbitrary: fc.constant(first) }, { weight: 1, arbitrary: fc.constant(other) })

const rowOf = (lengths: readonly number[]) =>
  fc.record({
    start: fc.integer({ min: 0, max: 9 }).map(hour => base + hour * hourMs),
    hours: fc.constantFrom(...lengths),
    deviceId: mostly<string | null>(null, hexId('dev_', 1)),
    sessionReferenceId: mostly<string | null>(null, 'session'),
    energy: mostly(7n, 0n),
    recordConfidence: mostly(1_000_000, 999_999),
    tariffDirection: mostly<'IMPORT' | 'LOCAL'>('IMPORT', 'LOCAL'),
  })

const anyRows = fc
  .constantFrom([1], [1, 2], [0, 1, 2, 30], [1, 1, 30])
  .chain(lengths => fc.array(rowOf(lengths), { minLength: 4, maxLength: 10, size: 'max' }))

/** Search the rows of the interval one by one. */
const expectedOf = (rows: readonly MeterCostRow[]): RecordOverlap | null => {
  const search = overlapSearch()
  const inOrder = rows.toSorted((a, b) => a.start - b.start || ((a.deviceId ?? '') < (b.deviceId ?? '') ? -1 : 1))
  for (const row of inOrder)
    if (row.tariffDirection === 'IMPORT' && row.start < interval.to && row.end > interval.from)
      search.add({ ...row, confidence: row.recordConfidence })
  return search.first()
}

it('the engine finds the first overlap that a search of the rows finds, and no earlier version of a row', async () => {
  const seen = { found: 0, none: 0, unsearched: 0 }
  await fc.assert(
    fc.asyncProperty(anyRows, async given => {
      const tenant = nextTenant()
      const rows = given.map(({ hours, ...row }, index) =>
        costRow({
          ...tenant,
          ...flow,
          ...row,
          locationId,
          end: row.start + hours * hourMs,
          recordId: hexId('', index),
        }),
      )
      await insert(rows.map(row => ({ ...row, energy: 7n - row.energy, version: 0n })))
      await insert(rows.toReversed().map(row => ({ ...row, version: 1n })))
      const expected = expectedOf(rows)
      const filter = { ...flow, locationIds: [locationId] }
      expect(await firstOverlap(db, tenant, filter, interval)).toEqual(expected)

      const edges = [interval.from, base + 5 * hourMs, interval.to]
      const { lines } = await readBucketSums(db, tenant, filter, edges)
      expect(await searchOverlap(db, tenant, [filter], { edges, sums: [lines], rows: [] })).toEqual(expected)
      const few = await costedRowsIfFew(db, tenant, filter, interval, maxSmallBytes)
      expect(await searchOverlap(db, tenant, [filter], { edges, sums: [], rows: few ?? [] })).toEqual(expected)
      const { mayOverlap } = searchedActuals(lines, edges)
      seen[expected !== null ? 'found' : mayOverlap ? 'none' : 'unsearched'] += 1
    }),
    { numRuns: 40 },
  )
  expect(Math.min(seen.found, seen.none, seen.unsearched)).toBeGreaterThan(2)
}, 120_000)

it('rows of a device one after the other need no search, whatever their lengths', async () => {
  const tenant = nextTenant()
  const rowAt = (start: number, hours: number) =>
    costRow({
      ...tenant,
      ...flow,
      locationId,
      start: base + start * hourMs,
      end: base + (start + hours) * hourMs,
      recordId: hexId('', start + 1),
    })
  await insert([rowAt(2, 1), rowAt(3, 2), rowAt(5, 1), rowAt(7, 2)])
  const filter = { ...flow, locationIds: [locationId] }
  const mayOverlap = async (edges: readonly number[]) =>
    searchedActuals((await readBucketSums(db, tenant, filter, edges)).lines, edges).mayOverlap
  expect(await mayOverlap([interval.from, base + 5 * hourMs, interval.to])).toBe(false)
  // A row crosses the edge.
  expect(await mayOverlap([interval.from, base + 4 * hourMs, interval.to])).toBe(true)
})
