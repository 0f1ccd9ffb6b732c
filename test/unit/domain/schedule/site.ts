import fc from 'fast-check'
import type { AmountPricing } from '../../../../services/domain/schedule/amount.ts'
import type {
  AmountRequest,
  ExpectedGeneration,
  PlannedDevice,
} from '../../../../services/domain/schedule/amount-request.ts'
import { createPricingPool } from '../../../../services/domain/tariff/pricing-pool.ts'
import type { Rate } from '../../../../services/domain/tariff/rate.ts'
import { compileSnapshot } from '../../../../services/domain/tariff/snapshot.ts'
import type { MarketSeries, Tariff } from '../../../../services/domain/tariff/tariff.ts'
import { zoneOf } from '../../../support/oracle/zone.ts'

/** One price list of a site: a price (1e-9 per kWh) for each hour from `siteStart` on; null is not known. */
type Prices = readonly (bigint | null)[]

/** A site as a person would describe it; all its tiers lift the price of every hour alike. */
export type Site = AmountRequest & {
  readonly imports: Prices
  readonly exports: Prices
  /** Surcharges on the import price from each bound (1e-6 Wh in the calendar month of UTC); both ascend. */
  readonly tiers: readonly { readonly from: bigint; readonly adds: bigint }[]
  /** Counted in the month of `siteStart` before it (1e-6 Wh). */
  readonly counted: bigint
  readonly generation: readonly ExpectedGeneration[]
  readonly localPrice: bigint
}

export const hourMs = 3_600_000
/** A day before the end of a month, so that two months count. */
export const siteStart = Date.UTC(2026, 0, 31)
export const monthEnd = Date.UTC(2026, 1, 1)
export const siteHours = 48

const seriesOf = (sourceId: string, prices: Prices): MarketSeries => {
  const known = prices.flatMap((price, hour) => (price === null ? [] : [{ price, start: siteStart + hour * hourMs }]))
  return {
    sourceId,
    starts: known.map(({ start }) => start),
    ends: known.map(({ start }) => start + hourMs),
    prices: known.map(({ price }) => price),
    confidences: known.map(() => 1),
  }
}

const tariffOf = (direction: Tariff['direction'], rates: readonly Rate[], marketRates: boolean): Tariff => ({
  id: `trf_${direction}`,
  direction,
  type: 'COMMODITY',
  marketRates,
  contractStart: null,
  contractEnd: null,
  closedAt: null,
  schedule: [
    {
      months: ['All'],
      dates: [],
      daysAndHours: [{ days: ['All'], hours: [{ validFrom: 0, validTo: 86_400, rate: rates }] }],
    },
  ],
})

const plainRate = { fixed: 0n, to: null, surchargeFixed: 0n, surchargePercentage: 0n }

/** Convert a site to the pricing input of plans. */
export const marketOf = (site: Site): AmountPricing => {
  const steps = [{ from: 0n, adds: 0n }, ...site.tiers]
  const rates = steps.map(
    ({ adds }, index): Rate => ({ ...plainRate, surchargeFixed: adds, to: steps[index + 1]?.from ?? null }),
  )
  const snapshot = compileSnapshot(
    {
      locationId: 'loc_site',
      currencyCode: 'EUR',
      timeZone: zoneOf('UTC'),
      calendar: null,
      tariffs: [
        tariffOf('IMPORT', rates, true),
        tariffOf('EXPORT', [plainRate], true),
        tariffOf('LOCAL', [{ ...plainRate, fixed: site.localPrice }], false),
      ],
      importMarket: seriesOf('mrs_import', site.imports),
      exportMarket: seriesOf('mrs_export', site.exports),
    },
    createPricingPool(),
  )
  const counted = site.counted
  return {
    snapshot,
    generation: site.generation,
    counted: (_, __, from) => (from < siteStart ? [{ from, counted }] : []),
  }
}

const price = fc.integer({ min: -50, max: 400 }).map(thousandths => BigInt(thousandths) * 1_000_000n)
const coarsePrice = fc.integer({ min: 0, max: 4 }).map(tenths => BigInt(tenths) * 100_000_000n)
const pricesOf = (one: fc.Arbitrary<bigint>) => fc.array(one, { minLength: siteHours, maxLength: siteHours })

