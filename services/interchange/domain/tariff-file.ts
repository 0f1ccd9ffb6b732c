import type { ChargeTerms } from '../../domain/charge/charge.ts'
import type { TimeZone } from '../../domain/civil-time.ts'
import { localDayNumber, startOfDayNumber } from '../../domain/civil-time.ts'
import { addFractions, type Fraction, fractionOf, roundFraction } from '../../domain/fraction.ts'
import { type Percentage, percentageScale } from '../../domain/quantity.ts'
import type { Rate, Surcharges } from '../../domain/tariff/rate.ts'
import type { TariffTerms } from '../../domain/tariff/tariff.ts'
import type { NearestName, UnknownMember } from './known-members.ts'
import type { Noted, NotImported, ReportCollector } from './report.ts'
import { sourceFault } from './source-value.ts'

/** Formats of tariffs. */
export const tariffFormats = ['urdb', 'ocpi', 'fri-nettleie', 'datahub-pricelist', 'octopus'] as const
export type TariffFormat = (typeof tariffFormats)[number]

/** Location of an import, and the search for similar names. */
export type ImportContext = {
  readonly currencyCode: string
  readonly timeZone: TimeZone
  readonly hasCalendar: boolean
  readonly nearestName: NearestName
}

/** Value-added tax: NONE adds none, SOURCE uses the tax of the file, a fraction is a rate (0.25 is 25 %). */
export type ImportVat = 'NONE' | 'SOURCE' | Fraction

/** Choices of an import. */
export type ImportOptions = {
  /** Local day number that replaces the first start, or the last end (exclusive). Null keeps those of the file. */
  readonly validFrom: number | 'open' | null
  readonly validTo: number | 'open' | null
  /** Added to each imported kWh, in major units. */
  readonly surcharge: Fraction
  readonly vat: ImportVat
  readonly type: string | null
  /** Customer group of a file with several. */
  readonly group: string | null
  /** Charge codes and owners to choose; empty: all. */
  readonly codes: readonly string[]
  readonly glns: readonly string[]
  /** Payment method of prices that differ by it. */
  readonly payment: string | null
  /** The file has standing charges instead of unit rates. */
  readonly isStanding: boolean
  /** The file has prices of exported energy. */
  readonly isExport: boolean
}

/** Price over a half-open interval (ms), in 1e-9 per kWh. */
export type PriceSeriesInterval = { readonly start: number; readonly end: number; readonly value: bigint }

/** Tariff to create. `from` are the JSON pointers of its prices. */
export type DraftTariff = {
  readonly name: string
  readonly sourceId: string
  readonly from: readonly string[]
  readonly terms: TariffTerms
  /** Prices of a market tariff; absent for other tariffs. */
  readonly marketPrices?: readonly PriceSeriesInterval[]
  /** Time zone in whose days the market prices repeat. */
  readonly marketTimezone?: string
}

/** Charge to create. */
export type DraftCharge = {
  readonly name: string
  readonly sourceId: string
  readonly from: readonly string[]
  readonly terms: ChargeTerms
}

/** Tariffs and charges of a file with one validity, in instants; null is open. */
export type ImportGroup = {
  readonly start: number | null
  readonly end: number | null
  /** JSON pointers of the validity. */
  readonly validityFrom: readonly string[]
  readonly tariffs: readonly (Omit<DraftTariff, 'terms'> & {
    readonly terms: Omit<TariffTerms, 'contractStart' | 'contractEnd'>
  })[]
  readonly charges: readonly DraftCharge[]
}

/** Content of a file of tariffs. */
export type TariffFile = {
  readonly tariffs: readonly DraftTariff[]
  readonly charges: readonly DraftCharge[]
  readonly notImported: readonly NotImported[]
  readonly noted: readonly Noted[]
}

/** Reader of a format. */
export type ImportReader = {
  readonly context: ImportContext
  readonly options: ImportOptions
  readonly report: ReportCollector
  /** Members of the file that its format does not have. */
  readonly unknown: readonly UnknownMember[]
}

const billion = 1_000_000_000n
/** Limit of prices per kWh, in 1e-9. */
const maxPrice = 1_000_000n * billion

export const zero: Fraction = fractionOf(0n)
export const multiply = (a: Fraction, b: Fraction): Fraction =>
  fractionOf(a.dividend * b.dividend, a.divisor * b.divisor)
export const isZero = ({ dividend }: Fraction): boolean => dividend === 0n

/** Add numbers exactly. Null is 0. */
export const sum = (...values: readonly (Fraction | null)[]): Fraction =>
  values.reduce<Fraction>((total, value) => addFractions(total, value ?? zero), zero)

/** Round to 1e-9, half to even. */
export const toNano = ({ dividend, divisor }: Fraction): bigint =>
  roundFraction(fractionOf(dividend * billion, divisor))

/** Round a price or an amount to 1e-9. Throws a fault above 1,000,000. */
export const priceOf = (value: Fraction, path: string): bigint => {
  const price = toNano(value)
  if (price > maxPrice || price < -maxPrice)
    throw sourceFault(path, 'must be from -1000000 to 1000000', 'value_out_of_range')
  return price
}

