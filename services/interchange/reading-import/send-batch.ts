import { toSentence } from '../../contract/error.ts'
import type { MeterBatchWire } from '../../contract/metering/meter-batch.ts'
import { readReading } from '../../contract/metering/meter-cumulative.ts'
import { readMeterRecord } from '../../contract/metering/meter-record.ts'
import { CallError, callPatiently, refusalOf, type ServiceCalls } from '../../platform/call-service.ts'
import { semaphore } from '../../platform/concurrency/semaphore.ts'
import { startTurns } from '../../platform/concurrency/time-slices.ts'
import {
  elementValue,
  type NameWriter,
  objectNameJson,
  objectNameText,
  readingsToRegisterBody,
  readingToElement,
  readingToRecordLine,
} from '../contract/file-reading.ts'
import { type FileReading, type ObjectName, type RefusedRow, type RowCode, refusedRow } from '../domain/reading.ts'
import { type ImportWarning, sumWarnings, warningsOfReceipt } from './import-warnings.ts'
import type { ReadingBatch } from './reading-batch.ts'

/**
 * Lines of the readings of a register in the order of the submission, and the numbers of those that are refused. The service
 * can refuse the others when it makes the intervals.
 */
export type SentRegister = {
  readonly batchId: string
  readonly lines: readonly number[]
  readonly refused: ReadonlySet<number>
}

/**
 * Result of a batch: number of accepted readings, refused rows, the ids of its receipts and their warnings. `checked`: the
 * readings of a dry run by line, without the lines that have a refused reading.
 */
export type SentBatch = {
  readonly accepted: number
  readonly checked: readonly FileReading[]
  readonly refused: readonly RefusedRow[]
  readonly batchIds: readonly string[]
  readonly registers: readonly SentRegister[]
  readonly warnings: readonly ImportWarning[]
}

/** Sends batches of readings. `isDryRun` checks the readings with the rules of the service and sends nothing. */
export type BatchSender = { readonly send: (batch: ReadingBatch) => Promise<SentBatch> }

type SenderOptions = {
  readonly client: ServiceCalls
  readonly isDryRun: boolean
  /** Id of the import, under which it can be undone. */
  readonly importId: string
  /** Time of the import in ms, against which times are checked in a dry run. */
  readonly at: number
  readonly signal: AbortSignal
  readonly onWait: (reason: string) => void
}

/** Known answers to the question whether an object exists. The oldest are forgotten. */
const maxKnownObjects = 100_000

/** Result of a search for an object: its id, null if it does not exist, undefined if the key cannot read objects. */
type FoundObject = string | null | undefined

/** Searches that run at the same time. */
const concurrentSearches = 8

/** Return a search for objects by id or reference. Answers are cached, and a running search is shared. */
const objectFinder = ({ client, signal, onWait }: SenderOptions) => {
  const known = new Map<string, Promise<FoundObject>>()
  const limited = semaphore(concurrentSearches)
  const search = async (path: string): Promise<FoundObject> => {
    const answer = await callPatiently(() => client.call<{ readonly id: string }>('GET', path), signal, onWait)
    const isMissing = [404, 409, 422].includes(answer.status)
    return answer.status === 200 ? answer.body?.id : isMissing ? null : undefined
  }
  return (kind: 'locations' | 'devices', name: string): Promise<FoundObject> => {
    const path = `/${kind}/${encodeURIComponent(name)}`
    const earlier = known.get(path)
    if (earlier !== undefined) return earlier
    if (known.size >= maxKnownObjects) known.clear()
    const found = limited(() => search(path))
    known.set(path, found)
    // The caller receives the error. A later call searches again.
    found.catch(() => known.delete(path))
    return found
  }
}

type Finder = ReturnType<typeof objectFinder>

const refuse = (reading: FileReading, field: string | null, code: RowCode, message: string): RefusedRow =>
  refusedRow(reading.line, field, code, toSentence(message))

/** Columns of the members of a record. */
const columnOf: Readonly<Record<string, string>> = {
  start_time: 'start',
  end_time: 'end',
  units: 'unit',
  location_id: 'location',
  device_id: 'device',
  session_reference_id: 'session',
  record_reference_id: 'record',
  energy_flow_direction: 'direction',
  tariff_direction: 'direction',
}

/** Columns of the members of a register reading. */
const columnOfRegister: Readonly<Record<string, string>> = { ...columnOf, value: 'register' }

const isWhole = ({ start }: FileReading): boolean => start % 1000 === 0

/** Return the reason that a register reading alone gives for its refusal; null if the reading is valid. */
const refuseRegister = (reading: FileReading, at: number): RefusedRow | null => {
  const { units, start, recordReferenceId, isRestart } = reading
  if (!isWhole(reading))
    return refuse(reading, 'time', 'not_a_time', 'The time of a register reading must be a whole second')
  if (units !== 'WH' && units !== 'KWH')
    return refuse(reading, 'unit', 'field_invalid', 'The unit of a register must be WH or KWH')
  const reference = recordReferenceId === null ? {} : { record_reference_id: recordReferenceId }
  const restart = isRestart ? { restart: true } : {}
  const element = { time: start / 1000, value: elementValue(reading), ...restart, ...reference }
  const read = readReading(element, units, at)
  if (read.ok) return null
  const { field = '', code, message } = read.refusal
  return refuse(reading, columnOfRegister[field] ?? (field || null), code, message)
}

