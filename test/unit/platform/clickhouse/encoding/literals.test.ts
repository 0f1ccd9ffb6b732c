import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openChdb } from '../../../../../services/platform/clickhouse/chdb.ts'
import type { ClickHouse } from '../../../../../services/platform/clickhouse/clickhouse.ts'
import { isAmong, isInstantAmong, wholeList } from '../../../../../services/platform/clickhouse/encoding/literals.ts'
import { hexId } from '../../../../suites/cost-rows.ts'

const start = Date.UTC(2025, 0, 1)
const ids = Array.from({ length: 64 }, (_, index) => hexId('loc_', index))

let folder = ''
let db: ClickHouse
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'wattledger-literals-'))
  db = openChdb({ folder })
  await db.command(`CREATE TABLE facts (id FixedString(12), at DateTime64(3, 'UTC')) ENGINE = MergeTree ORDER BY (id, at)
    SETTINGS index_granularity = 8`)
  await db.command(`INSERT INTO facts SELECT toFixedString(unhex(arrayJoin(splitByChar(',', '${ids.map(id => id.slice(4)).join(',')}'))), 12),
    fromUnixTimestamp64Milli(${start} + 1500 * number, 'UTC') FROM numbers(8)`)
})
afterAll(async () => {
  await db.close()
  rmSync(folder, { recursive: true, force: true })
})

const count = async (condition: string): Promise<number> =>
  Number((await db.rows(`SELECT toUInt32(count()) FROM facts WHERE ${condition}`))[0]?.[0])

/** Return the granules that the engine reads. */
const granules = async (condition: string): Promise<number> =>
  Number((await db.rows(`EXPLAIN ESTIMATE SELECT * FROM facts WHERE ${condition}`))[0]?.[4] ?? 0)

describe('lists of literals', () => {
  it('find each id, also the bytes of no id, and read only the parts of the index that have them', async () => {
    expect(hexId('loc_', 0)).toBe(`loc_${'0'.repeat(24)}`)
    expect(await count(isAmong('id', ids))).toBe(64 * 8)
    const few = [null, hexId('loc_', 40)]
    expect(await count(isAmong('id', few))).toBe(16)
    expect(await granules(isAmong('id', few))).toBeLessThanOrEqual(4)
    expect(await count(isAmong('id', [hexId('loc_', 40)]))).toBe(8)
    expect(await count(isAmong('id', []))).toBe(0)
  })

  it.each([8_000, 8_001, 9_000, 9_100, 20_000])('find %i ids, in statements of any length', async number => {
    const many = Array.from({ length: number }, (_, index) => hexId('loc_', index))
    const condition = isAmong('id', many)
    expect(condition.length > 256 * 1_024).toBe(number > 9_000)
    expect(await count(condition)).toBe(ids.length * 8)
    expect(await count(isAmong('id', many.slice(ids.length)))).toBe(0)
  })

  it('find instants to the millisecond, also before 1970', async () => {
    expect(await count(isInstantAmong('at', [start + 1500, start + 3000, start + 3001, -5]))).toBe(2 * 64)
    expect(await db.rows(`SELECT ${isInstantAmong(`fromUnixTimestamp64Milli(toInt64(-5), 'UTC')`, [-5])}`)).toEqual([
      [1],
    ])
    const one = `${isAmong('id', [hexId('loc_', 3)])} AND ${isInstantAmong('at', [start, start + 1500])}`
    expect(await count(one)).toBe(2)
    expect(await granules(one)).toBeLessThanOrEqual(2)
  })

  it('find whole numbers', async () => {
    expect(await db.rows(`SELECT toInt64(9007199254740991) IN ${wholeList([1, Number.MAX_SAFE_INTEGER])}`)).toEqual([
      [1],
    ])
  })

  it('refuse texts that are no ids, and numbers that are not whole', () => {
    for (const text of [`loc_' OR 1=1 --`, `x`, `loc_${'0'.repeat(23)}'`])
      expect(() => isAmong('id', [hexId('loc_', 1), text])).toThrow(RangeError)
    expect(() => wholeList([1, 0.5])).toThrow(RangeError)
    expect(() => isInstantAmong('at', [Number.NaN])).toThrow(RangeError)
  })
})
