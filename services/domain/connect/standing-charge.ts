import type { PriceUnit } from '../charge/charge.ts'
import { localDayNumber, startOfDayNumber, type TimeZone } from '../civil-time.ts'
import type { TariffDirection } from '../tariff/tariff.ts'
import type { ConnectApiVersion } from './page.ts'

/** Standing charge of a bill: `amount` is decimal text in major units. */
export type StandingCharge = { readonly amount: string; readonly per: PriceUnit }

/** Countries whose bills state the standing charge per day or year. Bills of other countries state it per month. */
const customs: Readonly<Record<string, PriceUnit>> = {
  AU: 'DAY',
  GB: 'DAY',
  NZ: 'DAY',
  BE: 'YEAR',
  IE: 'YEAR',
  IT: 'YEAR',
}

/** Return the unit in which bills of a country state the standing charge. */
export const standingChargeUnit = (countryCode: string | undefined): PriceUnit => customs[countryCode ?? ''] ?? 'MONTH'

/**
 * Check if the pages of a session ask for a standing charge. The earlier API version has no charges, and sellers pay
 * none.
 */
export const asksStandingCharge = ({
  layout,
  direction,
}: {
  readonly layout: ConnectApiVersion
  readonly direction: TariffDirection
}): boolean => layout === 'current' && direction === 'IMPORT'

/** Local days [startDay, endDay) of a charge; null is open. */
export type ChargeDays = { readonly startDay: number | null; readonly endDay: number | null }

const firstDayFrom = (zone: TimeZone, at: number): number => {
  const day = localDayNumber(zone, at)
  return startOfDayNumber(zone, day) === at ? day : day + 1
}

/**
 * Return the local days that begin in [start, end) of a tariff (ms; null is open). Tariffs that follow each other thus
 * never pay a day twice, and leave no day out. Null if no day begins in the interval.
 */
export const chargeDaysOf = (
  zone: TimeZone,
  { start, end }: { readonly start: number | null; readonly end: number | null },
): ChargeDays | null => {
  const startDay = start === null ? null : firstDayFrom(zone, start)
  const endDay = end === null ? null : firstDayFrom(zone, end)
  return startDay !== null && endDay !== null && endDay <= startDay ? null : { startDay, endDay }
}
