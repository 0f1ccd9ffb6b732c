import { describe, expect, it } from 'vitest'
import type { ClickHouse } from '../../../../services/platform/clickhouse/clickhouse.ts'
import { decodeCostedRows } from '../../../../services/platform/clickhouse/meter-cost/meter-cost-rows.ts'
import { costSumsOf } from '../../../../services/platform/clickhouse/meter-cost/meter-cost-sums.ts'
import { readCosts, readRowsIfFew } from '../../../../services/query-service/costs/read-costs.ts'
import { hexId } from '../../../suites/cost-rows.ts'
import { base, db, hourMs, insert, location, own, tenant, useMeterTables } from '../../../suites/meter-tables.ts'

useMeterTables()

const edges = [base, base + hourMs, base + 2 * hourMs]

/** Create the rows of one write: one within a bucket, others across an edge. Each cost identifies the write. */
const written = (version: bigint, cost: bigint, across: number) =>
  Array.from({ length: across + 1 }, (_, index) => {
    const start = index === 0 ? base : base + hourMs / 2 + index
    return own({
      recordId: hexId('', index + 1),
      start,
      end: start + hourMs / 2,
      cost,
      version,
      sourceVersion: version,
    })
  })

/** Create a ClickHouse client that runs a function before its first reads of rows in blocks. */
const interrupted = (times: number, write: (time: number) => Promise<void>): ClickHouse => {
  let done = 0
  return {
    ...db,
    blocks: async (sql, of) => {
      if (done < times) {
        done += 1
        await write(done)
      }
      return db.blocks(sql, of)
    },
  }
}

/** Return the distinct costs in an answer, of rows within buckets and of rows across edges. */
const costsIn = async (engine: ClickHouse) => {
  const { sums, blocks } = await readCosts(engine, tenant, [{ locationIds: [location] }], edges)
  const whole = costSumsOf(sums.join('\n'), edges)
  const crossing = blocks.flatMap(block => decodeCostedRows(Buffer.from(block)))
  return {
    whole: whole.map(({ cost }) => cost),
    crossing: [...new Set(crossing.map(({ cost }) => cost))],
    records: crossing.length,
  }
}

describe('costs that are written while they are read', () => {
  it.each([1, 2_000])('contain all of a write or nothing of the write, with %i rows across edges', async across => {
    await insert(written(1n, 10n, across))
    expect(await costsIn(db)).toEqual({ whole: [10n], crossing: [10n], records: across })
    const changing = interrupted(1, () => insert(written(2n, 20n, across)))
    expect(await costsIn(changing)).toEqual({ whole: [20n], crossing: [20n], records: across })
    const growing = interrupted(1, () => insert(written(3n, 30n, across + 1)))
    expect(await costsIn(growing)).toEqual({ whole: [30n], crossing: [30n], records: across + 1 })
  })

  it('are refused as temporary if they change during each read', async () => {
    await insert(written(1n, 10n, 1))
    const restless = interrupted(100, time => insert(written(BigInt(time + 1), 20n, 1)))
    await expect(costsIn(restless)).rejects.toMatchObject({ code: 'costs_changing', retriable: true })
  })
})

it('the rows of up to 25 hours of one location are read, and sums of a longer interval or of two locations', async () => {
  await insert(written(1n, 10n, 1))
  const rowsOf = async (locationIds: readonly string[], ms: number) =>
    (await readRowsIfFew(db, tenant, { locationIds }, { from: base, to: base + ms }))?.length
  expect(await rowsOf([location], 25 * hourMs)).toBe(2)
  expect(await rowsOf([location], 25 * hourMs + 1)).toBeUndefined()
  expect(await rowsOf([location, hexId('loc_', 2)], hourMs)).toBeUndefined()
})
