import { instantsAt } from '../../../domain/civil-time.ts'
import { type Fraction, fractionOf } from '../../../domain/fraction.ts'
import { parseInstant } from '../../../domain/instant.ts'
import { fixedTerms } from '../charge-terms.ts'
import { scheduleOfWeek } from '../day-profiles.ts'
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
  flatRate,
  givenVat,
  type ImportGroup,
  type ImportReader,
  maxTariffs,
  objectToCurrency,
  priceOf,
  sum,
  surchargesOf,
  withVat,
} from '../tariff-file.ts'

/** Members of a price list. */
export const pricelistMembers: MemberTable = {
  ...plainMembers('total', 'limit', 'offset', 'sort', 'filters', 'dataset'),
  records: plainMembers(
    ...['ChargeOwner', 'GLN_Number', 'ChargeType', 'ChargeTypeCode', 'Note', 'Description', 'ValidFrom', 'ValidTo'],
    ...['VATClass', 'TransparentInvoicing', 'TaxIndicator', 'ResolutionDuration'],
    ...Array.from({ length: 24 }, (_, hour) => `Price${hour + 1}`),
  ),
}

/** Row of a price list. The validity is in instants (ms); an end of null is open. */
type PriceRow = {
  readonly record: SourceField
  readonly type: string
  readonly key: string
  readonly name: string
  readonly start: number
  readonly end: number | null
  /** Prices with tax, by hour; null if the resolution is not known. */
  readonly prices: readonly Fraction[] | null
}

const maxRows = 1_000
const hours = Array.from({ length: 24 }, (_, hour) => hour)
const danishVat = fractionOf(1n, 4n)

/** Read a local time; null if it is absent. */
const instantAt = (field: SourceField, { context }: ImportReader): number | null => {
  const text = textAt(field)
  if (text === null) return null
  const local = parseInstant(`${text}Z`)
  if (local === undefined) throw sourceFault(field.path, 'must be a local time of the form YYYY-MM-DDTHH:MM:SS')
  return instantsAt(context.timeZone, local)[0] as number
}

/** Return the tax rate of a row. Reports a tax that is not added. */
const vatOf = (record: SourceField, { options, report }: ImportReader): Fraction | null => {
  const field = memberAt(record, 'VATClass')
  const vatClass = textAt(field)
  if (vatClass !== null && vatClass !== 'D01' && vatClass !== 'D02') throw sourceFault(field.path, 'must be D01 or D02')
  if (vatClass !== 'D02') return null
  if (options.vat !== 'NONE') return givenVat(options) ?? danishVat
  const message = 'The tax of 25 % is not added. To add it, set vat, or --vat on the command line.'
  report.addNotImported({ path: field.path, reason: 'tax', affects: 'bill', message })
  return null
}

const readPrices = (record: SourceField, vat: Fraction | null): readonly Fraction[] | null => {
  const resolution = textAt(memberAt(record, 'ResolutionDuration'))
  const first = requiredFraction(memberAt(record, 'Price1'))
  if (resolution === 'P1D' || resolution === 'P1M') return hours.map(() => withVat(first, vat))
  if (resolution !== 'PT1H') return null
  return hours.map(hour => withVat(fractionAt(memberAt(record, `Price${hour + 1}`)) ?? first, vat))
}

const readRow = (record: SourceField, reader: ImportReader): PriceRow => {
  const [gln, code] = ['GLN_Number', 'ChargeTypeCode'].map(name => requiredText(memberAt(record, name)))
  const type = requiredText(memberAt(record, 'ChargeType'))
  const [from, to] = ['ValidFrom', 'ValidTo'].map(name => memberAt(record, name)) as [SourceField, SourceField]
  const start = instantAt(from, reader)
  if (start === null) throw sourceFault(from.path, 'is required', 'field_required')
  return {
    record,
    type,
    key: `${type} ${gln}/${code}`,
    start,
    end: instantAt(to, reader),
    name: textAt(memberAt(record, 'Note')) ?? `${code}`,
    prices: type === 'D02' ? null : readPrices(record, vatOf(record, reader)),
  }
}

/** Refuse two rows of one charge that apply at one time. */
const refuseOverlaps = (rows: readonly PriceRow[]): void => {
  for (const same of Map.groupBy(rows, ({ key }) => key).values()) {
    const sorted = same.toSorted((a, b) => a.start - b.start)
    for (const [index, row] of sorted.entries()) {
      const before = sorted[index - 1]
      if (before !== undefined && row.start < (before.end ?? Infinity))
        throw sourceFault(row.record.path, `applies at the time of ${before.record.path}`, 'tariff_overlap')
    }
  }
}

