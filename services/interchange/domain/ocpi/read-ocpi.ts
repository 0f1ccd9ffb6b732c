import type { SessionCharge } from '../../../domain/charge/charge.ts'
import { fullWeight } from '../../../domain/charge/charge-window.ts'
import { localDayNumber, startOfDayNumber } from '../../../domain/civil-time.ts'
import { addFractions, type Fraction, fractionOf, roundFraction } from '../../../domain/fraction.ts'
import type { Rate } from '../../../domain/tariff/rate.ts'
import type { ScheduleEntry } from '../../../domain/tariff/tariff.ts'
import { type DayProfile, nameDays, scheduleOfWeek } from '../day-profiles.ts'
import { reportKeptOut, reportUnknown, unknownAround } from '../known-members.ts'
import {
  elementsAt,
  isAbsent,
  isSourceList,
  memberAt,
  requiredText,
  type SourceField,
  sourceFault,
  textAt,
  wholeNumberAt,
} from '../source-value.ts'
import {
  type DraftCharge,
  flatRate,
  type ImportGroup,
  type ImportReader,
  isZero,
  multiply,
  objectToCurrency,
  priceOf,
  surchargesOf,
  withVat,
  zero,
} from '../tariff-file.ts'
import { appliesAt, appliesOn, isAlways } from './ocpi-restrictions.ts'
import { type OcpiPrice, type OcpiTariff, readOcpiTariff } from './ocpi-tariff.ts'

const maxTariffs = 100
const weekdays = [0, 1, 2, 3, 4, 5, 6]

/** Report why the energy of a tariff cannot be priced by time alone. Returns true if there is a reason. */
const objectToEnergy = (prices: readonly OcpiPrice[], { report }: ImportReader): boolean => {
  let isRefused = false
  for (const { restrictions, step } of prices) {
    for (const { path } of restrictions.perSession) {
      const message = 'The price of a kWh depends on its session.'
      report.addNotImported({ path, reason: 'per_session', affects: 'price', message })
      isRefused = true
    }
    const size = wholeNumberAt(step, 0, 1_000_000_000)
    if (size === null || size <= 1) continue
    const message = 'Energy is billed in steps of more than 1 Wh.'
    report.addNotImported({ path: step.path, reason: 'step_size', affects: 'price', message })
    isRefused = true
  }
  return isRefused
}

/** Create the profile of a weekday: at each second the first price that applies; without one the price is 0. */
const profileOf = (
  prices: readonly OcpiPrice[],
  weekday: number,
  rateOf: (price: OcpiPrice | null) => readonly Rate[],
): DayProfile => {
  const edges = prices.flatMap(({ restrictions: { startSecond, endSecond } }) => [startSecond, endSecond])
  const starts = [...new Set([0, ...edges])].filter(second => second < 86_400).sort((a, b) => a - b)
  return starts.map(start => ({
    start,
    rate: rateOf(prices.find(({ restrictions }) => appliesAt(restrictions, weekday, start)) ?? null),
  }))
}

type Span = { readonly start: number | null; readonly end: number | null }

/** Split the validity of a tariff at the dates of its restrictions. */
const spansOf = ({ start, end }: OcpiTariff, prices: readonly OcpiPrice[], reader: ImportReader): readonly Span[] => {
  const days = prices.flatMap(({ restrictions: { startDay, endDay } }) => [startDay, endDay])
  const cuts = [...new Set(days.filter(day => day !== null))]
    .map(day => startOfDayNumber(reader.context.timeZone, day))
    .filter(at => at > (start ?? -Infinity) && at < (end ?? Infinity))
    .sort((a, b) => a - b)
  return [start, ...cuts].map((from, index) => ({ start: from, end: cuts[index] ?? end }))
}

const scheduleIn = (span: Span, prices: readonly OcpiPrice[], reader: ImportReader): readonly ScheduleEntry[] => {
  const { timeZone } = reader.context
  // Spans are cut at the dates of all restrictions, so that one instant decides for the whole span.
  const at = span.start ?? (span.end === null ? 0 : span.end - 1)
  const day = localDayNumber(timeZone, at)
  const active = prices.filter(({ restrictions }) => appliesOn(restrictions, day))
  const rateOf = (price: OcpiPrice | null): readonly Rate[] => {
    const path = price?.sourceField.path ?? ''
    return flatRate(priceOf(price?.price ?? zero, path), surchargesOf(reader.options, price?.vat ?? null, path))
  }
  const rates = new Map([null, ...active].map(price => [price, rateOf(price)]))
  return scheduleOfWeek(weekdays.map(weekday => profileOf(active, weekday, price => rates.get(price) ?? [])))
}

