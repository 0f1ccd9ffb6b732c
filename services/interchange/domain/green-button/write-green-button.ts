import { writeInstant } from '../../../domain/instant.ts'
import { divideHalfEven } from '../../../domain/quantity.ts'
import type { ExportedRecord, NotExported } from '../exported-record.ts'
import { currencyNumberOf } from './currency-numbers.ts'

/** Feed to write. Each record is a reading of its device, or of the location. */
export type WrittenFeed = {
  readonly locationId: string
  readonly name: string
  readonly records: readonly ExportedRecord[]
  /** Time of the export in ms. */
  readonly at: number
  /** Return the UUID of a text: equal texts have equal UUIDs. */
  readonly uuidOf: (text: string) => string
}

/** Readings of a meter in one direction. `exponent` 0, 3 or 6: the values are in 10^-exponent Wh. */
type Series = {
  readonly meterId: string
  readonly flow: '1' | '19'
  readonly currency: number
  readonly exponent: 0 | 3 | 6
  readonly records: readonly ExportedRecord[]
}

/** Readings of an IntervalBlock. */
const maxBlockReadings = 1_000
const energyScale = 6

const escapes: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }
const escapeXml = (text: string): string => text.replace(/[&<>"]/g, mark => escapes[mark] ?? mark)

const flowOf = ({ energyFlowDirection, tariffDirection }: ExportedRecord): Series['flow'] | null => {
  if (energyFlowDirection === 'INBOUND' && tariffDirection === 'IMPORT') return '1'
  return energyFlowDirection === 'OUTBOUND' && tariffDirection === 'EXPORT' ? '19' : null
}

/** Return why ESPI cannot express a record; null if it can. */
const objectionTo = (record: ExportedRecord): Omit<NotExported, 'id'> | null => {
  const { start, end, currencyCode } = record
  if (flowOf(record) === null)
    return { reason: 'direction', message: 'Only bought and sold energy have a flow direction.' }
  if (currencyNumberOf(currencyCode) === undefined)
    return { reason: 'currency', message: `ISO 4217 has no number of ${currencyCode}.` }
  if (start === end) return { reason: 'zero_duration', message: 'A reading needs a duration.' }
  return start % 1000 === 0 && end % 1000 === 0
    ? null
    : { reason: 'part_of_a_second', message: 'Times of readings are whole seconds.' }
}

const exponentOf = (records: readonly ExportedRecord[]): Series['exponent'] =>
  records.every(({ energy }) => energy % 1_000_000n === 0n)
    ? 0
    : records.every(({ energy }) => energy % 1_000n === 0n)
      ? 3
      : 6

/** Collect the series: those of the location first, then by device; bought energy before sold energy. */
const seriesOf = ({ records, locationId }: WrittenFeed): readonly Series[] => {
  const groups = Map.groupBy(records, one => `${one.deviceId ?? locationId} ${flowOf(one)} ${one.currencyCode}`)
  const keyOf = ({ meterId, flow, currency }: Series): string =>
    [meterId === locationId ? '' : meterId, flow.padStart(2, '0'), currency].join(' ')
  const all = [...groups.values()].map((group): Series => {
    const [first] = group as [ExportedRecord]
    return {
      meterId: first.deviceId ?? locationId,
      flow: flowOf(first) ?? '1',
      exponent: exponentOf(group),
      currency: currencyNumberOf(first.currencyCode) ?? 0,
      records: group.toSorted((a, b) => a.start - b.start || a.end - b.end || (a.id < b.id ? -1 : 1)),
    }
  })
  return all.sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1))
}

/** Quality 8 is estimated, 10 is questionable. An actual has no quality. */
const qualityOf = (confidence: number): string => {
  if (confidence >= 1_000_000) return ''
  return `<ReadingQuality><quality>${confidence >= 700_000 ? 8 : 10}</quality></ReadingQuality>`
}

const period = (start: number, end: number): string =>
  `<duration>${(end - start) / 1000}</duration><start>${start / 1000}</start>`

const readingOf = ({ start, end, energy, cost, confidence }: ExportedRecord, exponent: number): string =>
  [
    '<IntervalReading>',
    cost === null ? '' : `<cost>${divideHalfEven(cost, 10_000n)}</cost>`,
    qualityOf(confidence),
    `<timePeriod>${period(start, end)}</timePeriod>`,
    `<value>${energy / 10n ** BigInt(energyScale - exponent)}</value>`,
    '</IntervalReading>\n',
  ].join('')

