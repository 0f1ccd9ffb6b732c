import type { TimeZone } from '../civil-time.ts'
import type { Energy, Price } from '../quantity.ts'

export type TariffDirection = 'IMPORT' | 'EXPORT' | 'LOCAL'
export type TariffType = 'COMMODITY' | 'NON_COMMODITY'
export type Month = 'Jan' | 'Feb' | 'Mar' | 'Apr' | 'May' | 'Jun' | 'Jul' | 'Aug' | 'Sep' | 'Oct' | 'Nov' | 'Dec'
export type Day = 'Mon' | 'Tue' | 'Wed' | 'Thu' | 'Fri' | 'Sat' | 'Sun'

/** One tier of a band; on a market tariff `fixed` is 0 and the market price is the base. */
export type Rate = {
  readonly fixed: Price
  /** Cumulative upper bound within the local calendar month; null: none (always the last tier). */
  readonly to: Energy | null
  readonly surchargeFixed: Price
  /** In 1e-9: 0.1 is 100_000_000. */
  readonly surchargePercentage: bigint
}

/** A band of local wall time in seconds of the day, 0 … 86400; `validTo` at or before `validFrom` wraps over midnight. */
export type TimeBand = { readonly validFrom: number; readonly validTo: number; readonly rate: readonly Rate[] }

export type DaysAndHours = {
  readonly days: readonly (Day | 'Weekdays' | 'Weekend' | 'All')[]
  readonly hours: readonly TimeBand[]
}

/** `dates` empty: every day of the month. */
export type ScheduleEntry = {
  readonly months: readonly (Month | 'All')[]
  readonly dates: readonly number[]
  readonly daysAndHours: readonly DaysAndHours[]
}

/** Prices that replace those of a tariff from an instant on (inclusive, ms). */
export type TariffVersion = { readonly effectiveFrom: number; readonly schedule: readonly ScheduleEntry[] }

export type Tariff = {
  readonly id: string
  readonly direction: TariffDirection
  readonly type: TariffType
  readonly marketRates: boolean
  /** Inclusive instant; null is open. */
  readonly contractStart: number | null
  /** Exclusive instant; null is open. After it the pattern goes on, provisional, until the next tariff of its kind or `closedAt`. */
  readonly contractEnd: number | null
  /** Exclusive instant at which the tariff was deleted, disconnected or replaced: nothing of it goes on; null while it lives. */
  readonly closedAt: number | null
  /** Prices until the first version. */
  readonly schedule: readonly ScheduleEntry[]
  /** Later prices, ascending by `effectiveFrom`. Absent: none. Contract, id and the count of tiers are those of the tariff. */
  readonly versions?: readonly TariffVersion[]
}

/** Prices of one market source: intervals sorted by start, not overlapping, gaps allowed. */
export type MarketSeries = {
  readonly sourceId: string
  readonly starts: readonly number[]
  readonly ends: readonly number[]
  readonly prices: readonly Price[]
  /** 0 < c ≤ 1; 1 is a published price. */
  readonly confidences: readonly number[]
}

/** All that prices the energy of one location: its tariffs that are not voided, closed ones included, and its market prices. */
export type PricingInput = {
  readonly locationId: string
  readonly currencyCode: string
  readonly timeZone: TimeZone
  readonly tariffs: readonly Tariff[]
  readonly importMarket: MarketSeries | null
  readonly exportMarket: MarketSeries | null
}
