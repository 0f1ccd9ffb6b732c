import type { Billionths, ChargeBase, LineDirection, LineKind, Power } from '../charge/charge.ts'
import type { DayRange } from '../charge/charge-days.ts'
import type { LocationCalendar } from '../charge/location-calendar.ts'
import type { Energy, Money, Percentage, Price } from '../quantity.ts'
import type { PricingPool } from '../tariff/pricing-pool.ts'
import type { DemandBound } from './bill-demand.ts'
import type { MeteredEnergy } from './metered-energy.ts'
import type { PeakReason } from './peak-users.ts'

/** Power of an earlier month that a line reads. `month` is a month number; `power` has no floor. */
export type HistoryMonth = { readonly month: number; readonly power: Power; readonly source: 'RECORDS' | 'GIVEN' }

/** Months or years that a price is paid for: the weights of the paid days, in 1e-9, half to even. */
export type PaidTime = { readonly unit: 'MONTH' | 'YEAR'; readonly count: Billionths }

/**
 * Reason of a line of demand. At most 12 peaks, by falling power × weight. Over DAY the measured power is the sum of the
 * days, `boundBy` is null if different rules set the days, and `paidTime` is null. `paidTime` is also null for 1 month.
 */
export type DemandReason = {
  readonly kind: 'DEMAND'
  readonly measured: Power
  readonly boundBy: DemandBound | null
  readonly paidTime: PaidTime | null
  readonly peaks: readonly PeakReason[]
  readonly history: readonly HistoryMonth[]
}

/**
 * Reason of a line that reads other lines. `leftOut`: names of the charges of direction EXPORT that the directions of
 * the base leave out.
 */
export type DerivedReason = { readonly base: Money; readonly leftOut: readonly string[] } & (
  | { readonly kind: 'LIMIT'; readonly limit: Money }
  | { readonly kind: 'PERCENTAGE'; readonly rate: Percentage }
)

/** Reason of a line: amounts and powers that decided it. */
export type LineReason = DemandReason | DerivedReason | { readonly kind: 'ADJUSTMENT'; readonly statementId: string }

/** Energy and amount of a line at one price. */
export type PriceDetail = { readonly price: Price; readonly energy: Energy; readonly amount: Money }

/**
 * Members of a line apart from its amounts. `quantity` is in 1e-9 of `unit`; `unitPrice` in 1e-9 per unit, null if
 * there are several. `direction` null: an adjustment of all directions.
 */
export type LineTerms = {
  readonly kind: LineKind
  readonly component: string
  readonly name: string
  readonly chargeId: string | null
  readonly tariffId: string | null
  readonly planId: string | null
  readonly direction: LineDirection | null
  readonly quantity: Billionths | null
  readonly unit: string | null
  readonly unitPrice: Money | null
  readonly isTax: boolean
  readonly reason: LineReason | null
  /** Details by rising price; null if not requested. `morePrices`: number of prices beyond the first 1,000. */
  readonly prices: readonly PriceDetail[] | null
  readonly morePrices: number
}

/**
 * Line before rounding. `amountBefore` returns the amount of its days before a day, L(t), in 1e-9: 0 up to the start of
 * the period, the whole amount from its end on. A line of energy knows it at the cuts of its period only.
 */
export type DraftLine = LineTerms & { readonly amountBefore: (day: number) => Money }

/** Billing period. `cuts`: its start, its end and the days between at which a derived charge starts or ends. */
export type BilledPeriod = DayRange & { readonly cuts: readonly number[] }

/** Data from which the lines of a period are calculated. */
export type LineContext = {
  readonly metered: MeteredEnergy
  readonly calendar: LocationCalendar | null
  readonly pool: PricingPool
  readonly locationId: string
}

/** Members of a line of a charge. */
export const termsOfCharge = (
  charge: { readonly id: string; readonly planId: string | null; readonly name: string; readonly component: string },
  kind: LineKind,
  direction: LineDirection,
): Omit<LineTerms, 'quantity' | 'unit' | 'unitPrice'> => ({
  kind,
  component: charge.component,
  name: charge.name,
  chargeId: charge.id,
  tariffId: null,
  planId: charge.planId,
  direction,
  isTax: false,
  reason: null,
  prices: null,
  morePrices: 0,
})

/** Return the direction of a derived line: the first direction of its base. */
export const directionOfBase = ({ directions }: ChargeBase): LineDirection => directions[0] ?? 'IMPORT'
