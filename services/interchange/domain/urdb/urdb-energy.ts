import type { Fraction } from '../../../domain/fraction.ts'
import { monthNames } from '../../../domain/tariff/day-pattern.ts'
import type { Rate } from '../../../domain/tariff/rate.ts'
import type { ScheduleEntry } from '../../../domain/tariff/tariff.ts'
import { type DayProfile, scheduleOfMonths } from '../day-profiles.ts'
import { elementsAt, fractionAt, isAbsent, memberAt, type SourceField, sourceFault, textAt } from '../source-value.ts'
import { givenVat, type ImportGroup, type ImportReader, isZero, surchargesOf, zero } from '../tariff-file.ts'
import {
  alwaysFirst,
  namedPeriods,
  type Objection,
  objectToTiers,
  ratesOf,
  readPeriods,
  readSchedule,
  type UrdbSchedule,
  type UrdbTier,
} from './urdb-rate.ts'

const hourSeconds = 3_600
/** Members of the prices of energy. */
export const energyMembers: readonly string[] = [
  'energyratestructure',
  'energyweekdayschedule',
  'energyweekendschedule',
  'fueladjustmentsmonthly',
]
/** Rules of generation under which each exported kWh is paid at `sell`. */
const exportRules = ['Buy All Sell All', 'Net Billing Instantaneous', 'Net Billing Hourly']

type RatesAt = (month: number, period: number) => readonly Rate[]

const profileOf = (hours: readonly number[], month: number, ratesAt: RatesAt): DayProfile =>
  hours.map((period, hour) => ({ start: hour * hourSeconds, rate: ratesAt(month, period) }))

const scheduleOf = ({ weekday, weekend }: UrdbSchedule, ratesAt: RatesAt): readonly ScheduleEntry[] =>
  scheduleOfMonths(
    monthNames.map((_, month) => {
      const working = profileOf(weekday[month] ?? [], month, ratesAt)
      const free = profileOf(weekend[month] ?? [], month, ratesAt)
      return { weekdays: [working, working, working, working, working, free, free], holidays: null }
    }),
  )

const readFuelAdjustments = (sourceField: SourceField) => {
  const months = elementsAt(sourceField, 12).map(fractionAt)
  if (months.length !== 0 && months.length !== 12) throw sourceFault(sourceField.path, 'must have 12 months')
  return months
}

type Energy = {
  readonly item: SourceField
  readonly periods: readonly (readonly UrdbTier[])[]
  readonly schedule: UrdbSchedule
}

/** Return the first reason against the prices of the named periods; null if there is none. */
const objectionTo = ({ item, periods, schedule }: Energy): Objection | null => {
  const structure = memberAt(item, 'energyratestructure').path
  for (const period of [...namedPeriods(schedule)].sort((a, b) => a - b)) {
    const objection = objectToTiers(periods[period], { structure, period, units: ['kWh'], unitReason: 'tier_unit' })
    if (objection?.reason === 'period_missing')
      return { ...objection, path: memberAt(item, 'energyweekdayschedule').path }
    if (objection !== null) return objection
  }
  return null
}

