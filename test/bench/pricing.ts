import { costRecord } from '../../services/domain/cost/cost-record.ts'
import { type MeterRecord, noOptions } from '../../services/domain/record/record.ts'
import { createPricingPool } from '../../services/domain/tariff/pricing-pool.ts'
import type { Rate } from '../../services/domain/tariff/rate.ts'
import { compileSnapshot, type PricingSnapshot } from '../../services/domain/tariff/snapshot.ts'
import type { MarketSeries, PricingInput, Tariff, TimeBand } from '../../services/domain/tariff/tariff.ts'
import { zoneOf } from '../support/oracle/zone.ts'
import { countChanges } from '../support/tariffs/count-changes.ts'

/** Records per second on one core, and size of a location's snapshot. */
export type PricingFigure = {
  readonly name: string
  readonly recordsPerSecond: number
  readonly bytesPerLocation: number
}

const quarterMs = 900_000
const firstStart = Date.UTC(2026, 2, 10)
const zone = zoneOf('Europe/Berlin')

const rate = (fixed: bigint, to: bigint | null = null): Rate => ({
  fixed,
  to,
  surchargeFixed: 12_500_000n,
  surchargePercentage: 190_000_000_000_000n,
})

const band = (fromHour: number, toHour: number, rates: readonly Rate[]): TimeBand => ({
  validFrom: fromHour * 3600,
  validTo: toHour * 3600,
  rate: rates,
})

const tariffOf = (location: number, kind: Kind, variant: number): Tariff => {
  const cents = BigInt(variant) * 1_000_000n
  const rates = (base: bigint): Rate[] =>
    kind === 'tiered'
      ? [rate(base + cents, 100_000_000_000n), rate(base + 50_000_000n, 400_000_000_000n), rate(base + 90_000_000n)]
      : [rate(base + cents)]
  const market = [{ ...rate(0n), surchargeFixed: cents }]
  const hours =
    kind === 'market'
      ? [band(0, 24, market)]
      : [
          band(0, 6, rates(210_000_000n)),
          band(6, 17, rates(290_000_000n)),
          band(17, 21, rates(380_000_000n)),
          band(21, 24, rates(210_000_000n)),
        ]
  return {
    id: `trf_${location}`,
    direction: 'IMPORT',
    type: 'COMMODITY',
    marketRates: kind === 'market',
    contractStart: Date.UTC(2025, 0, 1),
    contractEnd: null,
    closedAt: null,
    schedule: [{ months: ['All'], dates: [], daysAndHours: [{ days: ['All'], hours }] }],
  }
}

type Kind = 'time of use' | 'tiered' | 'market'

const quarterSeries = (days: number): MarketSeries => {
  const starts = Array.from({ length: days * 96 }, (_, index) => firstStart + index * quarterMs)
  return {
    sourceId: 'mrs_bench',
    starts,
    ends: starts.map(start => start + quarterMs),
    prices: starts.map((_, index) => BigInt(40_000_000 + ((index * 7919) % 200_000_000))),
    confidences: starts.map(() => 1),
  }
}

const inputOf = (location: number, kind: Kind, variants: number, market: MarketSeries): PricingInput => ({
  locationId: `loc_${location}`,
  currencyCode: 'EUR',
  timeZone: zone,
  calendar: null,
  tariffs: [tariffOf(location, kind, location % variants)],
  importMarket: kind === 'market' ? market : null,
  exportMarket: null,
})

const recordsOf = (count: number, locations: number): MeterRecord[] =>
  Array.from({ length: count }, (_, index) => {
    const start = firstStart + (Math.floor(index / locations) % 192) * quarterMs
    return {
      locationId: `loc_${index % locations}`,
      deviceId: null,
      energyFlowDirection: 'INBOUND',
      tariffDirection: 'IMPORT',
      start,
      end: start + quarterMs,
      energy: BigInt(200_000_000 + ((index * 104_729) % 3_000_000_000)),
      confidence: 1_000_000,
      ...noOptions,
    }
  })

/** Return the best rate of three rounds, by CPU time with garbage collection, so that other processes do not count. */
const recordsPerSecond = (
  snapshots: ReadonlyMap<string, PricingSnapshot>,
  records: readonly MeterRecord[],
  tiered: boolean,
): number => {
  let best = 0
  for (let round = 0; round < 3; round += 1) {
    const counts = new Map<string, Map<number, bigint>>()
    let sum = 0n
    const startUsage = process.cpuUsage()
    for (const record of records) {
      const snapshot = snapshots.get(record.locationId) as PricingSnapshot
      if (!tiered) {
        sum += costRecord(snapshot, record).cost ?? 0n
        continue
      }
      const counted = counts.get(record.locationId) ?? new Map<number, bigint>()
      counts.set(record.locationId, counted)
      const costed = costRecord(snapshot, record, counted)
      countChanges(counted, costed.accumulatorChanges)
      sum += costed.cost ?? 0n
    }
    const { user, system } = process.cpuUsage(startUsage)
    if (sum === 0n) throw new Error('No record was priced.')
    best = Math.max(best, (records.length / (user + system)) * 1e6)
  }
  return best
}

const measure = (kind: Kind, variants: number, locations: number, count: number): PricingFigure => {
  const records = recordsOf(count, locations)
  const market = quarterSeries(40)
  const inputs = Array.from({ length: locations }, (_, location) => inputOf(location, kind, variants, market))
  globalThis.gc?.()
  const before = process.memoryUsage().heapUsed
  const pool = createPricingPool()
  const snapshots = new Map(inputs.map(input => [input.locationId, compileSnapshot(input, pool)]))
  globalThis.gc?.()
  const bytes = (process.memoryUsage().heapUsed - before) / locations
  const rateOf = recordsPerSecond(snapshots, records, kind === 'tiered')
  return {
    name: `${kind}, ${variants} different tariffs`,
    recordsPerSecond: Math.round(rateOf),
    bytesPerLocation: Math.round(bytes),
  }
}

/**
 * Measure pricing on one core. The records are in time order and spread over all locations.
 * Many locations share a tariff in the first three figures. Each location has its own tariff in the others.
 */
export const pricingFigures = (locations = 100_000, count = 500_000): PricingFigure[] =>
  [200, locations].flatMap(variants =>
    (['time of use', 'tiered', 'market'] as const).map(kind => measure(kind, variants, locations, count)),
  )

if (import.meta.main) for (const figure of pricingFigures()) console.log(JSON.stringify(figure))
