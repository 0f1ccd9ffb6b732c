import { describe, expect, it } from 'vitest'
import { costInSteps, rowOf } from '../../../services/cost-worker/record-to-cost.ts'
import { costRecord } from '../../../services/domain/cost/cost-record.ts'
import { noOptions } from '../../../services/domain/record/record.ts'
import { createPricingPool } from '../../../services/domain/tariff/pricing-pool.ts'
import { compileSnapshot } from '../../../services/domain/tariff/snapshot.ts'
import type { TimeBand } from '../../../services/domain/tariff/tariff.ts'
import { meterCostBlock } from '../../../services/platform/clickhouse/encoding/fast-path/meter-cost-block.ts'
import { runInTimeSlices } from '../../../services/platform/concurrency/time-slices.ts'
import type { CachedPricing } from '../../../services/platform/pricing-cache/pricing-cache.ts'
import { costRow, hexId } from '../../suites/cost-rows.ts'
import { cpuGrowth } from '../../support/cpu/cpu-growth.ts'
import { cpuTimeMs, leastCpuTimeMs } from '../../support/cpu/cpu-time.ts'
import { pricing, tariff } from '../../support/oracle/tables.ts'

const dayMs = 86_400_000
const start = Date.UTC(2024, 0, 1)

/** Number of time bands per day. Neighbouring bands have different prices. */
const bandsOf = (count: number): TimeBand[] =>
  Array.from({ length: count }, (_, index) => ({
    validFrom: (index * 86_400) / count,
    validTo: ((index + 1) * 86_400) / count,
    rate: [{ fixed: BigInt(index + 1) * 1_000n, to: null, surchargeFixed: 0n, surchargePercentage: 0n }],
  }))

const cachedPricingOf = (bands: number): CachedPricing => {
  const of = tariff([], {
    id: hexId('trf_', 7),
    schedule: [{ months: ['All'], dates: [], daysAndHours: [{ days: ['All'], hours: bandsOf(bands) }] }],
  })
  const snapshot = compileSnapshot(pricing('UTC', [of]), createPricingPool())
  return {
    snapshot,
    accountId: hexId('acc_', 1),
    revision: 1,
    priceRevision: 0n,
    importSourceId: null,
    exportSourceId: null,
  }
}

const entryOf = (days: number) => {
  const { accountId, liveMode, batchId, receivedAt, recordId, locationId } = costRow()
  return {
    record: {
      locationId,
      deviceId: null,
      energyFlowDirection: 'INBOUND' as const,
      tariffDirection: 'IMPORT' as const,
      recordId,
      start,
      end: start + days * dayMs,
      energy: 123_456_789_012_345n,
      confidence: 1_000_000,
      ...noOptions,
    },
    part: { accountId, liveMode, batchId, receivedAt },
    version: 5n,
    sourceVersion: 5n,
    origin: null,
  }
}

describe('a long record', () => {
  const cachedPricing = cachedPricingOf(288)

  it('is stored as one that is costed at once, byte for byte, among rows of few pieces', async () => {
    const entry = entryOf(30)
    const whole = rowOf(entry, costRecord(cachedPricing.snapshot, entry.record), cachedPricing)
    const { row } = await runInTimeSlices(costInSteps(entry, cachedPricing))
    expect(whole.pieces.length).toBe(30 * 288)
    expect([row.pieces.length, row.packed?.count]).toEqual([0, 30 * 288])
    const small = rowOf(entryOf(1), costRecord(cachedPricing.snapshot, entryOf(1).record), cachedPricing)
    for (const others of [[], [small], [costRow(), small]]) {
      const block = meterCostBlock([...others, row, ...others, row])
      expect(block).toEqual(meterCostBlock([...others, whole, ...others, whole]))
    }
  })

  it('may be interrupted after each of its days', () => {
    let stops = 0
    const work = costInSteps(entryOf(30), cachedPricing)
    for (let step = work.next(); step.done !== true; step = work.next()) stops += 1
    expect(stops).toBe(30)
  })

  it('holds the thread for some milliseconds at a time', () => {
    const large = cachedPricingOf(1_440)
    const timesOfSlices = (): number[] => {
      const work = costInSteps(entryOf(120), large)
      const times: number[] = []
      for (let isDone = false; !isDone; ) {
        times.push(
          cpuTimeMs(() => {
            isDone = work.next().done === true
          }),
        )
      }
      return times
    }
    // The garbage collector and other work on the machine disturb single slices, of another day in each round.
    const rounds = [timesOfSlices(), timesOfSlices(), timesOfSlices()]
    const leastTimes = rounds[0]?.map((_, day) => Math.min(...rounds.map(times => times[day] ?? 0))) ?? []
    expect(leastTimes.length).toBe(121)
    expect(Math.max(...leastTimes)).toBeLessThan(20)
  })

  it('takes time in proportion to its pieces, of which a year of minutes has the most', async () => {
    const large = cachedPricingOf(1_440)
    const cost = (days: number): void => {
      for (const _ of costInSteps(entryOf(days), large));
    }
    expect(await cpuGrowth(60, cost)).toBeLessThan(2.5)
    // 172,800 pieces, some 2 µs each.
    expect(await leastCpuTimeMs(1_000, () => cost(120))).toBeLessThan(1_000)
  })
})
