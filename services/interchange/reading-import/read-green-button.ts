import { type EspiEntry, type EspiValue, member, readEspiEntry } from '../domain/green-button/espi.ts'
import {
  type EspiFeed,
  type EspiMeterReading,
  intervalReadings,
  meterReadingOf,
  openEspiFeed,
} from '../domain/green-button/feed.ts'
import type { FileCostCollector } from '../domain/green-button/file-costs.ts'
import { readIntervalReading } from '../domain/green-button/interval-reading.ts'
import type { ObjectName, ReadRow } from '../domain/reading.ts'
import type { Noted, NotImported } from '../domain/report.ts'
import { readXmlEntries } from '../platform/xml.ts'
import { maxListed, type ReadingSource } from './reading-source.ts'

type GreenButtonOptions = {
  /** Open the file again: the objects of a feed can follow its readings. */
  readonly open: () => AsyncIterable<Uint8Array>
  readonly location: ObjectName
  /** Make sure that the device of a usage point exists, and return its name. Null in a dry run. */
  readonly deviceOf: (reference: string) => Promise<ObjectName | null>
  /** Receives the costs of the file. */
  readonly costs: FileCostCollector
}

const blockKind = 'IntervalBlock'

async function* readEntries(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<EspiEntry> {
  for await (const { value, line } of readXmlEntries(chunks)) {
    const entry = readEspiEntry(value as EspiValue, line)
    if (entry !== null) yield entry
  }
}

/** Read the objects of a feed without its readings. */
const readFeed = async (chunks: AsyncIterable<Uint8Array>): Promise<EspiFeed> => {
  const entries: EspiEntry[] = []
  for await (const entry of readEntries(chunks)) {
    if (entry.kind !== blockKind && entries.length < maxListed) entries.push(entry)
  }
  return openEspiFeed(entries)
}

/** Note the members of readings that give no energy, once for each block. */
const notesOf = (block: EspiEntry, readings: readonly EspiValue[]): readonly Noted[] =>
  ['cost', 'tou', 'consumptionTier', 'cpp']
    .filter(name => readings.some(reading => member(reading, name) !== undefined))
    .map(name => ({ path: `${block.self}/IntervalReading/${name}`, message: 'It gives no energy.' }))

/**
 * Open a Green Button feed as a source of readings. A single usage point is the location, several are its devices.
 * Source: docs/rules/imports.md #green-button.
 */
export const greenButtonSource = ({ open, location, deviceOf, costs }: GreenButtonOptions): ReadingSource => {
  const noted: Noted[] = []
  const notImported: NotImported[] = []
  let rowCount = 0
  const devices = new Map<string, ObjectName | null>()
  const deviceOfMeter = async (feed: EspiFeed, { usagePoint }: EspiMeterReading): Promise<ObjectName | null> => {
    if (usagePoint === null || feed.usagePoints.length < 2) return null
    const known = devices.get(usagePoint)
    if (known !== undefined) return known
    const device = await deviceOf(usagePoint)
    devices.set(usagePoint, device)
    return device
  }
  const readBlock = async (feed: EspiFeed, block: EspiEntry): Promise<readonly ReadRow[]> => {
    const readings = intervalReadings(block)
    rowCount += readings.length
    const meter = meterReadingOf(block, feed)
    if (meter === undefined && notImported.length < maxListed) {
      const message = 'The block belongs to no meter reading, so its unit is unknown.'
      notImported.push({ path: block.self, reason: 'unit', affects: 'bill', message })
    }
    if (meter === undefined || meter.meaning === null) return []
    if (noted.length < maxListed) noted.push(...notesOf(block, readings))
    const { meaning } = meter
    const device = await deviceOfMeter(feed, meter)
    const rows = readings.map(reading => readIntervalReading(reading, block.line, { location, device, meaning }))
    costs.add(meter, readings, rows)
    return rows
  }
  const read = async function* (): AsyncGenerator<readonly ReadRow[]> {
    const feed = await readFeed(open())
    noted.push(...feed.noted)
    notImported.push(...feed.notImported)
    for await (const entry of readEntries(open())) if (entry.kind === blockKind) yield await readBlock(feed, entry)
  }
  return {
    format: 'green-button',
    read,
    cellsOf: () => [],
    forget: () => undefined,
    counts: () => ({ rows: rowCount, blank: 0 }),
    notes: () => ({ noted, notImported }),
  }
}