/** Tariff of the exported energy; null if it is not imported. Reports prices that cannot be imported. */
const readExport = (
  { item, periods, schedule }: Energy,
  { report }: ImportReader,
): { readonly schedule: readonly ScheduleEntry[]; readonly from: readonly string[] } | null => {
  const rules = memberAt(item, 'dgrules')
  const sells = periods.flatMap(tiers => tiers.map(({ sell }) => sell)).filter(sell => !isAbsent(sell))
  const paid = sells.filter(sell => !isZero(fractionAt(sell) ?? zero))
  const rule = textAt(rules)
  for (const sell of sells) if (!paid.includes(sell)) report.addNoted(sell.path, 'is 0')
  if (rule === null || !exportRules.includes(rule)) {
    const message = 'The price of net metering needs the difference of import and export.'
    for (const { path } of paid) report.addNotImported({ path, reason: 'net_metering', affects: 'price', message })
    return null
  }
  if (rule === 'Net Billing Hourly') {
    const message = 'Import and export of an hour are offset in the source. Here each of them is billed.'
    report.addNotImported({ path: rules.path, reason: 'netting', affects: 'bill', message })
  }
  if (paid.length === 0) return null
  const priceAt = ({ sell }: UrdbTier) => fractionAt(sell) ?? zero
  const named = [...namedPeriods(schedule)].map(period => periods[period] as readonly UrdbTier[])
  const differs = named.find(tiers => new Set(ratesOf(tiers, priceAt).map(({ fixed }) => fixed)).size > 1)
  if (differs !== undefined) {
    const message = 'The price of export depends on the tiers of import.'
    const path = differs[0]?.sell.path ?? rules.path
    report.addNotImported({ path, reason: 'netting', affects: 'price', message })
    return null
  }
  const ratesAt: RatesAt = (_, period) => ratesOf((periods[period] as readonly UrdbTier[]).slice(0, 1), priceAt)
  return { schedule: scheduleOf(schedule, ratesAt), from: paid.map(({ path }) => path) }
}

/** Read the prices of energy of a rate as tariffs. Returns none and reports the reason if they cannot be said exactly. */
export const readEnergy = (item: SourceField, reader: ImportReader, sourceId: string): ImportGroup['tariffs'] => {
  const { report, options } = reader
  const structure = memberAt(item, 'energyratestructure')
  if (isAbsent(structure)) return []
  const periods = readPeriods(structure)
  const grids = energyMembers.slice(1, 3).map(name => memberAt(item, name)) as [SourceField, SourceField]
  const energy = { item, periods, schedule: readSchedule(...grids) ?? alwaysFirst }
  const sourceFields = energyMembers.map(name => memberAt(item, name)).filter(sourceField => !isAbsent(sourceField))
  const objection = objectionTo(energy)
  const name = textAt(memberAt(item, 'name')) ?? 'URDB rate'
  if (objection !== null) {
    report.addNotImported({ ...objection, affects: 'price' })
    for (const { path } of sourceFields) {
      if (path !== objection.path)
        report.addNotImported({ ...objection, path, affects: 'price', message: 'Its tariff is not imported.' })
    }
    return []
  }
  for (const tiers of periods) {
    const last = tiers.at(-1)
    if (last !== undefined && !isAbsent(last.max)) report.addNoted(last.max.path, 'The last tier has no bound.')
  }
  const fuelField = memberAt(item, 'fueladjustmentsmonthly')
  const fuel = readFuelAdjustments(fuelField)
  const vat = requiredVat(reader)
  const known = new Map<string, readonly Rate[]>()
  const ratesAt: RatesAt = (month, period) => {
    const key = `${fuel.length === 0 ? '' : month} ${period}`
    const surcharges = surchargesOf(options, vat, fuelField.path, fuel[month] ?? zero)
    const rates = known.get(key) ?? ratesOf(periods[period] ?? [], ({ rate }) => rate ?? zero, surcharges)
    known.set(key, rates)
    return rates
  }
  const common = { name, sourceId, from: sourceFields.map(({ path }) => path) }
  const terms = { type: 'COMMODITY', marketRates: false } as const
  const imported = { ...terms, direction: 'IMPORT', schedule: scheduleOf(energy.schedule, ratesAt) } as const
  const exported = readExport(energy, reader)
  return [
    { ...common, terms: imported },
    ...(exported === null
      ? []
      : [
          {
            ...common,
            from: exported.from,
            terms: { ...terms, direction: 'EXPORT', schedule: exported.schedule } as const,
          },
        ]),
  ]
}

/** Return the tax rate of the options for a format without taxes. Throws a fault if the options refer to the file. */
export const requiredVat = ({ options }: ImportReader): Fraction | null => {
  if (options.vat === 'SOURCE') throw sourceFault('', 'has no tax rates. Set vat (--vat) to a percentage, such as 25')
  return givenVat(options)
}
