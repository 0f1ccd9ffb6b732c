import type { ApiVersion } from '../../services/contract/api-version.ts'
import { answerInApiVersion } from '../../services/contract/exchange.ts'
import type { Operation } from '../../services/contract/operation.ts'
import { priceRetrieve, priceToWire } from '../../services/contract/prices/price.ts'
import { priceAuditRetrieve, priceAuditToWire } from '../../services/contract/prices/price-audit.ts'
import { answerOffset } from '../../services/domain/answer-offset.ts'
import { priceAudit, priceSeries } from '../../services/domain/price/price-series.ts'
import { createPricingPool } from '../../services/domain/tariff/pricing-pool.ts'
import type { Rate } from '../../services/domain/tariff/rate.ts'
import { compileSnapshot } from '../../services/domain/tariff/snapshot.ts'
import type { MarketSeries, PricingInput, Tariff, TariffType } from '../../services/domain/tariff/tariff.ts'
import { zoneOf } from '../support/oracle/zone.ts'
import { medianOf } from './statistics.ts'

/** CPU time from a location's snapshot to the bytes of the answer: the median, and the first time with empty caches. */
export type PriceFigure = { readonly name: string; readonly ms: number; readonly firstMs: number }

const days = 90
const quarterMs = 900_000
const start = Date.UTC(2026, 2, 1)
const end = start + days * 96 * quarterMs

const quarters: MarketSeries = (() => {
  const starts = Array.from({ length: (days + 2) * 96 }, (_, index) => start - 96 * quarterMs + index * quarterMs)
  return {
    sourceId: 'mrs_0198c0ffee00112233445566',
    starts,
    ends: starts.map(from => from + quarterMs),
    prices: starts.map((_, index) => BigInt(40_000_000 + ((index * 7_919_777) % 200_000_000))),
    confidences: starts.map(() => 1),
  }
})()

const allDay = (rate: Rate) => [
  {
    months: ['All' as const],
    dates: [],
    daysAndHours: [{ days: ['All' as const], hours: [{ validFrom: 0, validTo: 86_400, rate: [rate] }] }],
  },
]

const tariff = (type: TariffType, marketRates: boolean, rate: Rate): Tariff => ({
  id: `trf_${type}`,
  direction: 'IMPORT',
  type,
  marketRates,
  contractStart: null,
  contractEnd: null,
  closedAt: null,
  schedule: allDay(rate),
})

const input: PricingInput = {
  locationId: 'loc_0198c0ffee00112233445566',
  currencyCode: 'EUR',
  timeZone: zoneOf('Europe/Berlin'),
  calendar: null,
  tariffs: [
    tariff('COMMODITY', true, {
      fixed: 0n,
      to: null,
      surchargeFixed: 12_500_000n,
      surchargePercentage: 190_000_000_000_000n,
    }),
    tariff('NON_COMMODITY', false, { fixed: 112_300_000n, to: null, surchargeFixed: 0n, surchargePercentage: 0n }),
  ],
  importMarket: quarters,
  exportMarket: null,
}

const request = { direction: 'IMPORT', start, end } as const

const head = {
  id: 'prs_0198c0ffee00112233445566',
  accountId: 'acc_0198c0ffee00112233445566',
  liveMode: true,
  timezone: 'Europe/Berlin',
  locationId: input.locationId,
  currencyCode: 'EUR',
  lastUpdated: start,
  createdAt: start,
  interval: { ...request, startOffset: 0, endOffset: 120 },
  offsetOf: answerOffset(input.timeZone, 120),
}

const earlierPrice = { includeTariff: true, includeCarbon: false, nextUpdate: end }

const answers = (apiVersion: ApiVersion) => ({
  prices: (snapshot: ReturnType<typeof compileSnapshot>): [Operation, unknown, number] => {
    const { elements } = priceSeries(snapshot, request)
    return [
      priceRetrieve,
      priceToWire({ ...head, elements, earlier: apiVersion === 'current' ? null : earlierPrice }),
      elements.length,
    ]
  },
  audits: (snapshot: ReturnType<typeof compileSnapshot>): [Operation, unknown, number] => {
    const { elements, marketSourceIds } = priceAudit(snapshot, request)
    return [priceAuditRetrieve, priceAuditToWire({ ...head, apiVersion, elements, marketSourceIds }), elements.length]
  },
})

const cpuMs = (work: () => void): number => {
  const startUsage = process.cpuUsage()
  work()
  const { user, system } = process.cpuUsage(startUsage)
  return (user + system) / 1000
}

const measure = (name: string, apiVersion: ApiVersion, kind: 'prices' | 'audits', rounds: number): PriceFigure => {
  const snapshot = compileSnapshot(input, createPricingPool())
  const answer = (): void => {
    const [operation, wire, elements] = answers(apiVersion)[kind](snapshot)
    const bytes = Buffer.from(JSON.stringify(answerInApiVersion(operation, wire, apiVersion)))
    if (elements !== days * 96 || bytes.length < elements * 100) throw new Error('The answer is incomplete.')
  }
  const firstMs = cpuMs(answer)
  const times = Array.from({ length: rounds }, () => cpuMs(answer))
  return { name, ms: medianOf(times), firstMs }
}

/** Measure prices and audits of 90 days of quarter hours, for a market tariff with a grid fee. Promise P8. */
export const priceFigures = (rounds = 60): readonly PriceFigure[] => [
  measure('prices of 90 days of quarter hours', 'current', 'prices', rounds),
  measure('audit of 90 days of quarter hours', 'current', 'audits', rounds),
  measure('prices, earlier API version', 'earlier', 'prices', rounds),
  measure('audit, earlier API version', 'earlier', 'audits', rounds),
]

if (import.meta.main) for (const figure of priceFigures()) console.log(JSON.stringify(figure))
