import { localDayNumber, startOfDayNumber } from '../../../domain/civil-time.ts'
import { type Fraction, fractionOf } from '../../../domain/fraction.ts'
import { parseInstant, writeInstant } from '../../../domain/instant.ts'
import { maxMarketDecimals } from '../../../domain/market-feed/feed-price.ts'
import { noSurcharges } from '../../../domain/tariff/rate.ts'
import { fixedTerms } from '../charge-terms.ts'
import { scheduleOfWeek } from '../day-profiles.ts'
import { type MemberTable, plainMembers, reportKeptOut, reportUnknown, unknownAround } from '../known-members.ts'
import {
  elementsAt,
  isAbsent,
  memberAt,
  requiredFraction,
  type SourceField,
  sourceFault,
  textAt,
} from '../source-value.ts'
import {
  flatRate,
  givenVat,
  type ImportGroup,
  type ImportReader,
  multiply,
  objectToCurrency,
  priceOf,
  surchargesOf,
  withVat,
} from '../tariff-file.ts'

/** Members of a file of unit rates or standing charges. */
export const octopusMembers: MemberTable = {
  ...plainMembers('count', 'next', 'previous'),
  results: plainMembers('value_exc_vat', 'value_inc_vat', 'valid_from', 'valid_to', 'payment_method'),
}

/** Price of a row in pounds; times in ms, an end of null is open. */
type PriceRow = {
  readonly field: SourceField
  readonly start: number
  readonly end: number | null
  readonly price: Fraction
  readonly payment: string | null
}

const maxRows = 10_000
const maxDivisor = 10n ** BigInt(maxMarketDecimals)
const hundredth = fractionOf(1n, 100n)

const instantAt = (field: SourceField): number | null => {
  const text = textAt(field)
  if (text === null) return null
  const at = parseInstant(text)
  if (at === undefined) throw sourceFault(field.path, 'must be a date and time with an offset')
  return at
}

const readRow = (field: SourceField, { options }: ImportReader): PriceRow => {
  const from = memberAt(field, 'valid_from')
  const start = instantAt(from)
  if (start === null) throw sourceFault(from.path, 'is required', 'field_required')
  const end = instantAt(memberAt(field, 'valid_to'))
  if (end !== null && end <= start) throw sourceFault(field.path, 'must end after its start', 'end_before_start')
  const value = memberAt(field, options.vat === 'SOURCE' ? 'value_inc_vat' : 'value_exc_vat')
  const pence = requiredFraction(value)
  if ((pence.dividend * maxDivisor) % pence.divisor !== 0n)
    throw sourceFault(value.path, `must have at most ${maxMarketDecimals} decimals`)
  return { field, start, end, price: multiply(pence, hundredth), payment: textAt(memberAt(field, 'payment_method')) }
}

/** Choose the rows of a payment method, in the order of time. Throws a fault for rows that overlap. */
const chooseRows = (rows: readonly PriceRow[], { options, report }: ImportReader): readonly PriceRow[] => {
  const chosen = rows
    .filter(({ payment }) => options.payment === null || payment === null || payment === options.payment)
    .toSorted((a, b) => a.start - b.start)
  if (chosen.length < rows.length)
    report.addNoted('/results', `${rows.length - chosen.length} rows are for other payment methods`)
  for (const [index, row] of chosen.entries()) {
    const before = chosen[index - 1]
    if (before === undefined || (before.end !== null && before.end <= row.start)) continue
    const methods = [...new Set(chosen.map(({ payment }) => payment ?? 'none'))].join(', ')
    const message = `applies at the time of another row. Send payment to choose one of ${methods}`
    throw sourceFault(row.field.path, message, 'tariff_overlap')
  }
  return chosen
}

/** Return the tariff code of the options, or of the address of another page of the file. */
const codeOf = (file: SourceField, { options }: ImportReader): string => {
  const address = ['next', 'previous'].map(name => textAt(memberAt(file, name))).find(text => text !== null)
  return options.codes[0] ?? /\/electricity-tariffs\/([A-Z0-9-]{1,64})\//.exec(address ?? '')?.[1] ?? ''
}

/** Name a tariff by its code, whose last letter is the region. */
const nameOf = (code: string): string => (code === '' ? 'Octopus' : `Octopus ${code}, region ${code.at(-1)}`)

const noteGaps = (rows: readonly PriceRow[], { report }: ImportReader): void => {
  for (const [index, { field, start }] of rows.entries()) {
    const end = rows[index - 1]?.end ?? start
    if (end < start)
      report.addNoted(field.path, `There is no price from ${writeInstant(end)} to ${writeInstant(start)}.`)
  }
}

