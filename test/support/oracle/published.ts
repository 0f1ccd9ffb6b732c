import { readFileSync } from 'node:fs'
import type { Day, MarketSeries, Month, PricingInput, Tariff } from '../../../services/domain/tariff/tariff.ts'
import type { IdentifiedRecord } from './cost.ts'
import { at, band, kwh, nano, percentage, pricing, rate } from './tables.ts'

type Direction = 'IMPORT' | 'EXPORT'
type Rates = readonly {
  fixed: number | null
  to_kwh: number | null
  surcharge_fixed: number
  surcharge_percentage: number
}[]
type Hours = readonly { valid_from: string; valid_to: string; rate: Rates }[]
type WireTariff = {
  readonly direction: Direction
  readonly timezone: string
  readonly market_rates: boolean
  readonly contract_start_date?: string
  readonly schedule: readonly {
    months: Month[]
    dates?: number[]
    days_and_hours: readonly { days: Day[]; hours: Hours }[]
  }[]
}
type WireRecord = {
  start_time: string
  end_time: string
  value: number
  units: string
  direction: Direction
  record_reference_id?: string
}
type Market = { readonly start: string; readonly step_minutes: number; readonly values: readonly number[] }
type Case = {
  readonly id: string
  readonly kind: string
  readonly tariffs: readonly WireTariff[]
  readonly market?: Market
}
type Expected = {
  total_cost?: number
  derived_total?: number
  import_minus_export?: number
  per_record?: Readonly<Record<string, number>>
}

export type PublishedCost = {
  readonly id: string
  readonly input: PricingInput
  readonly records: readonly IdentifiedRecord[]
  readonly expected: Expected
  readonly tolerance: { readonly abs?: number; readonly rel?: number }
}
export type PublishedPrices = {
  readonly id: string
  readonly input: PricingInput
  readonly segments: readonly { readonly from: number; readonly to: number; readonly price: bigint }[]
}

const read = (name: string) =>
  JSON.parse(readFileSync(new URL(`../../acceptance/${name}.json`, import.meta.url), 'utf8'))

const tariffFrom = (wire: WireTariff, index: number): Tariff => ({
  id: `trf_${index}`,
  direction: wire.direction,
  type: 'COMMODITY',
  marketRates: wire.market_rates,
  contractStart: wire.contract_start_date === undefined ? null : at(wire.contract_start_date),
  contractEnd: null,
  closedAt: null,
  schedule: wire.schedule.map(({ months, dates = [], days_and_hours }) => ({
    months,
    dates,
    daysAndHours: days_and_hours.map(({ days, hours }) => ({
      days,
      hours: hours.map(({ valid_from, valid_to, rate: rates }) => {
        const tiers = rates.map(wireRate => {
          const surcharges = {
            surchargeFixed: nano(wireRate.surcharge_fixed),
            surchargePercentage: percentage(wireRate.surcharge_percentage),
          }
          return rate(wireRate.fixed ?? 0, wireRate.to_kwh, surcharges)
        })
        return band(`${valid_from}-${valid_to}`, tiers)
      }),
    })),
  })),
})

/** Convert prices per MWh to a series of prices per kWh. */
const seriesFrom = ({ start, step_minutes, values }: Market): MarketSeries => {
  const starts = values.map((_, index) => at(start) + index * step_minutes * 60_000)
  const ends = starts.map(from => from + step_minutes * 60_000)
  return {
    sourceId: 'mrs_1',
    starts,
    ends,
    prices: values.map(value => nano(value / 1000)),
    confidences: values.map(() => 1),
  }
}

const recordFrom = (
  { start_time, end_time, value, units, direction, ...wire }: WireRecord,
  index: number,
): IdentifiedRecord => {
  const [start, end] = [at(start_time), at(end_time)]
  const kilo = units.startsWith('K') ? 1 : 1e-3
  const hours = units.endsWith('H') ? 1 : (end - start) / 3_600_000
  return {
    id: wire.record_reference_id ?? `mre_${index}`,
    record: {
      locationId: 'loc_1',
      deviceId: null,
      energyFlowDirection: direction === 'IMPORT' ? 'INBOUND' : 'OUTBOUND',
      tariffDirection: direction,
      start,
      end,
      energy: kwh(value * kilo * hours),
      confidence: 1_000_000,
      sessionReferenceId: null,
      recordReferenceId: null,
    },
  }
}

const inputFrom = ({ tariffs, market }: Case): PricingInput =>
  pricing(tariffs[0]?.timezone ?? 'UTC', tariffs.map(tariffFrom), market === undefined ? null : seriesFrom(market))

/** Read published costs with their tariffs and records. */
export const publishedCosts = (): PublishedCost[] => {
  const cases: (Case & { records: WireRecord[]; expected: Expected; tolerance: PublishedCost['tolerance'] })[] = [
    ...read('cost_cases').cases,
    ...read('price_cases').market_and_dst,
  ]
  return cases.map(found => ({ ...found, input: inputFrom(found), records: found.records.map(recordFrom) }))
}

/** Read published price series with their tariffs. */
export const publishedPrices = (): PublishedPrices[] => {
  const cases: (Case & { expected: { segments: { valid_from: string; valid_to: string; price: number }[] } })[] =
    read('price_cases').price_series
  return cases.map(found => ({
    id: found.id,
    input: inputFrom(found),
    segments: found.expected.segments.map(({ valid_from, valid_to, price }) => ({
      from: at(valid_from),
      to: at(valid_to),
      price: nano(price),
    })),
  }))
}
