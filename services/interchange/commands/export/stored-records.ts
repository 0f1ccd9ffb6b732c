import { setTimeout as sleep } from 'node:timers/promises'
import { parseExactJson } from '../../../contract/json/exact-json.ts'
import { type JsonNumber, numberText } from '../../../contract/json/exact-number.ts'
import type { meterRecordList } from '../../../contract/metering/meter-record-read.ts'
import type { AnswerOf } from '../../../contract/operation.ts'
import { parseInstant, writeInstant } from '../../../domain/instant.ts'
import type { Interval } from '../../../domain/interval.ts'
import { energyScale, moneyScale, readDecimal } from '../../../domain/quantity.ts'
import { askPatiently, CallError } from '../../../platform/call-service.ts'
import type { ExportedRecord } from '../../domain/exported-record.ts'
import type { ImportTarget } from '../import/import-target.ts'

/** Read the JSON of an answer exactly. Throws `SyntaxError`. */
export const parseAnswer = (text: string): unknown => {
  const read = parseExactJson(text)
  if (read.ok) return read.value
  throw new SyntaxError(read.refusal.message)
}

/** Client and interruption of an export. The client must parse answers with `parseAnswer`. */
export type ExportSource = { readonly client: ImportTarget['client']; readonly signal: AbortSignal }

type Page<T> = { readonly data: readonly T[]; readonly has_more: boolean }

const pageLimit = 100

/** List the objects of a path page by page, in the order of the service. */
export async function* listPages<T extends { readonly id: string }>(
  { client, signal }: ExportSource,
  path: string,
  query: Readonly<Record<string, string | undefined>> = {},
): AsyncGenerator<readonly T[]> {
  const given = Object.entries(query).filter((entry): entry is [string, string] => entry[1] !== undefined)
  for (let after: string | undefined; ; ) {
    signal.throwIfAborted()
    const parameters = new URLSearchParams([...given, ['limit', `${pageLimit}`]])
    if (after !== undefined) parameters.set('starting_after', after)
    const page = await askPatiently<Page<T>>(client, 'GET', `${path}?${parameters}`, signal)
    yield page.data
    after = page.data.at(-1)?.id
    if (!page.has_more || after === undefined) return
    // A turn of the event loop, so that an interruption is seen.
    await sleep(0)
  }
}

/** List all objects of a path. */
export const listAll = async <T extends { readonly id: string }>(
  source: ExportSource,
  path: string,
  query: Readonly<Record<string, string | undefined>> = {},
): Promise<readonly T[]> => {
  const all: T[] = []
  for await (const page of listPages<T>(source, path, query)) all.push(...page)
  return all
}

/** Stored record of the API with exact numbers. */
export type RecordWire = AnswerOf<typeof meterRecordList>['data'][number]

const limit = 10n ** 40n

const scaled = (value: JsonNumber, scale: number): bigint => {
  const read = readDecimal(numberText(value), { scale, min: -limit, max: limit }, 'value')
  if (!read.ok) throw new CallError(`The service answered with a wrong number: ${read.refusal.message}`, null, null)
  return read.value
}

const instantOf = (text: string): number => {
  const at = parseInstant(text)
  if (at === undefined) throw new CallError(`The service answered with a wrong time: ${text}`, null, null)
  return at
}

const intervalOf = ({
  start_time: start,
  end_time: end,
}: {
  readonly start_time: string
  readonly end_time: string
}): Interval => ({
  start: instantOf(start),
  end: instantOf(end),
})

/** Convert a record of the API. */
export const toExportedRecord = ({ data, pieces, ...record }: RecordWire): ExportedRecord => {
  const { value: cost } = data.tariff.cost
  return {
    id: record.id,
    locationId: record.location_id,
    deviceId: record.device_id,
    ...intervalOf(data),
    energyFlowDirection: record.energy_flow_direction,
    tariffDirection: record.tariff_direction,
    sessionReferenceId: data.session_reference_id,
    currencyCode: record.currency_code,
    energy: scaled(data.energy.value, energyScale),
    cost: cost === null ? null : scaled(cost, moneyScale),
    confidence: Number(scaled(record.confidence, 6)),
    pieces: pieces.map(piece => ({
      ...intervalOf(piece),
      energy: scaled(piece.energy, energyScale),
      cost: scaled(piece.cost, moneyScale),
    })),
  }
}

/** Selection of records; times are starts. */
export type RecordQuery = {
  readonly location_id?: string | undefined
  readonly device_id?: string | undefined
  readonly session_reference_id?: string | undefined
  readonly span?: Interval
}

/** List stored records page by page, the newest start first. */
export async function* listRecords(
  source: ExportSource,
  { span, ...query }: RecordQuery,
): AsyncGenerator<readonly ExportedRecord[]> {
  const times = span === undefined ? {} : { start_time: writeInstant(span.start), end_time: writeInstant(span.end) }
  for await (const page of listPages<RecordWire>(source, '/meters/records', { ...query, ...times }))
    yield page.map(toExportedRecord)
}

/** Return the span in which all records of a session start; null without such records. */
export const sessionSpan = async (source: ExportSource, session: string): Promise<Interval | null> => {
  let [start, end] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]
  for await (const page of listRecords(source, { session_reference_id: session })) {
    for (const record of page) {
      start = Math.min(start, record.start)
      end = Math.max(end, record.start + 1)
    }
  }
  return end === Number.NEGATIVE_INFINITY ? null : { start, end }
}
