import type { ChargeTerms, ChargeWindow, LimitCharge, PriceUnit, Ratchet } from '../../../domain/charge/charge.ts'
import { fullWeight } from '../../../domain/charge/charge-window.ts'
import { demandIntervals } from '../../../domain/charge/validate-charge.ts'
import { type Fraction, fractionOf } from '../../../domain/fraction.ts'
import { monthNames } from '../../../domain/tariff/day-pattern.ts'
import { commonTerms, demandDefaults, fixedTerms } from '../charge-terms.ts'
import { reportKeptOut, reportUnknown, unknownAround } from '../known-members.ts'
import {
  elementsAt,
  fractionAt,
  isAbsent,
  memberAt,
  requiredFraction,
  type SourceField,
  sourceFault,
  textAt,
  wholeNumberAt,
} from '../source-value.ts'
import {
  type DraftCharge,
  type ImportReader,
  isZero,
  multiply,
  priceOf,
  toNano,
  withVat,
  zero,
} from '../tariff-file.ts'
import { requiredVat } from './urdb-energy.ts'
import { isUnitOf, isUnitOfCharge } from './urdb-members.ts'
import {
  alwaysFirst,
  isAllZero,
  namedPeriods,
  objectToTiers,
  readBounds,
  readPeriods,
  readSchedule,
  type UrdbSchedule,
  type UrdbTier,
} from './urdb-rate.ts'

type Context = { readonly item: SourceField; readonly reader: ImportReader; readonly sourceId: string }

/**
 * Report an amount that can depend on unknown members. `names`: the amount, and the members that belong to it.
 * Returns true if its charge is not imported.
 */
const objectToMembers = ({ item, reader }: Context, names: readonly [string, ...string[]]): boolean => {
  const fields = names.map(name => memberAt(item, name))
  const [amount] = fields as [SourceField]
  if (isAbsent(amount)) return false
  const unknown = unknownAround(reader.unknown, amount)
  const unitMembers = unknown.filter(member => isUnitOfCharge(member) && isUnitOf(member, names[0]))
  const others = unknown.filter(member => !isUnitOfCharge(member))
  reportUnknown(unitMembers, { reason: 'unit', affects: 'bill' }, reader)
  reportUnknown(others, { affects: 'bill' }, reader)
  if (unitMembers.length + others.length === 0) return false
  reportKeptOut(fields, { reason: others.length > 0 ? 'unknown_member' : 'unit', affects: 'bill' }, reader)
  return true
}

const units: Readonly<Record<string, PriceUnit>> = { '$/day': 'DAY', '$/month': 'MONTH', '$/year': 'YEAR' }

/** Amount with its unit of time: from a member with units, or from a member whose name says the unit. */
type AmountMember = { readonly name: string; readonly units?: string; readonly per?: PriceUnit }

const fixedMembers: readonly AmountMember[] = [
  { name: 'fixedchargefirstmeter', units: 'fixedchargeunits' },
  { name: 'fixedmonthlycharge', per: 'MONTH' },
]
const minimumMembers: readonly AmountMember[] = [
  { name: 'mincharge', units: 'minchargeunits' },
  { name: 'minmonthlycharge', per: 'MONTH' },
  { name: 'annualmincharge', per: 'YEAR' },
]

type Amount = { readonly amount: bigint; readonly per: PriceUnit; readonly from: readonly string[] }

const readAmount = (context: Context, { name, units: unitName, per }: AmountMember): Amount | null => {
  const { item, reader } = context
  if (objectToMembers(context, unitName === undefined ? [name] : [name, unitName])) return null
  const sourceField = memberAt(item, name)
  const amount = fractionAt(sourceField)
  if (amount === null) return null
  const unit = unitName === undefined ? null : memberAt(item, unitName)
  const from = [sourceField.path, ...(unit === null || isAbsent(unit) ? [] : [unit.path])]
  if (isZero(amount)) {
    for (const path of from) reader.report.addNoted(path, 'is 0')
    return null
  }
  const period = per ?? units[(unit === null ? null : textAt(unit)) ?? '']
  if (period === undefined) {
    const message = 'The unit is not $/day, $/month or $/year.'
    for (const path of from) reader.report.addNotImported({ path, reason: 'unit', affects: 'bill', message })
    return null
  }
  return { amount: priceOf(withVat(amount, requiredVat(reader)), sourceField.path), per: period, from }
}

const fixedCharge = (context: Context, member: AmountMember): readonly DraftCharge[] => {
  const read = readAmount(context, member)
  if (read === null) return []
  const name = 'Fixed charge'
  const terms = fixedTerms(name, read.amount, read.per)
  return [{ name, sourceId: context.sourceId, from: read.from, terms }]
}

const minimumCharge = (context: Context, member: AmountMember): readonly DraftCharge[] => {
  const read = readAmount(context, member)
  if (read === null) return []
  const name = 'Minimum charge'
  const base: LimitCharge['base'] = { kinds: null, components: null, directions: ['IMPORT'] }
  const terms = { ...commonTerms('MINIMUM', name), amount: read.amount, per: read.per, perKwh: 0n, base }
  return [{ name, sourceId: context.sourceId, from: read.from, terms }]
}

