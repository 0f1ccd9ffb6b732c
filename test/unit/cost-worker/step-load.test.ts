import { describe, expect, it } from 'vitest'
import type { ReadingToStore } from '../../../services/cost-worker/cost-readings.ts'
import type { RecordToCost } from '../../../services/cost-worker/record-to-cost.ts'
import { heavyLocations } from '../../../services/cost-worker/slow-work/step-load.ts'
import { defaultLoadLimits } from '../../../services/domain/recost/recost-load.ts'
import { createPricingPool } from '../../../services/domain/tariff/pricing-pool.ts'
import { compileSnapshot } from '../../../services/domain/tariff/snapshot.ts'
import type { MeterReadingRow } from '../../../services/platform/clickhouse/readings/meter-readings.ts'
import { recordTopic } from '../../../services/platform/log/log.ts'
import type { CachedPricing } from '../../../services/platform/pricing-cache/pricing-cache.ts'
import { costRow, hexId } from '../../suites/cost-rows.ts'
import { pricing, tariff } from '../../support/oracle/tables.ts'

const hourMs = 3_600_000
const dayMs = 24 * hourMs
const accounts = { a: hexId('acc_', 1), b: hexId('acc_', 2) }

/** Prices that change this many times per day. */
const cachedPricingOf = (bands: number): CachedPricing => {
  const hours = Array.from({ length: bands }, (_, index) => ({
    validFrom: (index * 86_400) / bands,
    validTo: ((index + 1) * 86_400) / bands,
    rate: [{ fixed: BigInt(index + 1), to: null, surchargeFixed: 0n, surchargePercentage: 0n }],
  }))
  const schedule = [{ months: ['All' as const], dates: [], daysAndHours: [{ days: ['All' as const], hours }] }]
  const snapshot = compileSnapshot(
    pricing('UTC', [tariff([], { id: hexId('trf_', 7), schedule })]),
    createPricingPool(),
  )
  return { snapshot, accountId: accounts.a, revision: 1, priceRevision: 0n, importSourceId: null, exportSourceId: null }
}

/** Records of a location, each of one length. */
const recordsOf = (accountId: string, locationId: string, count: number, lengthMs: number): readonly RecordToCost[] =>
  Array.from({ length: count }, (_, index) => {
    const { liveMode, batchId, receivedAt, ...row } = costRow()
    const start = Date.UTC(2024, 0, 1) + index * lengthMs
    return {
      record: {
        ...row,
        locationId,
        start,
        end: start + lengthMs,
        confidence: 1_000_000,
        recordId: `${locationId}${index}`,
      },
      part: { accountId, liveMode, batchId, receivedAt },
      version: 1n,
      sourceVersion: 1n,
      origin: null,
    }
  })

const readingOf = (locationId: string, time: number): ReadingToStore => {
  const { energyFlowDirection, tariffDirection } = costRow()
  return {
    row: {
      accountId: accounts.a,
      liveMode: true,
      locationId,
      deviceId: null,
      energyFlowDirection,
      tariffDirection,
      time,
    } as MeterReadingRow,
    rule: null,
    origin: { assignment: { topic: recordTopic, partition: 0 } } as ReadingToStore['origin'],
  }
}

type GatheredInput = { readonly records?: readonly RecordToCost[]; readonly readings?: readonly ReadingToStore[] }

/** Return the heavy locations, with prices that change this many times per day. */
const heavyOf = async (bands: number, { records = [], readings = [] }: GatheredInput): Promise<readonly string[]> => {
  const cachedPricing = cachedPricingOf(bands)
  const gather = async (asks: readonly { readonly locationId: string }[]) =>
    new Map(asks.map(({ locationId }) => [locationId, cachedPricing]))
  const step = { records: Map.groupBy(records, ({ record }) => record.locationId), readings }
  return [...(await heavyLocations(step, new Map(), { gather, cached: () => cachedPricing }, defaultLoadLimits))]
}

describe('a location is slow work', () => {
  it('if its records have more pieces than an account has costed in a step', async () => {
    // 40 days of 1,440 bands are 57,600 pieces, 30 days 43,200.
    expect(await heavyOf(1_440, { records: recordsOf(accounts.a, 'x', 1, 40 * dayMs) })).toEqual(['x'])
    expect(await heavyOf(1_440, { records: recordsOf(accounts.a, 'x', 1, 30 * dayMs) })).toEqual([])
    // So have 800 hours of 60 each, with those of another location; of another account they do not add up.
    const many = recordsOf(accounts.a, 'x', 800, hourMs)
    expect(await heavyOf(1_440, { records: [...many, ...recordsOf(accounts.a, 'y', 800, hourMs)] })).toEqual(['y'])
    expect(await heavyOf(1_440, { records: [...many, ...recordsOf(accounts.b, 'y', 800, hourMs)] })).toEqual([])
  })

  it('never with usual prices and records, for any number of records', async () => {
    const quarterHours = Array.from({ length: 40 }, (_, index) =>
      recordsOf(accounts.a, `l${index}`, 2_000, hourMs / 4),
    ).flat()
    expect(await heavyOf(96, { records: quarterHours })).toEqual([])
    expect(await heavyOf(4, { records: recordsOf(accounts.a, 'x', 100, 364 * dayMs) })).toEqual(['x'])
    expect(await heavyOf(4, { records: recordsOf(accounts.a, 'x', 30, 364 * dayMs) })).toEqual([])
  })

  it('if its readings may make long intervals at prices that change often', async () => {
    const far = [readingOf('x', Date.UTC(2024, 0, 1)), readingOf('x', Date.UTC(2024, 11, 30))]
    expect(await heavyOf(1_440, { readings: far })).toEqual(['x'])
    expect(await heavyOf(1_440, { readings: far.slice(1) })).toEqual(['x'])
    expect(await heavyOf(96, { readings: far })).toEqual([])
  })
})
