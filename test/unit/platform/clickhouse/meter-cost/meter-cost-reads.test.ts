import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { costInBuckets, type EnergyCostElement } from '../../../../../services/domain/cost/energy-cost.ts'
import { maxSmallBytes } from '../../../../../services/platform/clickhouse/clickhouse.ts'
import { pageOfRows } from '../../../../../services/platform/clickhouse/meter-cost/meter-cost-pages.ts'
import {
  blocksAcrossBuckets,
  costedRowsIfFew,
  locationsOfSession,
  type RowFilter,
  rowOfRecord,
  rowsInInterval,
  type Tenant,
} from '../../../../../services/platform/clickhouse/meter-cost/meter-cost-reads.ts'
import type { MeterCostRow } from '../../../../../services/platform/clickhouse/meter-cost/meter-cost-row.ts'
import { costSumsOf, readBucketSums } from '../../../../../services/platform/clickhouse/meter-cost/meter-cost-sums.ts'
import { objectsOfLocations } from '../../../../../services/platform/clickhouse/meter-cost/meter-object-reads.ts'
import { costRowOf } from '../../../../../services/query-service/costs/stored-row.ts'
import { anyCostRows, costRow, hexId } from '../../../../suites/cost-rows.ts'
import {
  all,
  always,
  anything,
  base,
  costedTexts,
  dayMs,
  db,
  decoded,
  firstPage,
  hourMs,
  insert,
  location,
  nextTenant,
  other,
  own,
  recordIds,
  tenant,
  useMeterTables,
} from '../../../../suites/meter-tables.ts'

useMeterTables()

describe('cost rows', () => {
  it('can be read back, with any values', async () => {
    await fc.assert(
      // Many rows are written in groups of a few hundred.
      fc.asyncProperty(anyCostRows, fc.constantFrom(1, 30), async (made, times) => {
        const mine = nextTenant()
        const many = Array.from({ length: times }, () => made).flat()
        const rows = many.map((row, i) => ({
          ...row,
          ...mine,
          recordId: times === 1 ? row.recordId : hexId('', i + 1),
        }))
        await insert(rows)
        const read = await all(
          rowsInInterval(db, mine, { locationIds: [...new Set(rows.map(row => row.locationId))] }, always),
        )
        const byId = (a: MeterCostRow, b: MeterCostRow): number => (a.recordId < b.recordId ? -1 : 1)
        expect(read.sort(byId)).toEqual([...rows].sort(byId))
      }),
      { numRuns: 8 },
    )
  })

  it('have the highest version, for any order and number of inserts', async () => {
    const versions = [1n, 2n ** 54n + 5n, 2n ** 63n + 7n].map(version =>
      own({ version, sourceVersion: 1n, cost: version, energy: version % 1000n }),
    )
    const [low, middle, high] = versions as [MeterCostRow, MeterCostRow, MeterCostRow]
    for (const row of [middle, high, low, high, middle]) await insert([row])
    const read = await all(rowsInInterval(db, tenant, { locationIds: [location] }, always))
    expect(read.map(row => row.version)).toEqual([high.version])
    await db.command('OPTIMIZE TABLE meter_cost FINAL')
    expect((await rowOfRecord(db, tenant, low.recordId))?.version).toBe(high.version)
  })

  it('disappear after a later deletion and return with an even later row', async () => {
    await insert([own({ version: 1n, sourceVersion: 1n })])
    await insert([own({ version: 2n, sourceVersion: 2n, isDeleted: true })])
    expect(await rowOfRecord(db, tenant, own({}).recordId)).toBeNull()
    await insert([own({ version: 3n, sourceVersion: 3n })])
    expect((await rowOfRecord(db, tenant, own({}).recordId))?.version).toBe(3n)
  })

  it('are visible to their own account and mode only', async () => {
    await insert([own({ sessionReferenceId: 's', recordReferenceId: 'r' })])
    const strangers = [nextTenant(), { ...tenant, liveMode: false }]
    for (const stranger of strangers) {
      expect(await all(rowsInInterval(db, stranger, { locationIds: [location] }, always))).toEqual([])
      expect(await rowOfRecord(db, stranger, own({}).recordId)).toBeNull()
      expect(await pageOfRows(db, stranger, { ...anything, recordReferenceId: 'r' }, firstPage)).toEqual([])
      expect(await locationsOfSession(db, stranger, 's')).toEqual([])
      expect(await objectsOfLocations(db, stranger, [location])).toEqual([])
      expect(await sumsOfBuckets(stranger, { locationIds: [location] }, [0, always.to])).toEqual({
        sums: [],
        isCrossed: false,
      })
    }
  })
})