const window = (months: readonly number[], days: ChargeWindow['days'], hours: ChargeWindow['hours']): ChargeWindow => ({
  months: months.length === 12 ? [] : months.flatMap(month => monthNames[month] ?? []),
  dates: [],
  days,
  hours,
  weight: fullWeight,
})

/** Return the runs of hours of a period in a row of 24 hours. */
const hoursOfPeriod = (row: readonly number[], period: number): ChargeWindow['hours'] => {
  const runs: { validFrom: number; validTo: number }[] = []
  for (const [hour, named] of row.entries()) {
    if (named !== period) continue
    const last = runs.at(-1)
    if (last?.validTo === hour * 3_600) last.validTo += 3_600
    else runs.push({ validFrom: hour * 3_600, validTo: (hour + 1) * 3_600 })
  }
  return runs
}

/** Return the windows in which a period applies. Equal months share a window; a period of all hours has none. */
export const windowsOfPeriod = ({ weekday, weekend }: UrdbSchedule, period: number): readonly ChargeWindow[] => {
  const byMonth = monthNames.map((_, month) => ({
    weekday: hoursOfPeriod(weekday[month] ?? [], period),
    weekend: hoursOfPeriod(weekend[month] ?? [], period),
  }))
  const windows = [...Map.groupBy(byMonth.keys(), month => JSON.stringify(byMonth[month]))].flatMap(([key, months]) => {
    const [first] = months
    const hours = first === undefined ? undefined : byMonth[first]
    if (hours === undefined) return []
    if (key === JSON.stringify({ weekday: hours.weekday, weekend: hours.weekday }))
      return hours.weekday.length === 0 ? [] : [window(months, [], hours.weekday)]
    return [
      ...(hours.weekday.length === 0 ? [] : [window(months, ['Weekdays'], hours.weekday)]),
      ...(hours.weekend.length === 0 ? [] : [window(months, ['Weekend'], hours.weekend)]),
    ]
  })
  return windows
}

const isPercent = ({ dividend, divisor }: Fraction): boolean => dividend > divisor

/** Return a share of 0 to 1 that a file writes as a fraction or in percent. */
const shareOf = (value: Fraction): Fraction => (isPercent(value) ? multiply(value, fractionOf(1n, 100n)) : value)

const ratchetMembers = ['demandratchetpercentage', 'lookbackpercent', 'lookbackrange', 'lookbackmonths']

/** Return a member of the ratchet. Some answers of the database write lookbackPercent. */
const ratchetMember = (item: SourceField, name: string): SourceField => {
  const field = memberAt(item, name)
  return isAbsent(field)
    ? memberAt(
        item,
        name.replace(/^lookback./, start => `lookback${start.slice(-1).toUpperCase()}`),
      )
    : field
}

/** Read the ratchet of the demand charges; null if there is none or it is reported. */
const readRatchet = ({ item, reader: { report } }: Context): { ratchet: Ratchet; from: readonly string[] } | null => {
  const members = ratchetMembers.map(name => ratchetMember(item, name))
  const sourceFields = members.filter(sourceField => !isAbsent(sourceField))
  const [percentages, percent, range, months] = members as [SourceField, SourceField, SourceField, SourceField]
  const shares = isAllZero(percentages.value, percentages.path) ? [] : elementsAt(percentages, 12).map(requiredFraction)
  const single = fractionAt(percent)
  const share = single === null || isZero(single) ? shares[0] : single
  if (share === undefined || isZero(share)) {
    for (const { path } of sourceFields) report.addNoted(path, 'has no ratchet')
    return null
  }
  const isUniform =
    shares.every(one => toNano(one) === toNano(shares[0] ?? zero)) && (shares.length === 0 || share === shares[0])
  const span = isAbsent(range) ? null : wholeNumberAt(range, 0, 1_000)
  const flags = isAbsent(months) ? [] : elementsAt(months, 12)
  if (!isUniform || span === null || span < 1 || span > 24 || (flags.length !== 0 && flags.length !== 12)) {
    const message = 'The ratchet does not name one share and the number of months before.'
    for (const { path } of sourceFields) report.addNotImported({ path, reason: 'ratchet', affects: 'bill', message })
    return null
  }
  const inMonths = flags.flatMap(({ value, path }, index) => (isAllZero(value, path) ? [] : [index + 1]))
  return {
    ratchet: { share: toNano(shareOf(share)), months: span, inMonths },
    from: sourceFields.map(({ path }) => path),
  }
}

const isOtherUnit = (unit: string | null): boolean => unit !== null && unit !== 'kW'

type Demand = { readonly structure: string; readonly unit: string; readonly name: string }