/** Add the tariffs in force together, for each span between their starts and ends. */
const tariffGroups = (rows: readonly PriceRow[], reader: ImportReader): readonly ImportGroup[] => {
  const ends = rows.map(({ end }) => end ?? Infinity)
  const cuts = [...new Set([...rows.map(({ start }) => start), ...ends])].sort((a, b) => a - b)
  if (cuts.length > maxTariffs)
    throw sourceFault('', `has more than ${maxTariffs} changes of prices. Choose codes with code`, 'too_many_elements')
  const groups: ImportGroup[] = []
  for (const [index, start] of cuts.entries()) {
    const next = cuts[index + 1]
    const active = rows.filter(row => row.start <= start && start < (row.end ?? Infinity))
    if (next === undefined || active.length === 0) continue
    const path = active[0]?.record.path ?? ''
    const surcharges = surchargesOf(reader.options, null, path)
    const profile = hours.map(hour => ({
      start: hour * 3_600,
      rate: flatRate(priceOf(sum(...active.map(({ prices }) => prices?.[hour] ?? null)), path), surcharges),
    }))
    const terms = { direction: 'IMPORT', type: 'NON_COMMODITY', marketRates: false } as const
    const tariff = {
      name: active.map(({ name }) => name).join(', '),
      sourceId: `datahub-pricelist:${active
        .map(({ key }) => key)
        .sort()
        .join('+')}`,
      from: active.map(({ record }) => record.path),
      terms: { ...terms, schedule: scheduleOfWeek(Array.from({ length: 7 }, () => profile)) },
    }
    groups.push({ start, end: Number.isFinite(next) ? next : null, validityFrom: [], tariffs: [tariff], charges: [] })
  }
  return groups
}

const subscriptionGroup = ({ record, key, name, start, end, prices }: PriceRow): ImportGroup => {
  const terms = fixedTerms(name.slice(0, 100), priceOf(prices?.[0] ?? fractionOf(0n), record.path), 'MONTH')
  const charge = { name, sourceId: `datahub-pricelist:${key}`, from: [record.path], terms }
  return { start, end, validityFrom: [], tariffs: [], charges: [charge] }
}

const isChosen = (record: SourceField, { options: { codes, glns } }: ImportReader): boolean => {
  const isIn = (name: string, chosen: readonly string[]): boolean =>
    chosen.length === 0 || chosen.includes(textAt(memberAt(record, name)) ?? '')
  return isIn('ChargeTypeCode', codes) && isIn('GLN_Number', glns)
}

/** Report rows that cannot be imported. Returns false if a tariff among them changes the price of all others. */
const reportRows = (rows: readonly PriceRow[], { report }: ImportReader): boolean => {
  for (const { record } of rows.filter(({ type }) => type === 'D02'))
    report.addNotImported({
      path: record.path,
      reason: 'no_charges',
      affects: 'bill',
      message: 'A fee is billed for an event that records do not have.',
    })
  const unknown = rows.filter(({ type, prices }) => type === 'D03' && prices === null)
  if (unknown.length === 0) return true
  for (const { record, type } of rows)
    if (type === 'D03')
      report.addNotImported({
        path: record.path,
        reason: 'unit',
        affects: 'price',
        message: 'A tariff has another resolution than PT1H, P1D and P1M.',
      })
  return false
}

/** Return whether a row is chosen, or would be without its unknown members. */
const canBeChosen = (record: SourceField, reader: ImportReader): boolean =>
  isChosen(record, reader) ||
  (unknownAround(reader.unknown, record).length > 0 &&
    ['ChargeTypeCode', 'GLN_Number'].some(name => isAbsent(memberAt(record, name))))

/**
 * Report rows that can depend on unknown members. A tariff among them changes the price of all others.
 * Returns the rows that can be imported.
 */
const rowsToRead = (records: readonly SourceField[], reader: ImportReader): readonly SourceField[] => {
  if (reader.unknown.length === 0) return records
  const isFee = (record: SourceField): boolean => ['D01', 'D02'].includes(`${memberAt(record, 'ChargeType').value}`)
  const isUncertain = (record: SourceField): boolean =>
    reportUnknown(unknownAround(reader.unknown, record), { affects: isFee(record) ? 'bill' : 'price' }, reader)
  const uncertain = records.filter(isUncertain)
  const hasTariff = uncertain.some(record => !isFee(record))
  const keptOut = records.filter(record => uncertain.includes(record) || (hasTariff && !isFee(record)))
  for (const record of keptOut) reportKeptOut([record], { affects: isFee(record) ? 'bill' : 'price' }, reader)
  return records.filter(record => !keptOut.includes(record))
}

/**
 * Read rows of the Danish price list. The tariffs (D03) in force together make one tariff.
 * Source: docs/rules/interchange-tariffs.md #datahub-pricelist.
 */
export const readPricelist = (file: SourceField, reader: ImportReader): readonly ImportGroup[] => {
  const records = memberAt(file, 'records')
  if (isAbsent(records)) throw sourceFault(records.path, 'is required', 'field_required')
  const total = memberAt(file, 'total')
  if (!isAbsent(total)) reader.report.addNoted(total.path, 'has no price')
  if (objectToCurrency(records.path, 'DKK', reader)) return []
  const all = elementsAt(records, maxRows)
  const chosen = all.filter(record => canBeChosen(record, reader))
  for (const record of all) if (!chosen.includes(record)) reader.report.addNoted(record.path, 'is not chosen')
  const rows = rowsToRead(chosen, reader).map(record => readRow(record, reader))
  refuseOverlaps(rows)
  const canPrice = reportRows(rows, reader)
  const tariffs = canPrice
    ? tariffGroups(
        rows.filter(({ type }) => type === 'D03'),
        reader,
      )
    : []
  return [...tariffs, ...rows.filter(({ type }) => type === 'D01').map(subscriptionGroup)]
}
