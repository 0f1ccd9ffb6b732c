import type { PriceUnit } from '../../domain/charge/charge.ts'
import type { TariffDirection } from '../../domain/tariff/tariff.ts'
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
