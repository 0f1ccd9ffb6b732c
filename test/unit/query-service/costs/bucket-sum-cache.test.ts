import { afterEach, describe, expect, it } from 'vitest'
import type { ClickHouse } from '../../../../services/platform/clickhouse/clickhouse.ts'
import { costSumsOf } from '../../../../services/platform/clickhouse/meter-cost/meter-cost-sums.ts'
import { Failure } from '../../../../services/platform/failure.ts'
import {
  type BucketSumCache,
  bucketSumCache,
  storeBuckets,
} from '../../../../services/query-service/costs/bucket-sum-cache.ts'
import { readCosts } from '../../../../services/query-service/costs/read-costs.ts'
import { hexId } from '../../../suites/cost-rows.ts'
import {
  base,
  dayMs,
  db,
  hourMs,
  insert,
  location,
  other,
  own,
  tenant,
  useMeterTables,
} from '../../../suites/meter-tables.ts'
import { seededRandom } from '../../../support/random.ts'

useMeterTables()

const days = 6
const edges = Array.from({ length: days + 1 }, (_, day) => base + day * dayMs)

/** Create a record of an hour of a day. A later version replaces an earlier one of the same day and hour. */
const hour = (day: number, hourOfDay: number, cost: bigint, version: bigint) =>
  own({
    locationId: hourOfDay % 2 === 0 ? location : other,
    recordId: hexId('', day * 24 + hourOfDay + 1),
    start: base + day * dayMs + hourOfDay * hourMs,
    end: base + day * dayMs + (hourOfDay + 1) * hourMs,
    cost,
    version,
    sourceVersion: version,
  })

/** Record the sums that the engine reads; `before` runs before each of them. */
const recorded = (before: (sql: string) => Promise<void> = async () => undefined) => {
  const reads: string[] = []
  const engine: ClickHouse = {
    ...db,
    lines: async (sql, of) => {
      reads.push(sql)
      await before(sql)
      return db.lines(sql, of)
    },
  }
  return { engine, reads }
}

const sumsOf = async (engine: ClickHouse, cache?: BucketSumCache) => {
  const { sums, blocks } = await readCosts(engine, tenant, [{ locationIds: null }], edges, cache)
  return { sums: costSumsOf(sums.join('\n'), edges), rowsAcross: blocks.length }
}

/** Count the edges in a statement: one more than its buckets, and the instant before the first. */
const bucketsIn = (sql = ''): number => (/CAST\(\[([^\]]*)\]/.exec(sql)?.[1]?.split(',').length ?? 0) - 2