/** Hours and days of the restrictions as windows of a charge. */
const windowsOf = ({ restrictions }: OcpiPrice): SessionCharge['windows'] =>
  isAlways(restrictions)
    ? []
    : [
        {
          months: [],
          dates: [],
          weight: fullWeight,
          days: restrictions.weekdays.length === 0 ? [] : nameDays([...restrictions.weekdays].sort((a, b) => a - b)),
          hours: [{ validFrom: restrictions.startSecond, validTo: restrictions.endSecond }],
        },
      ]

const secondsPerMinute = 60
/** Rates per hour are exact per minute if 1e9 times the rate is divisible by 60. */
const perMinute = (price: Fraction): Fraction => multiply(price, fractionOf(1n, 60n))
const isExactNano = (value: Fraction): boolean => {
  const scaled = fractionOf(value.dividend * 1_000_000_000n, value.divisor)
  return roundFraction(scaled) * scaled.divisor === scaled.dividend
}

type SessionTerms = Pick<SessionCharge, 'price' | 'per' | 'while' | 'count' | 'name'>

/** Return the terms of a session charge; a text is the reason why there is none. */
const sessionTerms = (one: OcpiPrice, base: Fraction, hasBoth: boolean): SessionTerms | string => {
  const price = withVat(addFractions(one.price, base), one.vat)
  const { path } = one.sourceField
  if (one.type === 'FLAT') {
    if (!isAlways(one.restrictions)) return 'A fee of a session applies at all times here.'
    return { price: priceOf(price, path), per: 'SESSION', while: 'CONNECTED', count: 'EXACT', name: 'Start fee' }
  }
  const step = wholeNumberAt(one.step, 0, 1_000_000_000) ?? 1
  const isExact = step <= 1
  if (!isExact && step !== secondsPerMinute) return 'Time is billed exactly or in minutes here.'
  if (!isExact && hasBoth) return 'Charging and parking are billed in steps of their own.'
  if (!isExactNano(perMinute(price))) return 'The price of a minute has more than 9 decimals.'
  const isParking = one.type === 'PARKING_TIME'
  return {
    price: priceOf(perMinute(price), path),
    per: 'MINUTE',
    while: isParking ? 'IDLE' : 'CONNECTED',
    count: isExact ? 'EXACT' : 'STARTED',
    name: isParking ? 'Parking time' : 'Charging time',
  }
}

const chargesOf = (tariff: OcpiTariff, reader: ImportReader): readonly DraftCharge[] => {
  const others = tariff.prices.filter(({ type, restrictions }) => type !== 'ENERGY' && !restrictions.isReservation)
  const times = others.filter(({ type }) => type === 'TIME')
  const hasBoth = times.length > 0 && others.some(({ type }) => type === 'PARKING_TIME')
  return others.flatMap((one): readonly DraftCharge[] => {
    const [path] = one.from as [string]
    if (isZero(one.price) && !(hasBoth && one.type === 'PARKING_TIME')) {
      reader.report.addNoted(path, 'is 0')
      return []
    }
    const { restrictions } = one
    const isDated = restrictions.startDay !== null || restrictions.endDay !== null
    const isAlone = others.filter(({ type }) => type === one.type).length === 1
    // The minutes of CONNECTED contain those of parking, so that parking is billed at the difference.
    const base =
      one.type === 'PARKING_TIME' && times[0] !== undefined ? multiply(times[0].price, fractionOf(-1n)) : zero
    const isSameTime = !hasBoth || (isAlone && others.every(other => isAlways(other.restrictions)))
    const terms =
      restrictions.perSession.length > 0 || isDated || !isAlone || !isSameTime
        ? 'The fee depends on more than the time of day and the weekday.'
        : sessionTerms(one, base, hasBoth)
    if (typeof terms === 'string') {
      reader.report.addNotImported({ path, reason: 'no_charges', affects: 'bill', message: terms })
      return []
    }
    const common = { kind: 'SESSION', component: 'session', sequence: 0, startDay: null, endDay: null } as const
    const rest = { afterMs: 0, maxAmount: null, windows: windowsOf(one), deviceIds: null }
    return [{ name: terms.name, sourceId: tariff.sourceId, from: one.from, terms: { ...common, ...rest, ...terms } }]
  })
}