/** Return the reason that the reading alone gives for its refusal; null if the reading is valid. */
const refuseReading = (reading: FileReading, at: number): RefusedRow | null => {
  if (reading.isRegister) return refuseRegister(reading, at)
  const read = readMeterRecord(readingToElement(reading), 'current', at)
  if (read.ok) return null
  const { field, code, message } = read.refusal
  return refuse(reading, field === undefined ? null : (columnOf[field] ?? field), code, message)
}

const refuseObjects = async (reading: FileReading, find: Finder): Promise<RefusedRow | null> => {
  const location = objectNameText(reading.location)
  if ((await find('locations', location)) === null)
    return refuse(reading, 'location', 'location_not_found', `The location ${location} does not exist`)
  const device = reading.device === null ? null : objectNameText(reading.device)
  if (device === null || (await find('devices', device)) !== null) return null
  return refuse(reading, 'device', 'device_not_found', `The device ${device} does not exist`)
}

const identityOf = (reading: FileReading): string =>
  `${reading.isRestart} ${readingToRecordLine({ ...reading, value: '0', confidence: null, units: 'WH' })}`

/** Return the first reading of each identity of a batch. All its readings can be duplicates, so it is made once. */
const firstReadings = (intervals: readonly FileReading[]): ReadonlyMap<string, FileReading> =>
  new Map(intervals.map(reading => [identityOf(reading), reading] as const).reverse())

/** Refuse a reading that has the identity of the reading of an earlier line. */
export const refuseRepeat = (reading: FileReading, firstLine: number): RefusedRow => {
  const message = `The reading of line ${firstLine} has the same meter and times. If a column tells them apart, select rows with --where.`
  return refusedRow(reading.line, null, 'duplicate_row', message)
}

/** Create a sender. `send` throws `CallError` if the service refuses a submission as a whole or does not answer. */
export const batchSender = (options: SenderOptions): BatchSender => {
  const find = objectFinder(options)
  return {
    send: async batch => {
      const parts = options.isDryRun
        ? [await checkBatch(batch, options.at, find)]
        : [await sendIntervals(batch, options, find), ...(await sendRegisters(batch, options))]
      return {
        accepted: parts.reduce((sum, { accepted }) => sum + accepted, 0),
        checked: parts.flatMap(({ checked }) => checked),
        refused: [...batch.refused, ...parts.flatMap(({ refused }) => refused)].sort((a, b) => a.line - b.line),
        batchIds: parts.flatMap(({ batchIds }) => batchIds),
        registers: parts.flatMap(({ registers }) => registers),
        warnings: sumWarnings(parts.flatMap(({ warnings }) => warnings)),
      }
    },
  }
}

const nothingSent: SentBatch = { accepted: 0, checked: [], refused: [], batchIds: [], registers: [], warnings: [] }

/** Check readings as the service does, apart from readings that are stored already. */
const checkBatch = async (batch: ReadingBatch, at: number, find: Finder): Promise<SentBatch> => {
  const refused: RefusedRow[] = []
  const firsts = new Map<string, FileReading>()
  const readings = [...batch.intervals, ...[...batch.registers.values()].flat()]
  // The console checks files on the first thread, and its known objects need no wait.
  const nextTurn = startTurns()
  for (const reading of readings) {
    await nextTurn()
    const identity = identityOf(reading)
    const first = firsts.get(identity)
    const refusal =
      refuseReading(reading, at) ??
      (first === undefined ? await refuseObjects(reading, find) : refuseRepeat(reading, first.line))
    if (refusal === null) firsts.set(identity, reading)
    else refused.push(refusal)
  }
  const refusedLines = new Set([...batch.refused, ...refused].map(({ line }) => line))
  const checked = readings.filter(({ line }) => !refusedLines.has(line)).sort((a, b) => a.line - b.line)
  return { ...nothingSent, accepted: readings.length - refused.length, checked, refused }
}

/**
 * Return a writer that replaces the references of a batch by ids: the service reads records with ids several times faster.
 * References that the key cannot read, or that no object has, stay.
 */
const nameWriter = async (intervals: readonly FileReading[], find: Finder): Promise<NameWriter> => {
  const texts = { locations: new Map<string, string>(), devices: new Map<string, string>() }
  const add = (name: ObjectName | null, kind: 'locations' | 'devices'): void => {
    if (name !== null && 'reference' in name && !texts[kind].has(name.reference))
      texts[kind].set(name.reference, objectNameText(name))
  }
  for (const { location, device } of intervals) {
    add(location, 'locations')
    add(device, 'devices')
  }
  const replace = async (kind: 'locations' | 'devices', reference: string, text: string): Promise<void> => {
    const id = await find(kind, text)
    texts[kind].set(reference, JSON.stringify(id ?? text))
  }
  const searches = (['locations', 'devices'] as const).flatMap(kind =>
    [...texts[kind]].map(([reference, text]) => replace(kind, reference, text)),
  )
  await Promise.all(searches)
  return (name, kind) => ('id' in name ? undefined : texts[kind].get(name.reference)) ?? objectNameJson(name)
}

