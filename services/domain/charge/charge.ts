import type { Money, Percentage, Price } from '../quantity.ts'
import type { Day, Month, ScheduleEntry } from '../tariff/tariff.ts'
import type { OwnedObject } from '../tenant.ts'

/** Power in 1e-9 kW. */
export type Power = bigint
/** Fraction, weight or quantity in 1e-9. */
export type Billionths = bigint

/** Direction of the tariff that a line belongs to. */
export type LineDirection = 'IMPORT' | 'EXPORT'

/** Kinds of charges that do not read other lines. */
export const basicChargeKinds = ['FIXED', 'USAGE', 'DEMAND', 'SESSION'] as const
/** Kinds of charges that are calculated from other lines. */
export const derivedChargeKinds = ['MINIMUM', 'MAXIMUM', 'PERCENTAGE'] as const
export type ChargeKind = (typeof basicChargeKinds)[number] | (typeof derivedChargeKinds)[number]

/** Default component of each kind. */
export const defaultComponents: Readonly<Record<ChargeKind, string>> = {
  FIXED: 'fixed',
  USAGE: 'usage',
  DEMAND: 'demand',
  SESSION: 'session',
  MINIMUM: 'limit',
  MAXIMUM: 'limit',
  PERCENTAGE: 'tax',
}

/** Default sequence of each kind. */
export const defaultSequences: Readonly<Record<ChargeKind, number>> = {
  FIXED: 0,
  USAGE: 0,
  DEMAND: 0,
  SESSION: 0,
  MINIMUM: 100,
  MAXIMUM: 100,
  PERCENTAGE: 200,
}

/**
 * Members of all charges. The charge is paid for the local days [startDay, endDay), as day numbers of
 * `civil-date.ts`; null is open.
 */
type CommonTerms = {
  readonly id: string
  readonly planId: string | null
  readonly name: string
  readonly component: string
  readonly startDay: number | null
  readonly endDay: number | null
  readonly sequence: number
}

/** Unit of time of a price. A day weighs 1, 1 / days of its month, or 1 / days of its calendar year. */
export type PriceUnit = 'DAY' | 'MONTH' | 'YEAR'
/** DAYS: in proportion to the paid days. NONE: always the whole price. */
export type Proration = 'DAYS' | 'NONE'

/**
 * Energy that a charge reads. IMPORT is bought, EXPORT is sold, GROSS is bought and own generation together.
 * NET_IMPORT is IMPORT less EXPORT in each interval, not below 0.
 */
export type CountedFlow = 'IMPORT' | 'EXPORT' | 'GROSS' | 'NET_IMPORT'

/** Records that a charge reads. `deviceIds` null: all records of the statement. */
export type EnergySelection = { readonly counts: CountedFlow; readonly deviceIds: readonly string[] | null }

/** Name of days: weekdays, groups, public holidays, or a day type of the calendar of the location. */
export type ChargeDay = Day | 'Weekdays' | 'Weekend' | 'All' | 'Holidays' | `#${string}`

/** Hours of the local clock in seconds of the day. If `validTo` is not after `validFrom`, they pass midnight. */
export type ClockHours = { readonly validFrom: number; readonly validTo: number }

/** Part of the local calendar. An empty list does not restrict. `days` match any. `weight` is in 1e-9, 0 … 1e9. */
export type ChargeWindow = {
  readonly months: readonly Month[]
  readonly dates: readonly number[]
  readonly days: readonly ChargeDay[]
  readonly hours: readonly ClockHours[]
  readonly weight: number
}

/** Price × quantity for the paid days. `prorate` NONE: the whole price once per unit, on its first day. */
export type FixedCharge = CommonTerms & {
  readonly kind: 'FIXED'
  readonly price: Money
  readonly per: PriceUnit
  readonly quantity: Billionths
  readonly unit: string | null
  readonly prorate: Proration
}

/** Price per kWh. Exactly one of `price` and `schedule` is set. A rate of the schedule has `fixed` only. */
export type UsageCharge = CommonTerms &
  EnergySelection & {
    readonly kind: 'USAGE'
    readonly price: Price | null
    readonly schedule: readonly ScheduleEntry[] | null
  }

/** Tier of a power price up to `to`; null for the last tier. */
export type PowerTier = { readonly to: Power | null; readonly price: Money }
/** Amount from a power on. */
export type PowerStep = { readonly from: Power; readonly amount: Money }