const standingGroups = (rows: readonly PriceRow[], sourceId: string, reader: ImportReader): readonly ImportGroup[] => {
  const { timeZone } = reader.context
  return rows.map(({ field, start, end, price }) => {
    const terms = fixedTerms('Standing charge', priceOf(withVat(price, givenVat(reader.options)), field.path), 'DAY')
    const charge = { name: 'Standing charge', sourceId, from: [field.path], terms }
    // A day has the charge that applies at its start.
    const dayFrom = (at: number): number => startOfDayNumber(timeZone, localDayNumber(timeZone, at - 1) + 1)
    const dates = { start: dayFrom(start), end: end === null ? null : dayFrom(end) }
    return { ...dates, validityFrom: [], tariffs: [], charges: [charge] }
  })
}

const everyDay = (rate: ReturnType<typeof flatRate>) =>
  scheduleOfWeek(Array.from({ length: 7 }, () => [{ start: 0, rate }]))

/** Create a market tariff for the rows with an end, and a tariff with the price of a row without an end. */
const unitGroups = (
  rows: readonly PriceRow[],
  source: { readonly sourceId: string; readonly name: string },
  reader: ImportReader,
): readonly ImportGroup[] => {
  const { options } = reader
  const surcharges = options.isExport ? noSurcharges : surchargesOf(options, givenVat(options), '/results')
  const direction = options.isExport ? ('EXPORT' as const) : ('IMPORT' as const)
  const terms = { direction, type: 'COMMODITY' } as const
  const closed = rows.flatMap(({ start, end, price, field }) =>
    end === null ? [] : [{ start, end, value: priceOf(price, field.path) }],
  )
  const open = rows.find(({ end }) => end === null)
  const common = { ...source, from: ['/results'] }
  const [first] = closed
  const market = {
    ...common,
    marketPrices: closed,
    marketTimezone: 'Europe/London',
    terms: { ...terms, marketRates: true, schedule: everyDay(flatRate(0n, surcharges)) },
  }
  const groups: ImportGroup[] = []
  if (first !== undefined) {
    const dates = { start: first.start, end: open?.start ?? null }
    groups.push({ ...dates, validityFrom: [], tariffs: [market], charges: [] })
  }
  if (open !== undefined) {
    const schedule = everyDay(flatRate(priceOf(open.price, open.field.path), surcharges))
    const tariff = { ...common, from: [open.field.path], terms: { ...terms, marketRates: false, schedule } }
    groups.push({ start: open.start, end: null, validityFrom: [], tariffs: [tariff], charges: [] })
  }
  return groups
}

/**
 * Report rows that can depend on unknown members, and leave them out. A unit rate among them keeps out all unit rates,
 * because a market without a price has a forecast.
 */
const rowsToRead = (results: SourceField, reader: ImportReader): readonly SourceField[] => {
  const { isStanding, payment } = reader.options
  const affects = isStanding ? 'bill' : 'price'
  const all = elementsAt(results, maxRows)
  const isForOther = (row: SourceField): boolean => ![null, payment].includes(textAt(memberAt(row, 'payment_method')))
  const uncertain = (reader.unknown.length === 0 ? [] : all).filter(row => {
    const unknown = payment !== null && isForOther(row) ? [] : unknownAround(reader.unknown, row)
    return reportUnknown(unknown, { affects }, reader)
  })
  if (uncertain.length === 0) return all
  reportKeptOut(isStanding ? uncertain : [results], { affects }, reader)
  return isStanding ? all.filter(row => !uncertain.includes(row)) : []
}

/**
 * Read unit rates or standing charges of Octopus Energy, in pence.
 * Source: docs/rules/interchange-tariffs.md #octopus.
 */
export const readOctopus = (file: SourceField, reader: ImportReader): readonly ImportGroup[] => {
  const results = memberAt(file, 'results')
  if (isAbsent(results)) throw sourceFault(results.path, 'is required', 'field_required')
  for (const name of ['count', 'next', 'previous']) {
    const { path, value } = memberAt(file, name)
    if (value !== undefined) reader.report.addNoted(path, 'has no price')
  }
  if (objectToCurrency(results.path, 'GBP', reader)) return []
  const read = rowsToRead(results, reader).map(field => readRow(field, reader))
  const rows = chooseRows(read, reader)
  const code = codeOf(file, reader)
  const kind = reader.options.isStanding ? 'standing' : 'unit'
  const source = { sourceId: `octopus:${code}:${kind}`, name: nameOf(code) }
  if (reader.options.isStanding) return standingGroups(rows, source.sourceId, reader)
  noteGaps(rows, reader)
  return unitGroups(rows, source, reader)
}