const sendIntervals = async (batch: ReadingBatch, options: SenderOptions, find: Finder): Promise<SentBatch> => {
  if (batch.intervals.length === 0) return nothingSent
  const { client } = options
  const path = `/meters/interval?import_id=${options.importId}`
  const nameOf = await nameWriter(batch.intervals, find)
  let ndjson = ''
  for (const reading of batch.intervals) ndjson += `${readingToRecordLine(reading, nameOf)}\n`
  const submit = () => client.call<MeterBatchWire>('PUT', path, ndjson, 'application/x-ndjson')
  const answer = await callPatiently(submit, options.signal, options.onWait)
  if (answer.status !== 200 || answer.body === null) throw refusalOf('PUT', path, answer)
  const { id, records_accepted: accepted, failed_records: failed } = answer.body
  const refused: RefusedRow[] = []
  const firsts = failed.length === 0 ? new Map<string, FileReading>() : firstReadings(batch.intervals)
  for (const { record_num: recordNumber, error } of failed) {
    const reading = batch.intervals[recordNumber - 1]
    if (reading === undefined)
      throw new CallError(`The service refused the unknown record ${recordNumber}.`, null, null)
    refused.push(await explainFailure(reading, error, { firsts, at: options.at, find }))
  }
  const warnings = warningsOfReceipt(answer.body, batch.intervals)
  return { ...nothingSent, accepted, refused, batchIds: [id], warnings }
}

type Explanation = {
  readonly firsts: ReadonlyMap<string, FileReading>
  readonly at: number
  readonly find: Finder
}

/** Find the code of a failed record: receipts have messages only. */
const explainFailure = async (
  reading: FileReading,
  error: string,
  { firsts, at, find }: Explanation,
): Promise<RefusedRow> => {
  const refusal = refuseReading(reading, at) ?? (await refuseObjects(reading, find))
  if (refusal !== null) return refusal
  const first = firsts.get(identityOf(reading))
  return first === undefined || first === reading
    ? refuse(reading, null, 'field_invalid', error)
    : refuseRepeat(reading, first.line)
}

const sendRegisters = async ({ registers }: ReadingBatch, options: SenderOptions): Promise<readonly SentBatch[]> => {
  const sent: SentBatch[] = []
  for (const readings of registers.values()) sent.push(await sendRegister(readings, options))
  return sent
}

const sendRegister = async (readings: readonly FileReading[], options: SenderOptions): Promise<SentBatch> => {
  const early = readings
    .filter(reading => !isWhole(reading))
    .flatMap(reading => refuseRegister(reading, options.at) ?? [])
  const sent = early.length === 0 ? readings : readings.filter(isWhole)
  const path = `/meters/cumulative/epoch?import_id=${options.importId}`
  const body = readingsToRegisterBody(sent)
  if (body === null) return { ...nothingSent, refused: early }
  const call = () => options.client.call<MeterBatchWire>('PUT', path, body)
  const answer = await callPatiently(call, options.signal, options.onWait)
  if (answer.status === 200 && answer.body !== null) {
    const { id, records_accepted: accepted, failed_records: failed } = answer.body
    const refused = failed.flatMap(({ record_num: recordNumber, error }) => {
      const reading = sent[recordNumber - 1]
      return reading === undefined ? [] : [explainRegister(reading, sent, error, options.at)]
    })
    const numbers = new Set(failed.map(({ record_num: recordNumber }) => recordNumber))
    const registers = [{ batchId: id, lines: sent.map(({ line }) => line), refused: numbers }]
    return { ...nothingSent, accepted, refused: [...early, ...refused], batchIds: [id], registers }
  }
  const error = refusalOf('PUT', path, answer)
  if (!isRefusalOfRegister(error)) throw error
  const { code, message, field } = answer.body as unknown as { code: RowCode; message: string; field?: string }
  const column = columnOf[field ?? ''] ?? null
  const all = sent.map(reading => refuse(reading, column, code, message))
  return { ...nothingSent, refused: [...early, ...all] }
}

/** Find the code of a failed register reading. */
const explainRegister = (
  reading: FileReading,
  readings: readonly FileReading[],
  error: string,
  at: number,
): RefusedRow => {
  const refusal = refuseRegister(reading, at)
  if (refusal !== null) return refusal
  const { start, isRestart } = reading
  const first = readings.find(other => other.start === start && other.isRestart === isRestart)
  return first === undefined || first === reading
    ? refuse(reading, 'register', 'field_invalid', error)
    : refuseRepeat(reading, first.line)
}

/** Statuses that say the register is wrong, not the key or the request. */
const isRefusalOfRegister = ({ status }: CallError): boolean =>
  status === 400 || status === 404 || status === 409 || status === 422