const reportOthers = ({ sourceField, prices }: OcpiTariff, { report }: ImportReader): void => {
  for (const name of ['min_price', 'max_price']) {
    const { path, value } = memberAt(sourceField, name)
    const message = 'A session has no minimum or maximum price here.'
    if (value !== undefined && value !== null)
      report.addNotImported({ path, reason: 'no_charges', affects: 'bill', message })
  }
  for (const { restrictions, sourceField: component } of prices) {
    const message = 'Prices of reservations need records of reservations.'
    if (restrictions.isReservation)
      report.addNotImported({ path: component.path, reason: 'reservation', affects: 'bill', message })
  }
  for (const name of ['energy_mix', 'preauthorize_amount']) {
    const { path, value } = memberAt(sourceField, name)
    if (value !== undefined && value !== null) report.addNoted(path, 'has no price')
  }
}

/**
 * Report a tariff with unknown members. Returns true if it is not imported: an element whose conditions are not certain
 * can hide the elements after it, and the times of the elements before it have no other price.
 */
const objectToMembers = (tariff: SourceField, reader: ImportReader): boolean => {
  if (!reportUnknown(unknownAround(reader.unknown, tariff), { affects: 'price' }, reader)) return false
  reportKeptOut([memberAt(tariff, 'elements')], { affects: 'price' }, reader)
  return true
}

const groupsOf = (tariff: OcpiTariff, reader: ImportReader): readonly ImportGroup[] => {
  const { report } = reader
  const { sourceField, sourceId, name, validityFrom } = tariff
  const currency = requiredText(memberAt(sourceField, 'currency'))
  if (objectToCurrency(sourceField.path, currency, reader)) return []
  reportOthers(tariff, reader)
  const energy = tariff.prices.filter(({ type, restrictions }) => type === 'ENERGY' && !restrictions.isReservation)
  const charges = chargesOf(tariff, reader)
  const whole = { start: tariff.start, end: tariff.end, validityFrom, tariffs: [], charges }
  if (objectToEnergy(energy, reader)) {
    for (const { path } of energy.map(one => one.sourceField))
      report.addNotImported({ path, reason: 'per_session', affects: 'price', message: 'Its tariff is not imported.' })
    return [whole]
  }
  const from = energy.length === 0 ? [memberAt(sourceField, 'elements').path] : energy.flatMap(one => one.from)
  const terms = { direction: 'IMPORT', type: 'COMMODITY', marketRates: false } as const
  const spans = spansOf(tariff, energy, reader)
  if (spans.length > maxTariffs)
    throw sourceFault(sourceField.path, `has more than ${maxTariffs - 1} dates of changes`, 'too_many_elements')
  const groups: ImportGroup[] = []
  for (const span of spans) {
    const tariffs = [{ name, sourceId, from, terms: { ...terms, schedule: scheduleIn(span, energy, reader) } }]
    groups.push({ ...span, validityFrom, tariffs, charges: [] })
  }
  return charges.length === 0 ? groups : [...groups, whole]
}

/** List the tariffs of a file: one, a list, or the `data` of an answer. */
const tariffsOf = (file: SourceField): readonly SourceField[] => {
  const content = isSourceList(file.value) ? file : memberAt(file, 'data')
  if (isAbsent(content)) return [file]
  return isSourceList(content.value) ? elementsAt(content, maxTariffs) : [content]
}

/**
 * Read tariffs of OCPI 2.2.1 or 2.3.0. The options must choose one of several types.
 * Source: docs/rules/interchange-tariffs.md #ocpi.
 */
export const readOcpi = (file: SourceField, reader: ImportReader): readonly ImportGroup[] => {
  const { options, report } = reader
  const sourceFields = tariffsOf(file)
  const typeOf = (sourceField: SourceField): string => textAt(memberAt(sourceField, 'type')) ?? 'REGULAR'
  const types = [...new Set(sourceFields.map(typeOf))]
  if (options.type === null && types.length > 1)
    throw sourceFault('', `has tariffs of the types ${types.join(', ')}. Send type to choose one`, 'field_required')
  const groups: ImportGroup[] = []
  for (const sourceField of sourceFields) {
    const isUnclear = isAbsent(memberAt(sourceField, 'type'))
    if (
      options.type !== null &&
      typeOf(sourceField) !== options.type &&
      !(isUnclear && objectToMembers(sourceField, reader))
    ) {
      report.addNoted(sourceField.path, 'has another type')
      continue
    }
    if (objectToMembers(sourceField, reader)) continue
    groups.push(...groupsOf(readOcpiTariff(sourceField, reader), reader))
    // A tariff makes one group for each span, and one for its charges.
    if (groups.length > 2 * maxTariffs)
      throw sourceFault('', `makes more than ${maxTariffs} tariffs. Split it`, 'too_many_elements')
  }
  return groups
}