/** Return the tax rate that the options give; null if the file decides or there is none. */
export const givenVat = ({ vat }: ImportOptions): Fraction | null => (typeof vat === 'string' ? null : vat)

/** Return a price with tax. */
export const withVat = (price: Fraction, vat: Fraction | null): Fraction =>
  vat === null ? price : multiply(price, addFractions(fractionOf(1n), vat))

/** Return a tax rate as a percentage. Throws a fault if it has more than 15 decimals. */
const percentageOf = ({ dividend, divisor }: Fraction, path: string): Percentage => {
  const scaled = dividend * 10n ** BigInt(percentageScale)
  if (scaled % divisor === 0n) return scaled / divisor
  throw sourceFault(path, `has a tax rate of more than ${percentageScale - 2} decimals of a percent`)
}

/** Surcharges of the options for imported energy, with a further surcharge per kWh. */
export const surchargesOf = (
  options: ImportOptions,
  vat: Fraction | null,
  path: string,
  further: Fraction = zero,
): Surcharges => ({
  surchargeFixed: priceOf(sum(options.surcharge, further), path),
  surchargePercentage: vat === null ? 0n : percentageOf(vat, path),
})

/** Create a rate without tiers. */
export const flatRate = (price: bigint, surcharges: Surcharges): readonly Rate[] => [
  { fixed: price, to: null, ...surcharges },
]

/** Report a part whose currency is not that of the location. Returns true if it is another one. */
export const objectToCurrency = (path: string, currency: string, { context, report }: ImportReader): boolean => {
  if (currency === context.currencyCode) return false
  const message = `The prices are in ${currency}, the location is in ${context.currencyCode}.`
  report.addNotImported({ path, reason: 'currency', affects: 'price', message })
  return true
}

const maxNameLength = 255

/** Shorten a name of a file to the length of names of this service. */
const shortName = (name: string): string => [...name].slice(0, maxNameLength).join('').trim() || 'Imported tariff'

export const maxTariffs = 100
const maxCharges = 200

/** Return the earliest of starts, or the latest of ends; null, which is open, comes first or last. */
const extreme = (values: readonly (number | null)[], choose: (...of: number[]) => number): number | null =>
  values.some(value => value === null) ? null : choose(...values.map(Number))

/**
 * Set the validity of tariffs and charges. `validFrom` replaces the earliest start and cuts what begins before it.
 * `validTo` replaces the latest end and cuts what ends after it. Groups outside are noted.
 */
export const dateGroups = (
  groups: readonly ImportGroup[],
  { context: { timeZone }, options, report }: ImportReader,
): Pick<TariffFile, 'tariffs' | 'charges'> => {
  const instantOf = (day: number | 'open' | null): number | null =>
    typeof day === 'number' ? startOfDayNumber(timeZone, day) : null
  const [from, to] = [instantOf(options.validFrom), instantOf(options.validTo)]
  const first = extreme(
    groups.map(({ start }) => start),
    Math.min,
  )
  const last = extreme(
    groups.map(({ end }) => end),
    Math.max,
  )
  const tariffs: DraftTariff[] = []
  const charges: DraftCharge[] = []
  for (const group of groups) {
    const keepsStart = options.validFrom === null || (group.start !== first && (group.start ?? 0) > (from ?? -Infinity))
    const keepsEnd = options.validTo === null || (group.end !== last && (group.end ?? 0) < (to ?? Infinity))
    const start = keepsStart ? group.start : from
    const end = keepsEnd ? group.end : to
    const parts = [...group.tariffs, ...group.charges]
    if (start !== null && end !== null && end <= start) {
      for (const path of parts.flatMap(part => part.from)) report.addNoted(path, 'is outside the requested time')
      continue
    }
    const { validityFrom } = group
    if (parts.length === 0) for (const path of validityFrom) report.addNoted(path, 'has no price')
    for (const part of parts) report.addImported([...part.from, ...validityFrom])
    const withValidity = (from: readonly string[]): readonly string[] => [...from, ...validityFrom]
    for (const { terms, from: paths, ...tariff } of group.tariffs) {
      const dated = { ...terms, contractStart: start, contractEnd: end }
      tariffs.push({ ...tariff, name: shortName(tariff.name), from: withValidity(paths), terms: dated })
    }
    const startDay = start === null ? null : localDayNumber(timeZone, start)
    const endDay = end === null ? null : localDayNumber(timeZone, end - 1) + 1
    for (const { terms, from: paths, ...charge } of group.charges)
      charges.push({ ...charge, from: withValidity(paths), terms: { ...terms, startDay, endDay } })
  }
  if (tariffs.length > maxTariffs)
    throw sourceFault('', `makes more than ${maxTariffs} tariffs. Split it`, 'too_many_elements')
  if (charges.length > maxCharges)
    throw sourceFault('', `makes more than ${maxCharges} charges. Split it`, 'too_many_elements')
  return { tariffs, charges }
}