const device = (
  index: number,
  directions: readonly PlannedDevice['direction'][],
  maxShare: number,
): fc.Arbitrary<PlannedDevice> =>
  fc
    .record({
      direction: fc.constantFrom(...directions),
      from: fc.integer({ min: 0, max: (siteHours - 1) * 60 - 1 }),
      minutes: fc.integer({ min: 15, max: 20 * 60 }),
      watts: fc.constantFrom(1400, 2300, 3700, 7400, 11_000, 22_000),
      share: fc.integer({ min: 1, max: maxShare }),
    })
    .map(({ direction, from, minutes, watts, share }) => {
      const until = Math.min(from + minutes, siteHours * 60)
      const wattHours = Math.floor((watts * (until - from) * share) / 6000)
      return {
        deviceId: `dev_${index}`,
        direction,
        start: siteStart + from * 60_000,
        end: siteStart + until * 60_000,
        power: BigInt(watts) * 1_000_000n,
        energy: BigInt(wattHours) * 1_000_000n,
      }
    })

const generation = fc
  .array(
    fc.record({ hour: fc.integer({ min: 0, max: siteHours - 2 }), wattHours: fc.integer({ min: 1, max: 9000 }) }),
    { maxLength: 12 },
  )
  .map(all =>
    all.map(({ hour, wattHours }) => ({
      start: siteStart + hour * hourMs + hourMs / 4,
      end: siteStart + (hour + 1) * hourMs,
      energy: BigInt(wattHours) * 1_000_000n + 1n,
      confidence: 800_000,
    })),
  )

const tiers = fc
  .tuple(
    fc.integer({ min: 1, max: 60 }),
    fc.integer({ min: 1, max: 60 }),
    fc.integer({ min: 1, max: 200 }),
    fc.integer({ min: 1, max: 200 }),
  )
  .map(([first, more, adds, addsMore]) => [
    { from: BigInt(first) * 1_000_000_000n, adds: BigInt(adds) * 1_000_000n },
    { from: BigInt(first + more) * 1_000_000_000n, adds: BigInt(adds + addsMore) * 1_000_000n },
  ])

type SiteOptions = {
  readonly tiered?: boolean
  readonly generating?: boolean
  readonly limited?: boolean
  readonly fullest?: number
}

/** Sites of up to eight devices over two days. Each device requests up to `fullest` percent of its window. */
export const sites = ({
  tiered = false,
  generating = false,
  limited = false,
  fullest = 80,
}: SiteOptions = {}): fc.Arbitrary<Site> =>
  fc
    .tuple(
      fc
        .integer({ min: 1, max: 8 })
        .chain(count =>
          fc.tuple(
            ...Array.from({ length: count }, (_, index) =>
              device(index, ['IMPORT', 'IMPORT', 'IMPORT', 'EXPORT'], fullest),
            ),
          ),
        ),
      fc.oneof(pricesOf(price), pricesOf(coarsePrice)),
      pricesOf(price),
      fc.option(fc.integer({ min: 1500, max: 30_000 }), { nil: null }),
    )
    .chain(([devices, imports, exports, watts]) =>
      fc.record({
        devices: fc.constant(devices as readonly PlannedDevice[]),
        imports: fc.constant(imports),
        exports: fc.constant(exports),
        sitePower: fc.constant(watts === null ? null : BigInt(watts) * 1_000_000n),
        tiers: tiered ? tiers : fc.constant([]),
        counted: tiered ? fc.integer({ min: 0, max: 70 }).map(kwh => BigInt(kwh) * 1_000_000_000n) : fc.constant(0n),
        generation: generating ? generation : fc.constant([]),
        localPrice: generating ? fc.constantFrom(0n, 50_000_000n, 250_000_000n) : fc.constant(0n),
        threshold: limited
          ? fc.record({
              absolute: fc.option(price, { nil: null }),
              relative: fc.integer({ min: 0, max: 100 }).map(share => BigInt(share) * 10_000_000n),
            })
          : fc.constant(null),
      }),
    )
