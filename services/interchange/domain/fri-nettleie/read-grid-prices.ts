import type { DemandCharge } from '../../../domain/charge/charge.ts'
import { parseDate } from '../../../domain/civil-date.ts'
import { startOfDayNumber } from '../../../domain/civil-time.ts'
import { type Fraction, fractionOf } from '../../../domain/fraction.ts'
import { commonTerms, demandDefaults, fixedTerms } from '../charge-terms.ts'
import { type DayProfile, scheduleOfMonths } from '../day-profiles.ts'
import { type MemberTable, plainMembers, reportKeptOut, reportUnknown, unknownAround } from '../known-members.ts'
import {
  elementsAt,
  fractionAt,
  isAbsent,
  memberAt,
  requiredFraction,
  requiredText,
  type SourceField,
  sourceFault,
  textAt,
} from '../source-value.ts'
import {
  type DraftCharge,
  flatRate,
  type ImportGroup,
  type ImportReader,
  maxTariffs,
  multiply,
  objectToCurrency,
  priceOf,
  surchargesOf,
  toNano,
  withVat,
} from '../tariff-file.ts'
import { requiredVat } from '../urdb/urdb-energy.ts'

/** Members of a list of grid prices. */
export const gridPriceMembers: MemberTable = {
  ...plainMembers('netteier', 'gln', 'mga', 'kilder', 'sist_oppdatert'),
  tariffer: {
    ...plainMembers('kundegrupper', 'gyldig_fra', 'gyldig_til', 'navn'),
    energiledd: {
      grunnpris: null,
      unntak: plainMembers('navn', 'pris', 'timer', 'dager', 'måneder', 'tillegg'),
    },
    fastledd: { ...plainMembers('metode', 'terskel_inkludert'), terskler: plainMembers('terskel', 'pris') },
  },
}

const hundredth = fractionOf(1n, 100n)
const maxExceptions = 100
const maxSteps = 50
const months = [
  'januar',
  'februar',
  'mars',
  'april',
  'mai',
  'juni',
  'juli',
  'august',
  'september',
  'oktober',
  'november',
  'desember',
]
const weekdays = ['mandag', 'tirsdag', 'onsdag', 'torsdag', 'fredag', 'lørdag', 'søndag']

/** Groups of days: whether they contain a weekday (0 is Monday) that is or is not a public holiday. */
const dayGroups: Readonly<Record<string, (weekday: number, isHoliday: boolean) => boolean>> = {
  alle: () => true,
  ukedag: weekday => weekday < 5,
  helg: weekday => weekday >= 5,
  virkedag: (weekday, isHoliday) => weekday < 5 && !isHoliday,
  fridag: (weekday, isHoliday) => weekday >= 5 || isHoliday,
  helligdager: (_, isHoliday) => isHoliday,
}
const holidayGroups = ['virkedag', 'fridag', 'helligdager']

/** Price of some hours. It replaces the base price and the exceptions before it. */
type Exception = {
  readonly price: Fraction
  readonly months: readonly number[]
  readonly days: readonly string[]
  readonly contains: (weekday: number, isHoliday: boolean) => boolean
  readonly hours: ReadonlySet<number>
}

const readMonth = (field: SourceField): number => {
  const month = months.indexOf(requiredText(field))
  if (month < 0) throw sourceFault(field.path, `must be one of ${months.join(', ')}`)
  return month
}

const readDay = (field: SourceField): string => {
  const day = requiredText(field)
  if (!weekdays.includes(day) && !Object.hasOwn(dayGroups, day))
    throw sourceFault(field.path, `must be one of ${[...weekdays, ...Object.keys(dayGroups)].join(', ')}`)
  return day
}

/** Read hours of the form a-b. Both are included; if b is before a, the hours pass midnight. */
const readHours = (field: SourceField): ReadonlySet<number> => {
  const text = textAt(field)
  if (text === null) return new Set(Array.from({ length: 24 }, (_, hour) => hour))
  const match = /^(\d\d?)-(\d\d?)$/.exec(text)
  const [first, last] = [Number(match?.[1] ?? 24), Number(match?.[2] ?? 24)]
  if (first > 23 || last > 23) throw sourceFault(field.path, 'must be hours of the form 6-21, each from 0 to 23')
  const count = ((last - first + 24) % 24) + 1
  return new Set(Array.from({ length: count }, (_, index) => (first + index) % 24))
}