/** Create the demand charges of a structure, one for each period that has a price. */
const demandCharges = (context: Context, demand: Demand, schedule: UrdbSchedule, from: readonly string[]) => {
  const { item, reader, sourceId } = context
  const structure = memberAt(item, demand.structure)
  const periods = readPeriods(structure)
  const windowField = memberAt(item, 'demandwindow')
  const intervalMinutes = wholeNumberAt(windowField, 0, 1_000_000) ?? 60
  const unit = [demand.unit, 'demandunits'].map(name => memberAt(item, name)).find(one => isOtherUnit(textAt(one)))
  const named = [...namedPeriods(schedule)].sort((a, b) => a - b)
  const objection =
    unit !== undefined
      ? { path: unit.path, reason: 'unit' as const, message: 'The unit is not kW.' }
      : demandIntervals.includes(intervalMinutes)
        ? firstObjection(periods, named, structure.path)
        : { path: windowField.path, reason: 'unit' as const, message: 'Demand is measured in 15, 30 or 60 minutes.' }
  if (objection !== null) {
    for (const path of new Set([objection.path, ...from]))
      reader.report.addNotImported({ ...objection, path, affects: 'bill' })
    return []
  }
  const ratchet = readRatchet(context)
  const vat = requiredVat(reader)
  return named.flatMap((period): readonly DraftCharge[] => {
    const tiers = periods[period] as readonly UrdbTier[]
    const prices = tiers.map(({ rate, max }) => priceOf(withVat(rate ?? zero, vat), max.path))
    if (prices.every(price => price === 0n)) return []
    const bounds = readBounds(tiers)
    const name = named.length === 1 ? demand.name : `${demand.name} ${period + 1}`
    const terms: ChargeTerms = {
      ...commonTerms('DEMAND', name),
      ...demandDefaults,
      intervalMinutes,
      windows: named.length === 1 ? [] : windowsOfPeriod(schedule, period),
      ratchet: ratchet?.ratchet ?? null,
      price: prices.length === 1 ? (prices[0] as bigint) : null,
      tiers: prices.length === 1 ? null : prices.map((price, index) => ({ to: bounds[index] ?? null, price })),
    }
    return [{ name, sourceId, from: [...from, ...(ratchet?.from ?? [])], terms }]
  })
}

const firstObjection = (periods: readonly (readonly UrdbTier[])[], named: readonly number[], structure: string) => {
  for (const period of named) {
    const objection = objectToTiers(periods[period], { structure, period, units: ['kW'], unitReason: 'unit' })
    if (objection !== null) return objection
  }
  return null
}

/** Note the parts of demand whose prices are 0, unless they are reported. */
const noteZero = ({ report }: ImportReader, from: readonly string[]): void => {
  for (const path of from) report.addNoted(path, 'has no amount')
}

const flatDemand = (context: Context): readonly DraftCharge[] => {
  const { item, reader } = context
  const names = ['flatdemandstructure', 'flatdemandmonths'] as const
  const sourceFields = names.map(name => memberAt(item, name))
  const [structure, months] = sourceFields as [SourceField, SourceField]
  if (isAbsent(structure) || objectToMembers(context, names)) return []
  const periods = elementsAt(months, 12).map(month => wholeNumberAt(month, 0, 1_000_000) ?? 0)
  if (periods.length !== 0 && periods.length !== 12) throw sourceFault(months.path, 'must have 12 months')
  const rows = periods.map(period => Array.from({ length: 24 }, () => period))
  const schedule = rows.length === 0 ? alwaysFirst : { weekday: rows, weekend: rows }
  const from = sourceFields.filter(sourceField => !isAbsent(sourceField)).map(({ path }) => path)
  const charges = demandCharges(
    context,
    { structure: 'flatdemandstructure', unit: 'flatdemandunit', name: 'Demand' },
    schedule,
    from,
  )
  if (charges.length === 0) noteZero(reader, from)
  return charges
}

const timedDemand = (context: Context): readonly DraftCharge[] => {
  const { item, reader } = context
  const names = ['demandratestructure', 'demandweekdayschedule', 'demandweekendschedule'] as const
  const sourceFields = names.map(name => memberAt(item, name)) as [SourceField, SourceField, SourceField]
  if (isAbsent(sourceFields[0]) || objectToMembers(context, names)) return []
  const from = sourceFields.filter(sourceField => !isAbsent(sourceField)).map(({ path }) => path)
  const charges = demandCharges(
    context,
    { structure: 'demandratestructure', unit: 'demandrateunit', name: 'Demand by time' },
    readSchedule(sourceFields[1], sourceFields[2]) ?? alwaysFirst,
    from,
  )
  if (charges.length === 0) noteZero(reader, from)
  return charges
}

/** Read the charges of a rate: fixed charges, minimum charges and demand. */
export const readCharges = (context: Context): readonly DraftCharge[] => {
  const demand = [...flatDemand(context), ...timedDemand(context)]
  const interval = memberAt(context.item, 'demandwindow')
  if (demand.length === 0 && !isAbsent(interval)) context.reader.report.addNoted(interval.path, 'has no price')
  return [
    ...fixedMembers.flatMap(member => fixedCharge(context, member)),
    ...minimumMembers.flatMap(member => minimumCharge(context, member)),
    ...demand.map(charge => (isAbsent(interval) ? charge : { ...charge, from: [...charge.from, interval.path] })),
  ]
}
