import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { openLmdbLog } from '../../services/platform/log/lmdb/lmdb-log.ts'
import { verifyLog } from './clients/verify-log.ts'
import { limitRate, openEmbeddedLimit } from './limit/limit.ts'
import { medianOf, swingOf } from './quiet-machine.ts'
import { quantileOf, samplesSince, sumOf } from './samples.ts'
import { compare } from './shapes/kills.ts'
import { inBatches } from './shapes/topic-reader.ts'

const folder = mkdtempSync(join(tmpdir(), 'wattledger-judges-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe('the judges of the benches', () => {
  it('find what a log lost, repeated and put out of order', async () => {
    const log = await openLmdbLog({ folder, now: () => 0 })
    const report = { acknowledged: [[0, 0, 4]] as const, rejected: 0, longestPauseMs: 0, stuck: 0 }
    const write = (text: string) =>
      log.append('meter.records.v1', 1, { key: '', value: Buffer.from(`${text}   `), headers: {} })
    for (const number of [0, 1, 2, 3]) await write(`0 ${number}`)
    expect(await verifyLog(log, report)).toEqual({ acknowledged: 4, lost: 0, repeated: 0, disordered: 0 })
    await write('0 1')
    expect(await verifyLog(log, { ...report, acknowledged: [[0, 0, 6]] })).toEqual({
      acknowledged: 6,
      lost: 2,
      repeated: 1,
      disordered: 1,
    })
    await log.close()
  })

  it('find what of a table is missing and what counts twice', () => {
    const acknowledged = new Set(['a 1', 'a 2', 'a 3'])
    const counts = new Map([
      ['a 1', 1],
      ['a 2', 3],
      ['b 9', 1],
    ])
    expect(compare(acknowledged, counts)).toEqual({ acknowledged: 3, missing: 1, doubled: 2 })
  })

  it('read sums and quantiles of what processes count', () => {
    const samples = new Map([
      ['lag_bucket{le="1"}', 50],
      ['lag_bucket{le="2"}', 90],
      ['lag_bucket{le="+Inf"}', 100],
      ['stored{lane="0"}', 3],
      ['stored{lane="1"}', 4],
      ['stored_other', 9],
    ])
    expect(sumOf(samples, 'stored')).toBe(7)
    // 80 of 100: 50 lie below 1, 30 of the 40 between 1 and 2 are taken.
    expect(quantileOf(samples, 'lag', 0.8)).toBe(1.75)
    expect(quantileOf(samples, 'lag', 0.99)).toBe(2)
    const since = samplesSince(new Map([['stored{lane="0"}', 2]]), samples)
    expect([since.get('stored{lane="0"}'), since.get('stored{lane="1"}')]).toEqual([1, 4])
  })

  it('gather batches that are full, or late', async () => {
    async function* items() {
      yield* [1, 2, 3]
      await new Promise(resolve => setTimeout(resolve, 200))
      yield* [4]
    }
    expect(await Array.fromAsync(inBatches(items(), 2, 50))).toEqual([[1, 2], [3], [4]])
  })
})

describe('the limit of P1', () => {
  it('stores every record of a load', { timeout: 60_000 }, async () => {
    expect(
      await limitRate(openEmbeddedLimit, { seconds: 1, rate: null, locations: 250, connections: 2 }),
    ).toBeGreaterThan(0)
  })

  it('shares no line with the product', () => {
    const limit = join(import.meta.dirname, 'limit')
    for (const file of readdirSync(limit))
      expect(readFileSync(join(limit, file), 'utf8'), file).not.toContain('/services/')
  })

  it('is compared by medians, beside how far the rounds lie apart', () => {
    expect(medianOf([30, 10, 20])).toBe(20)
    expect(medianOf([10, 40, 20, 30])).toBe(25)
    expect(swingOf([90, 100, 110])).toBe(20)
  })
})