const readException = (field: SourceField): Exception => {
  const days = elementsAt(memberAt(field, 'dager'), 20).map(readDay)
  return {
    price: multiply(requiredFraction(memberAt(field, 'pris')), hundredth),
    months: elementsAt(memberAt(field, 'måneder'), 12).map(readMonth),
    days,
    contains: (weekday, isHoliday) =>
      days.length === 0 || days.some(day => dayGroups[day]?.(weekday, isHoliday) ?? weekdays.indexOf(day) === weekday),
    hours: readHours(memberAt(field, 'timer')),
  }
}

type Energy = { readonly base: Fraction; readonly exceptions: readonly Exception[]; readonly path: string }

/** Create the function that returns the profile of a day. The last exception that contains an hour decides. */
const profiles = ({ base, exceptions, path }: Energy, reader: ImportReader) => {
  const surcharges = surchargesOf(reader.options, requiredVat(reader), path)
  return (month: number, weekday: number, isHoliday: boolean): DayProfile => {
    const active = exceptions.filter(
      one => (one.months.length === 0 || one.months.includes(month)) && one.contains(weekday, isHoliday),
    )
    return Array.from({ length: 24 }, (_, hour) => {
      const price = active.findLast(({ hours }) => hours.has(hour))?.price ?? base
      return { start: hour * 3_600, rate: flatRate(priceOf(price, path), surcharges) }
    })
  }
}

const textOf = (profile: DayProfile): string => profile.map(({ rate }) => rate[0]?.fixed).join()

/** Read the prices of energy as a schedule; null if they are reported. */
const readEnergy = (energiledd: SourceField, reader: ImportReader) => {
  const { report, context } = reader
  const fields = elementsAt(memberAt(energiledd, 'unntak'), maxExceptions)
  const addition = fields.map(field => memberAt(field, 'tillegg')).find(field => !isAbsent(field))
  if (addition !== undefined) {
    const message = 'An addition to other prices has no exact meaning here.'
    for (const { path } of [addition, energiledd])
      report.addNotImported({ path, reason: 'formula', affects: 'price', message })
    return null
  }
  const base = multiply(requiredFraction(memberAt(energiledd, 'grunnpris')), hundredth)
  const exceptions = fields.map(readException)
  const profileOf = profiles({ base, exceptions, path: energiledd.path }, reader)
  const namesHolidays = exceptions.some(({ days }) => days.some(day => holidayGroups.includes(day)))
  const byMonth = months.map((_, month) => {
    const holidays = weekdays.map((_name, weekday) => profileOf(month, weekday, true))
    return {
      weekdays: weekdays.map((_name, weekday) => profileOf(month, weekday, false)),
      holidays: namesHolidays ? (holidays[0] as DayProfile) : null,
      isOneHoliday: new Set(holidays.map(textOf)).size === 1,
    }
  })
  if (namesHolidays && (!context.hasCalendar || byMonth.some(({ isOneHoliday }) => !isOneHoliday))) {
    const message = context.hasCalendar
      ? 'The price of a public holiday depends on its weekday.'
      : 'The location has no calendar of public holidays. Set calendar_id.'
    report.addNotImported({ path: energiledd.path, reason: 'public_holidays', affects: 'price', message })
    return null
  }
  return scheduleOfMonths(byMonth)
}

/** Methods of measuring demand: the number of highest hours, on different days or not. */
const methods: Readonly<Record<string, Pick<DemandCharge, 'highest' | 'hasDistinctDays'>>> = {
  TRE_DØGNMAX_MND: { highest: 3, hasDistinctDays: true },
  MND_MAX: { highest: 1, hasDistinctDays: false },
}

/** Read the price of demand. Reports a method that records cannot measure. */
const readDemand = (fastledd: SourceField, sourceId: string, reader: ImportReader): readonly DraftCharge[] => {
  if (isAbsent(fastledd)) return []
  const vat = requiredVat(reader)
  const method = textAt(memberAt(fastledd, 'metode')) ?? ''
  const steps = elementsAt(memberAt(fastledd, 'terskler'), maxSteps)
    .map(step => {
      const price = memberAt(step, 'pris')
      const from = toNano(fractionAt(memberAt(step, 'terskel')) ?? fractionOf(0n))
      return { from, amount: priceOf(withVat(requiredFraction(price), vat), price.path) }
    })
    .sort((a, b) => (a.from < b.from ? -1 : 1))
  const [first] = steps
  const common = { sourceId, from: [fastledd.path] }
  if (steps.length === 1 && first?.from === 0n) {
    const name = 'Fixed grid fee'
    return [{ ...common, name, terms: fixedTerms(name, first.amount, 'YEAR') }]
  }
  const measured = methods[method]
  if (measured === undefined || steps.length === 0) {
    const message = 'The fee follows a method that records cannot measure.'
    reader.report.addNotImported({ path: fastledd.path, reason: 'formula', affects: 'bill', message })
    return []
  }
  const isIncluded = memberAt(fastledd, 'terskel_inkludert').value !== false
  const name = 'Grid capacity'
  const terms = {
    ...commonTerms('DEMAND', name),
    ...demandDefaults,
    ...measured,
    steps,
    per: 'YEAR' as const,
    stepEdge: isIncluded ? ('LOWER_INCLUSIVE' as const) : ('LOWER_EXCLUSIVE' as const),
  }
  return [{ ...common, name, terms }]
}