describe('cached sums of an account', () => {
  // A merge in the background replaces parts, so that more days are read again.
  const withoutMerges = () => db.command('SYSTEM STOP MERGES meter_cost')
  const withMerges = () => db.command('SYSTEM START MERGES meter_cost')
  afterEach(withMerges)

  it('are read once, and again only for days whose rows changed', async () => {
    const cache = bucketSumCache()
    await withoutMerges()
    await insert([0, 1, 2, 3, 4, 5].map(day => hour(day, 1, 10n, 1n)))
    const { engine, reads } = recorded()
    const first = await sumsOf(engine, cache)
    expect(await sumsOf(engine, cache)).toEqual(first)
    expect(reads.map(bucketsIn)).toEqual([days])
    await insert([hour(4, 1, 25n, 2n), hour(4, 2, 7n, 2n)])
    expect((await sumsOf(engine, cache)).sums.map(({ cost }) => cost)).toEqual([10n, 10n, 10n, 10n, 32n, 10n])
    expect(reads.map(bucketsIn)).toEqual([days, 1])
    // The rows of the day before are not read: known days have no row that reaches into the next one.
    expect([reads[0]?.includes('meter_long_rows'), reads[1]?.includes('meter_long_rows')]).toEqual([true, false])
    expect(reads[1]).toContain(`start_time >= fromUnixTimestamp64Milli(toInt64(${edges[4]}), 'UTC')`)
  })

  it('see a row that reaches into the interval from before it, or from one day into the next', async () => {
    const cache = bucketSumCache()
    await insert([hour(1, 1, 10n, 1n)])
    await sumsOf(db, cache)
    const across = (number: number, start: number) =>
      own({ recordId: hexId('', 900 + number), start, end: start + hourMs, cost: 5n })
    await insert([across(1, base - hourMs / 2)])
    expect(await sumsOf(db, cache)).toEqual(await sumsOf(db))
    await insert([across(2, base + 3 * dayMs - hourMs / 2)])
    const both = await sumsOf(db, cache)
    expect(both).toEqual(await sumsOf(db))
    expect(both.rowsAcross).toBeGreaterThan(0)
  })

  it('equal sums without a cache after random inserts, replacements, withdrawals and merges', async () => {
    const cache = bucketSumCache()
    const next = seededRandom(7)
    for (let step = 1; step <= 24; step += 1) {
      const rows = Array.from({ length: 1 + next.below(4) }, () =>
        hour(next.below(days), next.below(24), BigInt(next.below(100)), BigInt(step)),
      )
      await insert(rows.map(row => ({ ...row, isDeleted: next.oneIn(6) })))
      // From the middle on, some rows reach into the next day.
      const late = { ...hour(next.below(days), 23, BigInt(step), BigInt(step)), recordId: hexId('', 2_000 + step) }
      if (step > 12 && next.oneIn(3)) await insert([{ ...late, end: late.end + hourMs }])
      if (step % 9 === 0) await db.command('OPTIMIZE TABLE meter_cost')
      if (step % 20 === 0) await db.command('OPTIMIZE TABLE meter_cost FINAL')
      expect(await sumsOf(db, cache)).toEqual(await sumsOf(db))
    }
  })

  it('contain all of a write or nothing of the write that arrives during the read', async () => {
    const cache = bucketSumCache()
    await withoutMerges()
    await insert([0, 1, 2].map(day => hour(day, 1, 10n, 1n)))
    await sumsOf(db, cache)
    await insert([hour(2, 1, 20n, 2n)])
    let isWritten = false
    const { engine, reads } = recorded(async () => {
      if (isWritten) return
      isWritten = true
      await insert([hour(0, 1, 30n, 3n), hour(2, 1, 30n, 3n)])
    })
    expect((await sumsOf(engine, cache)).sums.map(({ cost }) => cost)).toEqual([30n, 10n, 30n])
    expect(reads.map(bucketsIn)).toEqual([1, days])
    expect(await sumsOf(db, cache)).toEqual(await sumsOf(db))
  })

  it('are not used with replicas, whose parts can differ from those of the sums', async () => {
    const cache = bucketSumCache()
    const { engine, reads } = recorded()
    const replicated = { ...engine, hasReplicas: true }
    await insert([hour(0, 1, 10n, 1n)])
    await sumsOf(replicated, cache)
    await sumsOf(replicated, cache)
    expect([reads.map(bucketsIn), cache.size]).toEqual([[days, days], 0])
  })

  it('are not used if the user of the engine may not list its parts', async () => {
    const cache = bucketSumCache()
    await insert([hour(1, 1, 10n, 1n)])
    const { engine, reads } = recorded()
    const restricted: ClickHouse = {
      ...engine,
      rows: async (sql, of) => {
        if (sql.includes('system.parts')) throw new Failure('clickhouse_refused', 'Not enough privileges.')
        return db.rows(sql, of)
      },
    }
    for (const cost of [10n, 12n]) {
      await insert([hour(1, 1, cost, cost)])
      expect((await sumsOf(restricted, cache)).sums.map(one => one.cost)).toEqual([cost])
    }
    expect([reads.length, cache.size]).toEqual([2, 0])
  })

  it.each([
    [0, [days]],
    [1, [days, days]],
  ])('compare at most 20,000 parts times edges: %i parts above it', async (above, expected) => {
    const parts = Math.floor(20_000 / edges.length) + above
    const cache = bucketSumCache()
    const { engine, reads } = recorded()
    const rows = Array.from({ length: parts }, (_, part) => [0, 0, `part ${part}`])
    const divided = { ...engine, rows: async () => rows }
    await insert([hour(0, 1, 10n, 1n)])
    expect(await sumsOf(divided, cache)).toEqual(await sumsOf(divided, cache))
    expect(reads.map(bucketsIn)).toEqual(expected)
  })

  it('are not stored if a day has rows in so many currencies that its text is long', () => {
    const cache = bucketSumCache()
    const buckets = ['short', 'long'].map((key, from) => ({ from, key, parts: 'p' }))
    const texts = new Map([
      [0, 'a'.repeat(4_096)],
      [1, 'a'.repeat(4_097)],
    ])
    storeBuckets(cache, buckets, texts)
    expect([...cache.keys()]).toEqual(['short'])
  })

  it('are limited in number', async () => {
    const cache = bucketSumCache()
    for (let index = 0; index < 6_000; index += 1) cache.set(`old ${index}`, { parts: '', lines: '' })
    await sumsOf(db, cache)
    expect(cache.size).toBe(5_000)
    expect(cache.has('old 5999')).toBe(true)
  })
})