const lengths = fc.oneof(
  fc.constant(0),
  fc.integer({ min: 1, max: 2 * hourMs }),
  fc.integer({ min: 1, max: 40 * dayMs }),
)
const someRows = fc.array(
  fc.record({
    start: fc.integer({ min: base, max: base + 20 * dayMs }),
    length: lengths,
    device: fc.nat(2),
    tariffDirection: fc.constantFrom('IMPORT' as const, 'LOCAL' as const),
    isPriced: fc.boolean(),
    confidence: fc.integer({ min: 1, max: 10_000 }).map(units => units * 100),
    recordConfidence: fc.constantFrom(1_000_000, 999_999, 500_000),
    energy: fc.bigInt({ min: 0n, max: 10n ** 17n }),
    // The second piece has so little energy that the mean confidence is rounded to 1.
    second: fc.constantFrom(0n, 1n, 1_000n, null),
  }),
  { minLength: 1, maxLength: 30 },
)
const rowsFor = (
  mine: Tenant,
  made: typeof someRows extends fc.Arbitrary<infer T> ? T : never,
): readonly MeterCostRow[] =>
  made.map(({ start, length, device, isPriced, second, ...rest }, i) =>
    costRow({
      ...mine,
      ...rest,
      ...(second === null || !isPriced ? {} : { confidence: 1_000_000 }),
      start,
      end: start + length,
      deviceId: device === 0 ? null : hexId('dev_', device),
      recordId: hexId('', i),
      status: isPriced ? 'PRICED' : 'UNPRICED',
      cost: isPriced ? rest.energy / 7n : null,
      pieces: isPriced ? piecesOf(start, length, rest, second) : [],
    }),
  )

/** Return one piece, or two pieces whose second has the confidence and at most `second` of the energy. */
const piecesOf = (
  start: number,
  length: number,
  { energy, confidence }: Pick<MeterCostRow, 'energy' | 'confidence'>,
  second: bigint | null,
) => {
  const [middle, end] = [start + Math.floor(length / 2), start + length]
  const piece = { start, end, energy, price: 1n, tier: 0n, cost: energy / 7n, confidence }
  if (second === null) return [piece]
  const taken = second < energy ? second : energy
  return [
    { ...piece, end: middle, energy: energy - taken, confidence: 1_000_000 },
    { ...piece, start: middle, energy: taken, cost: 0n },
  ]
}
const sharesTime = (row: MeterCostRow, from: number, to: number): boolean =>
  row.start < to && (row.end > from || row.start >= from)

describe('rows of an interval', () => {
  it('are exactly those that overlap it, ordered by start, of any length', async () => {
    const span = fc.tuple(fc.integer({ min: base, max: base + 60 * dayMs }), fc.integer({ min: 1, max: 20 * dayMs }))
    await fc.assert(
      fc.asyncProperty(someRows, fc.array(span, { minLength: 5, maxLength: 5 }), async (made, spans) => {
        const mine = nextTenant()
        const rows = rowsFor(mine, made)
        await insert(rows)
        for (const [from, length] of spans) {
          const read = await all(rowsInInterval(db, mine, { locationIds: [location] }, { from, to: from + length }))
          expect(recordIds(read)).toEqual(recordIds(rows.filter(row => sharesTime(row, from, from + length))))
          expect(read.map(row => row.start)).toEqual(read.map(row => row.start).sort((a, b) => a - b))
        }
      }),
      { numRuns: 12 },
    )
  })

  it('can be filtered by objects, directions and status', async () => {
    const device = hexId('dev_', 1)
    await insert([
      own({ recordId: hexId('', 1) }),
      own({ recordId: hexId('', 2), deviceId: device }),
      own({ recordId: hexId('', 3), tariffDirection: 'LOCAL' }),
      own({
        recordId: hexId('', 4),
        energyFlowDirection: 'OUTBOUND',
        tariffDirection: 'EXPORT',
        status: 'PROVISIONAL',
      }),
      own({ recordId: hexId('', 5), locationId: other }),
    ])
    const found = async (filter: RowFilter): Promise<readonly number[]> =>
      (await all(rowsInInterval(db, tenant, filter, always))).map(row => Number(`0x${row.recordId}`)).sort()
    expect(await found({ locationIds: [location] })).toEqual([1, 2, 3, 4])
    expect(await found({ locationIds: [location, other], deviceIds: [null], tariffDirection: 'IMPORT' })).toEqual([
      1, 5,
    ])
    expect(await found({ locationIds: [location], deviceIds: [device] })).toEqual([2])
    expect(await found({ locationIds: [location], status: 'PROVISIONAL' })).toEqual([4])
    expect(
      await found({ locationIds: [location], energyFlowDirection: 'OUTBOUND', tariffDirection: 'EXPORT' }),
    ).toEqual([4])
    expect(await found({ locationIds: [] })).toEqual([])
  })
})