type Entry = {
  readonly self: string
  readonly title: string
  readonly related: readonly string[]
  readonly content: string
}

const entryOf = ({ at, uuidOf }: WrittenFeed, { self, title, related, content }: Entry): string => {
  const time = writeInstant(at)
  const links = [
    `<link rel="self" href="${escapeXml(self)}"/>`,
    `<link rel="up" href="${escapeXml(self.slice(0, self.lastIndexOf('/')))}"/>`,
    ...related.map(href => `<link rel="related" href="${escapeXml(href)}"/>`),
  ]
  return [
    `<entry>\n<id>urn:uuid:${uuidOf(self)}</id>`,
    ...links,
    `<title>${escapeXml(title)}</title>`,
    `<content>${content}</content>`,
    `<published>${time}</published>\n<updated>${time}</updated>\n</entry>\n`,
  ].join('\n')
}

const espi = 'xmlns="http://naesb.org/espi"'
const root = '/espi/1_1/resource'

/** Write the type of a series. Its members are in the order of the schema of ESPI. */
const readingTypeOf = ({ flow, exponent, currency }: Series): string =>
  [
    `<ReadingType ${espi}><accumulationBehaviour>4</accumulationBehaviour><commodity>1</commodity>`,
    `<currency>${currency}</currency><dataQualifier>12</dataQualifier><flowDirection>${flow}</flowDirection>`,
    `<kind>12</kind><powerOfTenMultiplier>${exponent === 0 ? 0 : -exponent}</powerOfTenMultiplier>`,
    '<uom>72</uom></ReadingType>',
  ].join('')

function* seriesEntries(feed: WrittenFeed, series: Series, index: number): Generator<string> {
  const { meterId, records, flow, exponent } = series
  const meter = `${root}/UsagePoint/${meterId}/MeterReading/${index + 1}`
  const type = `${root}/ReadingType/${index + 1}`
  const title = flow === '1' ? 'Bought energy' : 'Sold energy'
  const blocks = `${meter}/IntervalBlock`
  yield entryOf(feed, { self: type, title, related: [], content: readingTypeOf(series) })
  yield entryOf(feed, { self: meter, title, related: [blocks, type], content: `<MeterReading ${espi}/>` })
  for (let from = 0; from < records.length; from += maxBlockReadings) {
    const readings = records.slice(from, from + maxBlockReadings)
    const start = readings[0]?.start ?? 0
    const end = readings.reduce((last, one) => Math.max(last, one.end), start)
    const rows = readings.map(one => readingOf(one, exponent)).join('')
    const content = `<IntervalBlock ${espi}>\n<interval>${period(start, end)}</interval>\n${rows}</IntervalBlock>`
    yield entryOf(feed, { self: `${blocks}/${from / maxBlockReadings + 1}`, title, related: [], content })
  }
}

/**
 * Write records as a Green Button feed, entry by entry: a reading for each record, in Wh with its cost in 1e-5 of the
 * currency. Returns the records that ESPI cannot express, and the number of written records.
 * Law: the import of the text makes records with the same times and energies.
 * Source: docs/formats-out.md #green-button; https://www.naesb.org, REQ.21.
 */
export function* writeGreenButton(
  feed: WrittenFeed,
): Generator<string, { readonly written: number; readonly notExported: readonly NotExported[] }> {
  const notExported: NotExported[] = []
  const records = feed.records.filter(record => {
    const objection = objectionTo(record)
    if (objection !== null) notExported.push({ id: record.id, ...objection })
    return objection === null
  })
  const self = `${root}/Subscription/${feed.locationId}`
  yield [
    '<?xml version="1.0" encoding="UTF-8"?>',
    '<feed xmlns="http://www.w3.org/2005/Atom">',
    `<id>urn:uuid:${feed.uuidOf(self)}</id>`,
    `<title>${escapeXml(feed.name)}</title>`,
    `<updated>${writeInstant(feed.at)}</updated>`,
    `<link rel="self" href="${escapeXml(self)}"/>\n`,
  ].join('\n')
  const all = seriesOf({ ...feed, records })
  for (const meterId of new Set(all.map(series => series.meterId))) {
    const point = `${root}/UsagePoint/${meterId}`
    const content = `<UsagePoint ${espi}><ServiceCategory><kind>0</kind></ServiceCategory></UsagePoint>`
    yield entryOf(feed, { self: point, title: feed.name, related: [`${point}/MeterReading`], content })
  }
  for (const [index, series] of all.entries()) yield* seriesEntries(feed, series, index)
  yield '</feed>\n'
  return { written: records.length, notExported }
}
