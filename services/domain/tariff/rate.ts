import { type Energy, type Percentage, type Price, plusPercentage } from '../quantity.ts'

/** Surcharges of a rate. A surcharge of 0 equals an absent surcharge. */
export type Surcharges = {
  /** Added to the fixed or market price, per kWh. */
  readonly surchargeFixed: Price
  /** Fraction of the price with the fixed surcharge. */
  readonly surchargePercentage: Percentage
}

export type SurchargeName = keyof Surcharges

/** A rate without surcharges. The members are all the surcharges that a rate can have. */
export const noSurcharges: Surcharges = { surchargeFixed: 0n, surchargePercentage: 0n }

export const surchargeNames = Object.keys(noSurcharges) as readonly SurchargeName[]

/** One tier of a time band. On a market tariff `fixed` is 0 and the market price is the base. */
export type Rate = Surcharges & {
  readonly fixed: Price
  /** Cumulative upper bound within the local calendar month; null for the last tier, which has none. */
  readonly to: Energy | null
}

/** Create the surcharges of a rate, one by one. */
export const mapSurcharges = (amountOf: (name: SurchargeName) => bigint): Surcharges => {
  const surcharges: Record<SurchargeName, bigint> = { ...noSurcharges }
  for (const name of surchargeNames) surcharges[name] = amountOf(name)
  return surcharges
}

/** Return whether a rate has no surcharges other than those of `names`. */
export const hasOnlySurcharges = (rate: Surcharges, names: readonly SurchargeName[]): boolean =>
  surchargeNames.every(name => rate[name] === 0n || names.includes(name))

/** Return whether two rates are equal. */
export const isSameRate = (a: Rate, b: Rate): boolean =>
  a.fixed === b.fixed && a.to === b.to && surchargeNames.every(name => a[name] === b[name])

/** Return a text that is equal for equal rates. */
export const rateText = (rate: Rate): string => {
  let text = `${rate.fixed},${rate.to}`
  for (const name of surchargeNames) text += `,${rate[name]}`
  return `${text};`
}

/**
 * Return the price of a rate at its base price: (base + surcharge_fixed) × (1 + surcharge_percentage), half to even to
 * 1e-9 per kWh. `fixed` is the sum of the surcharges per kWh, and `percentage` is the amount of the percentage, which
 * has the sign of its base.
 * Law: `base + fixed + percentage === aggregate`.
 * Source: docs/rules/tariffs.md #price-of-a-band, #rounding.
 */
export const withSurcharges = (
  base: Price,
  { surchargeFixed: fixed, surchargePercentage }: Surcharges,
): { readonly fixed: Price; readonly percentage: Price; readonly aggregate: Price } => {
  const taxed = base + fixed
  const aggregate = surchargePercentage === 0n ? taxed : plusPercentage(taxed, surchargePercentage)
  return { fixed, percentage: aggregate - taxed, aggregate }
}
