import { type ApiVersion, apiVersions } from '../../../services/contract/api-version.ts'
import { answerToEarlier } from '../../../services/contract/earlier-api-version.ts'
import { errorObject } from '../../../services/contract/error.ts'
import { readRequest, refusalInApiVersion } from '../../../services/contract/exchange.ts'
import { readCumulative, readReading } from '../../../services/contract/metering/meter-cumulative.ts'
import { readMeterRecord } from '../../../services/contract/metering/meter-record.ts'
import type { Operation } from '../../../services/contract/operation.ts'
import { noReferenceIds } from '../../../services/domain/reference.ts'
import type { Refusal, Result } from '../../../services/domain/refusal.ts'
import { noPause, parseSubmission } from '../metering/parse-submission.ts'

/** Message of a refused request, with the change that the request made to the example of its operation. */
export type ReachedMessage = {
  readonly operation: Operation
  readonly apiVersion: ApiVersion
  readonly change: string
  readonly refusal: Refusal
  readonly message: string
}

const unusualValues: readonly unknown[] = [
  null,
  true,
  '',
  ' ',
  'x',
  'x'.repeat(70_000),
  'a\u0000b',
  -1,
  0,
  1.5,
  1e15,
  0.123456789123,
  [],
  [1, 2],
  {},
  { a: 1 },
  '2026-13-01T00:00:00Z',
  '2001-01-01T00:00:00Z',
  Array.from({ length: 3_000 }, () => 1),
]

/** Yield changes of an example: each member with each odd value, absent or misspelt, and an unknown member. */
function* changesOf(value: unknown, path: string): Generator<readonly [string, unknown]> {
  if (Array.isArray(value)) {
    for (const [index, one] of value.slice(0, 2).entries()) {
      for (const [at, next] of changesOf(one, `${path}[${index}]`)) yield [at, value.with(index, next)]
      for (const unusual of unusualValues)
        yield [`${path}[${index}] = ${JSON.stringify(unusual).slice(0, 40)}`, value.with(index, unusual)]
    }
    yield [`${path} twice`, [...value, ...value]]
  } else if (typeof value === 'object' && value !== null) {
    for (const [name, one] of Object.entries(value)) {
      const { [name]: _, ...others } = value as Readonly<Record<string, unknown>>
      yield [`${path}.${name} left out`, others]
      yield [`${path}.${name} misspelt`, { ...others, [`${name}x`]: one }]
      for (const unusual of unusualValues)
        yield [`${path}.${name} = ${JSON.stringify(unusual).slice(0, 40)}`, { ...value, [name]: unusual }]
      for (const [at, next] of changesOf(one, `${path}.${name}`)) yield [at, { ...value, [name]: next }]
    }
    yield [`${path} with an unknown member`, { ...value, whatever: 1 }]
  }
}

const bodyIn = (operation: Operation, apiVersion: ApiVersion): unknown => {
  const example = operation.examples?.body
  return apiVersion === 'current' || example === undefined
    ? example
    : answerToEarlier(example, operation.renames?.body ?? [])
}

const refusalOfExample = async (
  operation: Operation,
  apiVersion: ApiVersion,
  body: unknown,
  search: string,
): Promise<Refusal | null> => {
  const [route] = operation.routes[apiVersion]
  if (route === undefined) return null
  const inQuery = route.bodyInQuery !== undefined && typeof body === 'object' && body !== null
  const parameters = inQuery
    ? Object.entries(body).map(([name, one]) => [name, typeof one === 'string' ? one : JSON.stringify(one)])
    : []
  const query = inQuery ? new URLSearchParams(Object.fromEntries(parameters)).toString() : search
  const bytes = Buffer.from(inQuery || body === undefined ? '' : JSON.stringify(body))
  const sent = { bytes, mediaType: 'application/json' }
  const wire = { route, apiVersion, parameters: { id: 'x' }, search: query, body: sent }
  const effects = { findIds: async () => noReferenceIds, nextTurn: () => Promise.resolve() }
  const read = await readRequest(operation, wire, effects)
  return read.ok ? null : refusalInApiVersion(operation, read.refusal, apiVersion)
}

const at = Date.parse('2025-09-15T00:00:00Z')
const refusalsOf = (results: readonly Result<unknown>[]): readonly Refusal[] =>
  results.flatMap(one => (one.ok ? [] : [one.refusal]))
const bytesOf = (body: unknown): Buffer => Buffer.from(JSON.stringify(body))

/** Readers of raw bodies: the whole body, and each record. */
const rawReaders: Readonly<Record<string, (body: unknown, apiVersion: ApiVersion) => Promise<readonly Refusal[]>>> = {
  instant_cost_calculate: async (body, apiVersion) => refusalsOf([readMeterRecord(body, apiVersion, at)]),
  meter_interval_submit: async (body, apiVersion) => {
    const records = Array.isArray(body) ? body.map(record => readMeterRecord(record, apiVersion, at)) : []
    return refusalsOf([await parseSubmission({ bytes: bytesOf(body), mediaType: 'application/json' }), ...records])
  },
  meter_cumulative_submit: async (body, apiVersion) => {
    const refusalOfExample = await readCumulative(bytesOf(body), apiVersion, noPause)
    const readings = refusalOfExample.ok
      ? refusalOfExample.value.elements.map(element => readReading(element, refusalOfExample.value.units, at))
      : []
    return refusalsOf([refusalOfExample, ...readings])
  },
}

/** Read changed examples of all operations in both API versions, and yield the message of each refusal. */
export async function* reachedMessages(operations: readonly Operation[]): AsyncGenerator<ReachedMessage> {
  for (const operation of operations) {
    for (const apiVersion of apiVersions) {
      const reach = (change: string, refusal: Refusal | null): ReachedMessage[] => {
        if (refusal === null) return []
        const { message } = errorObject(refusal, { context: '', requestId: '', at: 0, apiVersion })
        return [{ operation, apiVersion, change, refusal, message }]
      }
      const example = bodyIn(operation, apiVersion)
      const readRaw = rawReaders[operation.id]
      if (readRaw !== undefined) {
        for (const [change, body] of changesOf(example, ''))
          for (const refusal of await readRaw(body, apiVersion)) yield* reach(change, refusal)
      }
      if (operation.body !== 'raw' && example !== undefined) {
        for (const [change, body] of changesOf(example, ''))
          yield* reach(change, await refusalOfExample(operation, apiVersion, body, ''))
      }
      for (const name of [...Object.keys(operation.query?.shape ?? {}), 'whatever']) {
        for (const unusual of ['x', '-1', '0', '1.5', '2026-13-01T00:00:00Z', 'x'.repeat(5_000), 'true']) {
          yield* reach(
            `?${name}=${unusual.slice(0, 40)}`,
            await refusalOfExample(operation, apiVersion, example, new URLSearchParams({ [name]: unusual }).toString()),
          )
        }
      }
    }
  }
}