const dayAt = (field: SourceField, { context }: ImportReader): number | null => {
  const text = textAt(field)
  if (text === null) return null
  const day = parseDate(text)
  if (day === undefined) throw sourceFault(field.path, 'must be a date of the form YYYY-MM-DD')
  return startOfDayNumber(context.timeZone, day)
}

const groupsOf = (tariff: SourceField): readonly string[] =>
  elementsAt(memberAt(tariff, 'kundegrupper'), 20).map(requiredText)

/** Return the customer group of the options, or the only one of the file. */
const groupOf = (tariffs: readonly SourceField[], { options }: ImportReader): string => {
  const groups = [...new Set(tariffs.flatMap(groupsOf))]
  const chosen = options.group ?? (groups.length === 1 ? groups[0] : undefined)
  if (chosen !== undefined && groups.includes(chosen)) return chosen
  throw sourceFault('', `has prices for ${groups.join(', ')}. Send group to choose one`, 'field_required')
}

/** Report a part that can depend on unknown members. Returns true if it is not imported. */
const objectTo = (part: SourceField, affects: 'price' | 'bill', reader: ImportReader): boolean => {
  if (!reportUnknown(unknownAround(reader.unknown, part), { affects }, reader)) return false
  reportKeptOut([part], { affects }, reader)
  return true
}

const readTariff = (tariff: SourceField, source: { id: string; name: string }, reader: ImportReader): ImportGroup => {
  const [from, to] = ['gyldig_fra', 'gyldig_til'].map(name => memberAt(tariff, name)) as [SourceField, SourceField]
  const energiledd = memberAt(tariff, 'energiledd')
  const fastledd = memberAt(tariff, 'fastledd')
  const schedule = objectTo(energiledd, 'price', reader) || isAbsent(energiledd) ? null : readEnergy(energiledd, reader)
  const terms = { direction: 'IMPORT', type: 'NON_COMMODITY', marketRates: false } as const
  return {
    start: dayAt(from, reader),
    end: dayAt(to, reader),
    validityFrom: [from, to].filter(field => !isAbsent(field)).map(({ path }) => path),
    tariffs:
      schedule === null
        ? []
        : [{ name: source.name, sourceId: source.id, from: [energiledd.path], terms: { ...terms, schedule } }],
    charges: objectTo(fastledd, 'bill', reader) ? [] : readDemand(fastledd, source.id, reader),
  }
}

/**
 * Read the prices of a Norwegian grid company for a customer group.
 * Source: docs/rules/interchange-tariffs.md #fri-nettleie.
 */
export const readGridPrices = (file: SourceField, reader: ImportReader): readonly ImportGroup[] => {
  const field = memberAt(file, 'tariffer')
  const tariffs = elementsAt(field, maxTariffs)
  if (objectToCurrency(field.path, 'NOK', reader)) return []
  if (isAbsent(field) && objectTo(field, 'price', reader)) return []
  const group = groupOf(tariffs, reader)
  const owner = textAt(memberAt(file, 'netteier')) ?? ''
  const glns = elementsAt(memberAt(file, 'gln'), 20).map(requiredText)
  const source = { id: `fri-nettleie:${glns.join('+') || owner}:${group}`, name: `Nettleie ${owner} ${group}` }
  for (const gln of elementsAt(memberAt(file, 'gln'), 20)) reader.report.addNoted(gln.path, 'has no price')
  const groups: ImportGroup[] = []
  for (const tariff of tariffs) {
    const isUnclear = isAbsent(memberAt(tariff, 'kundegrupper')) && unknownAround(reader.unknown, tariff).length > 0
    if (groupsOf(tariff).includes(group) || isUnclear) groups.push(readTariff(tariff, source, reader))
    else reader.report.addNoted(tariff.path, 'is for another customer group')
  }
  return groups
}
