import { createHash } from 'node:crypto'
import { CommandError } from '../../../command-line/command.ts'
import type { LocationWire } from '../../../contract/registry/location.ts'
import type { Interval } from '../../../domain/interval.ts'
import { askPatiently } from '../../../platform/call-service.ts'
import type { ExportedRecord, NotExported } from '../../domain/exported-record.ts'
import { writeGreenButton } from '../../domain/green-button/write-green-button.ts'
import type { CdrFrame, CdrVersion } from '../../domain/ocpi/cdr-frame.ts'
import { chargingSessionOf, isNotExported, type SessionPricing } from '../../domain/ocpi/charging-session.ts'
import { writeCdr } from '../../domain/ocpi/write-cdr.ts'
import { addToSums, type ExportSums, startSums } from './export-report.ts'
import { readSessionPricing } from './session-pricing.ts'
import { type ExportSource, listAll, listRecords, type RecordQuery } from './stored-records.ts'

/** Records to export: those that start in the span. `locationId` null: all locations of `customerId` or the account. */
export type CostSelection = {
  readonly span: Interval
  readonly locationId: string | null
  readonly deviceId: string | null
  readonly customerId: string | null
  readonly session: string | null
}

/** Counts of an export. They are complete after the last text. */
export type ExportCounts = { rows: number; readonly sums: ExportSums; readonly notExported: NotExported[] }

export const startCounts = (): ExportCounts => ({ rows: 0, sums: startSums(), notExported: [] })

const maxFeedReadings = 500_000
const maxSessions = 200_000

const uuidOf = (text: string): string => {
  const digits = createHash('sha256').update(text).digest('hex')
  // Version 8 of RFC 9562: a hash of our own.
  return [
    digits.slice(0, 8),
    digits.slice(8, 12),
    `8${digits.slice(13, 16)}`,
    `8${digits.slice(17, 20)}`,
    digits.slice(20, 32),
  ].join('-')
}

const readAll = async (source: ExportSource, query: RecordQuery, max: number): Promise<readonly ExportedRecord[]> => {
  const records: ExportedRecord[] = []
  for await (const page of listRecords(source, query)) {
    records.push(...page)
    if (records.length > max)
      throw new CommandError(`There are more than ${max.toLocaleString('en')} records. Choose a shorter span.`)
  }
  return records
}

/**
 * Export the records of one location or device as a Green Button feed, in texts.
 * Source: docs/formats-out.md #green-button.
 */
export async function* exportGreenButton(
  source: ExportSource,
  { span, locationId, deviceId }: CostSelection,
  at: number,
  counts: ExportCounts,
): AsyncGenerator<string> {
  const query = { location_id: locationId ?? undefined, device_id: deviceId ?? undefined, span }
  const records = await readAll(source, query, maxFeedReadings)
  const id = locationId ?? records[0]?.locationId
  if (id === undefined) throw new CommandError('The device has no records in the span.')
  const path = `/locations/${encodeURIComponent(id)}`
  const location = await askPatiently<LocationWire>(source.client, 'GET', path, source.signal)
  const feed = { locationId: location.id, name: location.reference_id ?? location.id, records, at, uuidOf }
  const { written, notExported } = yield* writeGreenButton(feed)
  counts.rows = written
  counts.notExported.push(...notExported)
  const leftOut = new Set(notExported.map(one => one.id))
  for (const record of records) if (!leftOut.has(record.id)) addToSums(counts.sums, record)
}

/** List the locations of a selection. */
const locationsOf = async (
  source: ExportSource,
  { locationId, customerId }: CostSelection,
): Promise<readonly string[]> => {
  if (locationId !== null) return [locationId]
  const locations = await listAll<LocationWire>(source, '/locations', { customer_id: customerId ?? undefined })
  return locations.map(({ id }) => id)
}

/**
 * List the references of the sessions that have a record in the selection, with the start of the last one. The result
 * is in the order of these starts. Counts the records without a session.
 */
const sessionsOf = async (
  source: ExportSource,
  selection: CostSelection,
  counts: ExportCounts,
): Promise<readonly string[]> => {
  const { span, deviceId, session } = selection
  const last = new Map<string, number>()
  if (session !== null) return [session]
  const queries: readonly RecordQuery[] =
    deviceId !== null && selection.locationId === null
      ? [{ device_id: deviceId, span }]
      : (await locationsOf(source, selection)).map(id => ({ location_id: id, device_id: deviceId ?? undefined, span }))
  for (const query of queries) {
    for await (const page of listRecords(source, query)) {
      for (const { id, sessionReferenceId: reference, start } of page) {
        if (reference === null) {
          counts.notExported.push({ id, reason: 'no_session', message: 'The record belongs to no session.' })
          continue
        }
        last.set(reference, Math.max(last.get(reference) ?? start, start))
      }
      if (last.size + counts.notExported.length > maxSessions)
        throw new CommandError(
          `There are more than ${maxSessions.toLocaleString('en')} sessions. Choose a shorter span.`,
        )
    }
  }
  return [...last].sort(([a, one], [b, other]) => one - other || (a < b ? -1 : 1)).map(([reference]) => reference)
}

/** Maximum number of records of a session. */
const maxSessionRecords = 100_000

/** Return the records of a session; null if it continues after the span. */
const recordsOfSession = async (
  source: ExportSource,
  reference: string,
  { span, session }: CostSelection,
): Promise<readonly ExportedRecord[] | null> => {
  const records = await readAll(source, { session_reference_id: reference }, maxSessionRecords)
  return session === null && records.some(({ start }) => start >= span.end) ? null : records
}

/** Return a function that loads the pricing of a location once. */
const pricingLoader = (source: ExportSource): ((locationId: string) => Promise<SessionPricing>) => {
  const loaded = new Map<string, Promise<SessionPricing>>()
  return locationId => {
    const pricing = loaded.get(locationId) ?? readSessionPricing(source, locationId)
    loaded.set(locationId, pricing)
    return pricing
  }
}

/**
 * Export sessions as a JSON list of charge detail records, in texts. A session belongs to the span in which its last
 * record starts, so that exports of neighbouring spans have each session once.
 * Source: docs/formats-out.md #ocpi-cdr.
 */
export async function* exportCdrs(
  source: ExportSource,
  selection: CostSelection,
  { frame, version, at }: { readonly frame: CdrFrame; readonly version: CdrVersion; readonly at: number },
  counts: ExportCounts,
): AsyncGenerator<string> {
  const pricingOf = pricingLoader(source)
  yield '['
  for (const reference of await sessionsOf(source, selection, counts)) {
    const records = await recordsOfSession(source, reference, selection)
    const [first] = records ?? []
    if (records === null || first === undefined) continue
    if (records.some(({ locationId }) => locationId !== first.locationId)) {
      const message = 'The session has records at several locations.'
      counts.notExported.push({ id: reference, reason: 'several_locations', message })
      continue
    }
    const session = chargingSessionOf(reference, records, await pricingOf(first.locationId))
    if (isNotExported(session)) {
      counts.notExported.push(session)
      continue
    }
    yield `${counts.rows === 0 ? '\n' : ',\n'}${writeCdr(session, frame, version, at)}`
    counts.rows += 1
    for (const record of records) addToSums(counts.sums, record)
  }
  yield '\n]\n'
}
