import type { LocationCalendar } from '../charge/location-calendar.ts'
import type { TimeZone } from '../civil-time.ts'
import type { Price } from '../quantity.ts'
import type { Rate } from './rate.ts'

export type TariffDirection = 'IMPORT' | 'EXPORT' | 'LOCAL'
export type TariffType = 'COMMODITY' | 'NON_COMMODITY'
export const tariffTypes: readonly TariffType[] = ['COMMODITY', 'NON_COMMODITY']

/** Default component of the tariffs of a type. */
export const defaultTariffComponents: Readonly<Record<TariffType, string>> = {
  COMMODITY: 'energy',
  NON_COMMODITY: 'grid',
}

export type Month = 'Jan' | 'Feb' | 'Mar' | 'Apr' | 'May' | 'Jun' | 'Jul' | 'Aug' | 'Sep' | 'Oct' | 'Nov' | 'Dec'
export type Day = 'Mon' | 'Tue' | 'Wed' | 'Thu' | 'Fri' | 'Sat' | 'Sun'
/** Days that only a calendar knows: public holidays, or the days of a day type. */
export type SpecialDay = 'Holidays' | `#${string}`

/**
 * Time band of local time in seconds of the day, 0 … 86400. If `validTo` is not after `validFrom`, the band passes
 * midnight.
 */
export type TimeBand = { readonly validFrom: number; readonly validTo: number; readonly rate: readonly Rate[] }

export type DaysAndHours = {
  readonly days: readonly (Day | 'Weekdays' | 'Weekend' | 'All' | SpecialDay)[]
  readonly hours: readonly TimeBand[]
}

/** If `dates` is empty, the entry applies on every day of the month. */
export type ScheduleEntry = {
  readonly months: readonly (Month | 'All')[]
  readonly dates: readonly number[]
  readonly daysAndHours: readonly DaysAndHours[]
}

/** Prices that replace those of a tariff from an instant (inclusive, ms). */
export type TariffVersion = { readonly effectiveFrom: number; readonly schedule: readonly ScheduleEntry[] }

export type Tariff = {
  readonly id: string
  readonly direction: TariffDirection
  readonly type: TariffType
  readonly marketRates: boolean
  /** Inclusive instant (ms); null is open. */
  readonly contractStart: number | null
  /**
   * Exclusive instant (ms); null is open. After it the schedule continues, provisionally, until the next tariff of its
   * kind or `closedAt`.
   */
  readonly contractEnd: number | null
  /**
   * Exclusive instant (ms) at which the tariff was deleted, disconnected or replaced; nothing continues after it. Null
   * while the tariff is active.
   */
  readonly closedAt: number | null
  /** Component of its lines on statements; absent: the default of its type. */
  readonly component?: string
  /** Plan that keeps the tariff; null or absent if there is none. */
  readonly planId?: string | null
  /** Prices before the first version. */
  readonly schedule: readonly ScheduleEntry[]
  /**
   * Later prices, ascending by `effectiveFrom`; absent means none. Contract, id and tier counts belong to the tariff.
   */
  readonly versions?: readonly TariffVersion[]
}

/** Members of a tariff that decide its prices. */
export type TariffTerms = Pick<
  Tariff,
  'direction' | 'type' | 'marketRates' | 'contractStart' | 'contractEnd' | 'schedule'
>

/** Prices of one market source: intervals sorted by start, without overlap; gaps are allowed. */
export type MarketSeries = {
  readonly sourceId: string
  readonly starts: readonly number[]
  readonly ends: readonly number[]
  readonly prices: readonly Price[]
  /** 0 < c ≤ 1; 1 is a published price. */
  readonly confidences: readonly number[]
}

/**
 * Input of the prices of one location: its tariffs that are not voided, closed ones included, and its market prices.
 */
export type PricingInput = {
  readonly locationId: string
  readonly currencyCode: string
  readonly timeZone: TimeZone
  /** Null if the location has no calendar; then no schedule names special days. */
  readonly calendar: LocationCalendar | null
  readonly tariffs: readonly Tariff[]
  readonly importMarket: MarketSeries | null
  readonly exportMarket: MarketSeries | null
}