const sumsOfBuckets = async (tenant: Tenant, filter: RowFilter, edges: readonly number[]) => {
  const { lines, crossingRows: crossed } = await readBucketSums(db, tenant, filter, edges)
  return { sums: costSumsOf(lines, edges), isCrossed: crossed !== null }
}

describe('sums of buckets', () => {
  it('and the rows across buckets cover every overlapping row once', async () => {
    const cuts = fc.uniqueArray(fc.integer({ min: base - dayMs, max: base + 40 * dayMs }), {
      minLength: 2,
      maxLength: 6,
    })
    await fc.assert(
      fc.asyncProperty(someRows, cuts, async (made, unsorted) => {
        const edges = [...unsorted].sort((a, b) => a - b)
        const mine = nextTenant()
        const rows = rowsFor(mine, made)
        await insert(rows)
        const inside = rows.filter(row => sharesTime(row, edges[0] ?? 0, edges.at(-1) ?? 0))
        const bucketOf = (row: MeterCostRow): number =>
          edges.findIndex(
            (edge, i) => edge <= row.start && row.start < (edges[i + 1] ?? 0) && row.end <= (edges[i + 1] ?? 0),
          )
        const { sums, isCrossed } = await sumsOfBuckets(mine, { locationIds: [location] }, edges)
        const across = await decoded(blocksAcrossBuckets(db, mine, { locationIds: [location] }, edges))
        expect(isCrossed).toBe(across.length > 0)
        expect(costedTexts(across)).toEqual(costedTexts(inside.filter(row => bucketOf(row) === -1)))
        const interval = { from: edges[0] ?? 0, to: edges.at(-1) ?? 0 }
        const few = await costedRowsIfFew(db, mine, { locationIds: [location] }, interval, maxSmallBytes)
        expect(costedTexts(few ?? [])).toEqual(costedTexts(inside))
        // Whole and crossing rows together give what all rows give.
        const rowsAlone = costInBuckets(edges, inside.map(costRowOf))
        expect(costInBuckets(edges, across.map(costRowOf), sums).map(withoutConfidence)).toEqual(
          rowsAlone.map(withoutConfidence),
        )
        for (const { energy, estimatedEnergy, provisionalEnergy } of rowsAlone)
          expect(estimatedEnergy <= energy && provisionalEnergy <= energy).toBe(true)
        const buckets = [...new Set(inside.map(bucketOf))].filter(bucket => bucket !== -1).sort((a, b) => a - b)
        expect(sums).toEqual(
          buckets.map(bucket =>
            expectedSum(
              bucket,
              inside.filter(row => bucketOf(row) === bucket),
            ),
          ),
        )
      }),
      { numRuns: 12 },
    )
  })
})

it('rows are read in one piece only if they are few', async () => {
  const rows = Array.from({ length: 3 }, (_, index) => own({ start: base + index, recordId: hexId('', index) }))
  await insert(rows)
  const filter = { locationIds: [location] }
  const interval = { from: base, to: base + dayMs }
  const read = async (maxBytes: number) => (await costedRowsIfFew(db, tenant, filter, interval, maxBytes))?.length
  expect([await read(1_000), await read(100), await read(1_000)]).toEqual([3, undefined, 3])
})

/** The stored confidence of a row is a rounded mean of its pieces. */
const withoutConfidence = ({ confidence: _, ...element }: EnergyCostElement) => element

const expectedSum = (bucket: number, rows: readonly MeterCostRow[]): unknown => {
  const priced = rows.filter(row => row.status !== 'UNPRICED')
  const unpriced = rows.filter(row => row.status === 'UNPRICED')
  const sum = (of: (row: MeterCostRow) => bigint, over: readonly MeterCostRow[]): bigint =>
    over.reduce((total, row) => total + of(row), 0n)
  const weight = (row: MeterCostRow): bigint => BigInt(row.recordConfidence) * BigInt(row.confidence)
  const time = (row: MeterCostRow): bigint => BigInt(row.end - row.start)
  return {
    bucket,
    currency: 'EUR',
    records: rows.length,
    energy: sum(row => row.energy, priced),
    cost: sum(row => row.cost ?? 0n, priced),
    weightedEnergy: sum(row => row.energy * weight(row), priced),
    time: sum(time, rows),
    weightedTime: sum(row => time(row) * weight(row), priced),
    weightedRecords: sum(weight, priced),
    estimatedEnergy: sum(row => (row.recordConfidence === 1_000_000 ? 0n : row.energy), priced),
    provisionalEnergy: sum(
      row => row.pieces.reduce((total, one) => total + (one.confidence === 1_000_000 ? 0n : one.energy), 0n),
      priced,
    ),
    unpricedRecords: unpriced.length,
    unpricedEnergy: sum(row => row.energy, unpriced),
  }
}
