import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { limitRate, openEmbeddedLimit } from './limit/limit.ts'
import { quantileOf, samplesSince, sumOf } from './samples.ts'
import { compare } from './shapes/kills.ts'
import { inBatches } from './shapes/topic-reader.ts'
import { medianOf, quantile, spreadOf } from './statistics.ts'

describe('verifications of the benchmarks', () => {
  it('find missing and duplicate rows of a table', () => {
    const acknowledged = new Set(['a 1', 'a 2', 'a 3'])
    const counts = new Map([
      ['a 1', 1],
      ['a 2', 3],
      ['b 9', 1],
    ])
    expect(compare(acknowledged, counts)).toEqual({ acknowledged: 3, missing: 1, duplicates: 2 })
  })

  it('read sums and quantiles of metrics', () => {
    const samples = new Map([
      ['lag_bucket{le="1"}', 50],
      ['lag_bucket{le="2"}', 90],
      ['lag_bucket{le="+Inf"}', 100],
      ['stored{lane="0"}', 3],
      ['stored{lane="1"}', 4],
      ['stored_other', 9],
    ])
    expect(sumOf(samples, 'stored')).toBe(7)
    // 80 of 100 values: 50 are below 1, and 30 of the 40 between 1 and 2 are below the quantile.
    expect(quantileOf(samples, 'lag', 0.8)).toBe(1.75)
    expect(quantileOf(samples, 'lag', 0.99)).toBe(2)
    const since = samplesSince(new Map([['stored{lane="0"}', 2]]), samples)
    expect([since.get('stored{lane="0"}'), since.get('stored{lane="1"}')]).toEqual([1, 4])
  })

  it('return a batch when it is full or when its time is over', async () => {
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

  it('imports nothing from the product', () => {
    const limit = join(import.meta.dirname, 'limit')
    for (const file of readdirSync(limit))
      expect(readFileSync(join(limit, file), 'utf8'), file).not.toContain('/services/')
  })

  it('is compared by medians, with the spread of the rounds', () => {
    expect(medianOf([30, 10, 20])).toBe(20)
    expect([quantile([3, 1, 2, 4], 0.5), quantile([3, 1, 2], 1), quantile([], 0.5)]).toEqual([3, 3, undefined])
    expect(medianOf([10, 40, 20, 30])).toBe(25)
    expect(spreadOf([90, 100, 110])).toBe(20)
  })
})
