import type { MeterBatchWire } from '../../contract/metering/meter-batch.ts'
import { CallError, callPatiently, refusalOf } from '../../platform/call-service.ts'
import { semaphore } from '../../platform/concurrency/semaphore.ts'
import {
  type NameWriter,
  objectNameJson,
  objectNameText,
  readingsToRegisterBody,
  readingToRecordLine,
} from '../contract/file-reading.ts'
import type { FileReading, ObjectName, RefusedRow, RowCode } from '../domain/reading.ts'
import {
  type CheckedBatch,
  checkReadings,
  columnOf,
  identityOf,
  isWhole,
  refuse,
  refuseObjects,
  refuseReading,
  refuseRegister,
  refuseRepeat,
} from './check-readings.ts'
import { type FinderOptions, type FindObject, type ObjectKind, objectFinder } from './find-objects.ts'
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
 * readings of a dry run.
 */
export type SentBatch = CheckedBatch & {
  readonly batchIds: readonly string[]
  readonly registers: readonly SentRegister[]
  readonly warnings: readonly ImportWarning[]
}

/** Sends batches of readings. `isDryRun` checks the readings with the rules of the service and sends nothing. */
export type BatchSender = { readonly send: (batch: ReadingBatch) => Promise<SentBatch> }

type SenderOptions = FinderOptions & {
  readonly isDryRun: boolean
  /** Id of the import, under which it can be undone. */
  readonly importId: string
  /** Time of the import in ms, against which times are checked in a dry run. */
  readonly at: number
}

/** Return the first reading of each identity of a batch. All its readings can be duplicates, so it is made once. */
const firstReadings = (intervals: readonly FileReading[]): ReadonlyMap<string, FileReading> =>
  new Map(intervals.map(reading => [identityOf(reading), reading] as const).reverse())

/** Create a sender. `send` throws `CallError` if the service refuses a submission as a whole or does not answer. */
export const batchSender = (options: SenderOptions): BatchSender => {
  const find = objectFinder(options)
  return {
    send: async batch => {
      const parts = options.isDryRun
        ? [{ ...nothingSent, ...(await checkReadings(batch, options.at, find)) }]
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

/**
 * Return a writer that replaces the references of a batch by ids: the service reads records with ids several times faster.
 * References that the key cannot read, or that no object has, stay.
 */
const nameWriter = async (intervals: readonly FileReading[], find: FindObject): Promise<NameWriter> => {
  const texts = { locations: new Map<string, string>(), devices: new Map<string, string>() }
  const add = (name: ObjectName | null, kind: ObjectKind): void => {
    if (name !== null && 'reference' in name && !texts[kind].has(name.reference))
      texts[kind].set(name.reference, objectNameText(name))
  }
  for (const { location, device } of intervals) {
    add(location, 'locations')
    add(device, 'devices')
  }
  const replace = async (kind: ObjectKind, reference: string, text: string): Promise<void> => {
    const found = await find(kind, text)
    texts[kind].set(reference, JSON.stringify(found?.id ?? text))
  }
  const searches = (['locations', 'devices'] as const).flatMap(kind =>
    [...texts[kind]].map(([reference, text]) => replace(kind, reference, text)),
  )
  await Promise.all(searches)
  return (name, kind) => ('id' in name ? undefined : texts[kind].get(name.reference)) ?? objectNameJson(name)
}

const sendIntervals = async (batch: ReadingBatch, options: SenderOptions, find: FindObject): Promise<SentBatch> => {
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
  readonly find: FindObject
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

/** Registers of a batch that are sent at once. The service makes the intervals of those that arrive together in one step. */
const concurrentRegisters = 16

/** Send the registers of a batch. After an error, no other register is sent. */
const sendRegisters = async ({ registers }: ReadingBatch, options: SenderOptions): Promise<readonly SentBatch[]> => {
  const limited = semaphore(concurrentRegisters)
  let hasFailed = false
  const send = async (readings: readonly FileReading[]): Promise<SentBatch> => {
    if (hasFailed) return nothingSent
    try {
      return await sendRegister(readings, options)
    } catch (error) {
      hasFailed = true
      throw error
    }
  }
  return Promise.all([...registers.values()].map(readings => limited(() => send(readings))))
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
