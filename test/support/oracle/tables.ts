import type { MeterRecord } from '../../../services/domain/record/record.ts'
import type { Rate } from '../../../services/domain/tariff/rate.ts'
import type {
  DaysAndHours,
  MarketSeries,
  PricingInput,
  ScheduleEntry,
  Tariff,
  TimeBand,
} from '../../../services/domain/tariff/tariff.ts'
import type { IdentifiedRecord } from './cost.ts'
import { zoneOf } from './zone.ts'

/** Return a decimal with at most nine decimals in units of 1e-9. */
export const nano = (decimal: number): bigint => BigInt(Math.round(decimal * 1e9))
/** Return a fraction with at most nine decimals in units of 1e-15. */
export const percentage = (decimal: number): bigint => nano(decimal) * 1_000_000n
/** Convert kWh with at most nine decimals to 1e-6 Wh. */
export const kwh = (decimal: number): bigint => nano(decimal)
export const at = (text: string): number => Date.parse(text)

export const rate = (fixed: number, to: number | null = null, more: Partial<Rate> = {}): Rate => ({
  fixed: nano(fixed),
  to: to === null ? null : kwh(to),
  surchargeFixed: 0n,
  surchargePercentage: 0n,
  ...more,
})

const secondOf = (text: string): number => {
  const [hour = 0, minute = 0, second = 0] = text.split(':').map(Number)
  return hour * 3600 + minute * 60 + second
}

/** Create a time band from a text such as `07:00-22:30`, with a price or tiers. */
export const band = (span: string, rates: number | readonly Rate[]): TimeBand => {
  const [from = '', to = ''] = span.split('-')
  return {
    validFrom: secondOf(from),
    validTo: secondOf(to) || 86_400,
    rate: typeof rates === 'number' ? [rate(rates)] : rates,
  }
}

export const allDay = (rates: number | readonly Rate[]): TimeBand[] => [band('00:00-24:00', rates)]
export const entry = (
  hours: readonly TimeBand[],
  days: DaysAndHours['days'] = ['All'],
  more: Partial<ScheduleEntry> = {},
): ScheduleEntry => ({
  months: ['All'],
  dates: [],
  daysAndHours: [{ days, hours }],
  ...more,
})

export const tariff = (hours: readonly TimeBand[], more: Partial<Tariff> = {}): Tariff => ({
  id: 'trf_a',
  direction: 'IMPORT',
  type: 'COMMODITY',
  marketRates: false,
  contractStart: null,
  contractEnd: null,
  closedAt: null,
  schedule: [entry(hours)],
  ...more,
})

export const pricing = (
  zone: string,
  tariffs: readonly Tariff[],
  importMarket: MarketSeries | null = null,
): PricingInput => ({
  locationId: 'loc_1',
  currencyCode: 'EUR',
  timeZone: zoneOf(zone),
  calendar: null,
  tariffs,
  importMarket,
  exportMarket: null,
})

export const record = (
  id: string,
  start: string,
  end: string,
  energy: bigint,
  more: Partial<MeterRecord> = {},
): IdentifiedRecord => ({
  id,
  record: {
    locationId: 'loc_1',
    deviceId: null,
    energyFlowDirection: 'INBOUND',
    tariffDirection: 'IMPORT',
    start: at(start),
    end: at(end),
    energy,
    confidence: 1_000_000,
    sessionReferenceId: null,
    recordReferenceId: null,
    ...more,
  },
})