/** Rounding of power to multiples of `to`, which is above 0. HALF_UP rounds halves away from zero. */
export type PowerRounding = { readonly to: Power; readonly mode: 'HALF_UP' | 'HALF_EVEN' | 'UP' | 'DOWN' }

/** Least share of the highest power of the `months` calendar months before. `inMonths` (1 … 12) empty: all months. */
export type Ratchet = { readonly share: Billionths; readonly months: number; readonly inMonths: readonly number[] }

/** Power of a calendar month as it was billed before the records begin. `month` is a month number. */
export type GivenPower = { readonly month: number; readonly power: Power }

/**
 * Price of the highest power. Exactly one of `price`, `tiers` and `steps` is set.
 * A floor, `above` and `monthFloor` of 0 change nothing.
 */
export type DemandCharge = CommonTerms &
  EnergySelection & {
    readonly kind: 'DEMAND'
    readonly intervalMinutes: number
    readonly windows: readonly ChargeWindow[]
    readonly highest: number
    readonly hasDistinctDays: boolean
    readonly over: 'PERIOD' | 'DAY' | 'ROLLING'
    readonly rollingMonths: number
    readonly rolling: 'MEAN' | 'MAX'
    readonly monthFloor: Power
    readonly ratchet: Ratchet | null
    readonly floor: Power
    readonly above: Power
    readonly rounding: PowerRounding | null
    readonly history: readonly GivenPower[]
    readonly price: Money | null
    readonly tiers: readonly PowerTier[] | null
    readonly steps: readonly PowerStep[] | null
    readonly stepEdge: 'LOWER_INCLUSIVE' | 'LOWER_EXCLUSIVE'
    readonly per: PriceUnit
    readonly yearBasis: 'MONTHS' | 'DAYS'
    readonly prorate: Proration
  }

/** Price of sessions or of their minutes. `maxAmount` limits the amount of each session. */
export type SessionCharge = CommonTerms & {
  readonly kind: 'SESSION'
  readonly price: Money
  readonly per: 'SESSION' | 'MINUTE'
  readonly while: 'CONNECTED' | 'IDLE'
  readonly afterMs: number
  readonly count: 'EXACT' | 'STARTED'
  readonly maxAmount: Money | null
  readonly windows: readonly ChargeWindow[]
  readonly deviceIds: readonly string[] | null
}

export type LineKind = 'ENERGY' | ChargeKind | 'ADJUSTMENT'
export const lineKinds: readonly LineKind[] = ['ENERGY', ...basicChargeKinds, ...derivedChargeKinds, 'ADJUSTMENT']

/**
 * Lines that a derived charge reads: all given lists must contain the member of the line. Null kinds and components
 * match all lines. The derived line belongs to the first direction.
 */
export type ChargeBase = {
  readonly kinds: readonly LineKind[] | null
  readonly components: readonly string[] | null
  readonly directions: readonly LineDirection[]
}

/** Amount that lifts (MINIMUM) or lowers (MAXIMUM) the base to a limit. */
export type LimitCharge = CommonTerms & {
  readonly kind: 'MINIMUM' | 'MAXIMUM'
  readonly amount: Money
  readonly per: 'PERIOD' | PriceUnit
  readonly perKwh: Price
  readonly base: ChargeBase
}

/** Share of the base. */
export type PercentageCharge = CommonTerms & {
  readonly kind: 'PERCENTAGE'
  readonly rate: Percentage
  readonly base: ChargeBase
  readonly isTax: boolean
}

export type BasicCharge = FixedCharge | UsageCharge | DemandCharge | SessionCharge
export type DerivedCharge = LimitCharge | PercentageCharge
export type Charge = BasicCharge | DerivedCharge

export const isDerived = (charge: Charge): charge is DerivedCharge =>
  derivedChargeKinds.some(kind => kind === charge.kind)

type TermsOf<C> = C extends Charge ? Omit<C, 'id' | 'planId'> : never

/** Charge without its id and plan. */
export type ChargeTerms = TermsOf<Charge>

/** Stored charge of a location. `planId` null: the charge belongs to no plan. */
export type StoredCharge = OwnedObject & {
  readonly locationId: string
  readonly planId: string | null
  readonly terms: ChargeTerms
}

/** Members that a charge has in addition to those of all charges. */
export type OwnTerms<C extends Charge> = Omit<C, 'kind' | keyof CommonTerms>
