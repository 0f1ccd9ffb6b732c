import { setTimeout as sleep } from 'node:timers/promises'
import {
  type Authorization,
  basicAuthorization,
  type Credentials,
  createAuthorization,
  type Login,
} from './credentials.js'
import { WattledgerError } from './errors.js'
import { parseExact, writeExact } from './exact-json.js'
import type { CallOptions, Input, OperationRow } from './operation.js'
import { createPages, type Page } from './pages.js'
import { type ChunkOptions, cutRecords, explainDuplicates } from './records.js'
import { readApiKey, readBaseUrl } from './settings.js'
import { sendWithRetries, type TransportOptions, type WireRequest } from './transport.js'

/** Settings of a client. */
export type ClientOptions = Credentials &
  Partial<TransportOptions> & {
    /** Address of the service, such as `https://energy.example.com`. */
    readonly baseUrl: string
  }

/** Tables that the OpenAPI document of an API version describes. */
export type Api = {
  readonly apiVersion: string
  readonly integers: ReadonlySet<string>
  readonly operations: Readonly<Record<string, OperationRow>>
}

/** Path, query and body of a call without their types. */
export type AnyInput = CallOptions & {
  readonly path?: object
  readonly query?: object
  readonly body?: unknown
}

const defaults: TransportOptions = {
  maxAttempts: 5,
  maxDelayMs: 60_000,
  timeoutMs: 60_000,
  fetch: (...words) => fetch(...words),
}

const targetOf = (path: string, input: AnyInput): string => {
  const names = new Map(Object.entries(input.path ?? {}))
  const target = path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = names.get(name)
    if (value === undefined || value === '') throw new WattledgerError(`The path ${path} needs ${name}.`)
    return encodeURIComponent(String(value))
  })
  const query = Object.entries(input.query ?? {}).filter(([, value]) => value !== undefined)
  return query.length === 0
    ? target
    : `${target}?${new URLSearchParams(query.map(([name, value]) => [name, `${value}`]))}`
}

const isRepeatable = ({ method, takesKey }: OperationRow, hasKey: boolean): boolean =>
  method === 'GET' || method === 'PUT' || (method === 'POST' && (hasKey || !takesKey))

/** Download of an answer in another media type. */
export type Download<Inputs> = <Name extends keyof Inputs>(
  name: Name,
  accept: 'text/csv' | 'application/x-ndjson' | 'application/json',
  input: Input<Inputs[Name]>,
) => Promise<ReadableStream<Uint8Array>>

/** Client of an API version. */
export type Client<Operations, Inputs, RecordInput, Batch> = Operations & {
  /** Read an answer as a stream of bytes: CSV, NDJSON, or JSON as it is on the wire. */
  readonly download: Download<Inputs>
  /**
   * Upload records in chunks as NDJSON, one chunk after the other. Yields the receipt of each chunk.
   * Sending a record twice counts it once, so an upload that stopped can start again. A record with the identity of an
   * earlier record of the call and another value fails with `duplicate_row` and the positions of both.
   */
  readonly submitRecords: (
    records: Iterable<RecordInput> | AsyncIterable<RecordInput>,
    options?: ChunkOptions & { readonly signal?: AbortSignal },
  ) => AsyncGenerator<Batch>
  /**
   * Upload a text in CSV, with at most 10,000 readings, in one request. `query` names its columns, unit and zone, as the
   * options of `wattledger import readings` do. A repeat counts each record once.
   */
  readonly submitCsv: (
    text: string,
    query: Inputs extends { readonly meterSubmit: { readonly query?: infer Query } } ? Query : never,
    options?: CallOptions,
  ) => Promise<Batch>
  /** Wait until all records of a batch are processed or failed. Throws after `timeoutMs`, by default 60,000. */
  readonly waitForBatch: (id: string, options?: { readonly timeoutMs?: number }) => Promise<Batch>
}

const pollMs = 100

/** Read the receipt of a batch until it is complete. */
const waitForBatch = async (
  read: () => Promise<unknown>,
  id: string,
  { timeoutMs = 60_000 }: { readonly timeoutMs?: number } = {},
): Promise<unknown> => {
  for (const deadline = performance.now() + timeoutMs; ; await sleep(pollMs)) {
    const receipt = (await read()) as { readonly status: string }
    if (receipt.status === 'COMPLETE') return receipt
    if (performance.now() > deadline)
      throw new WattledgerError(`The batch ${id} is not complete after ${timeoutMs} ms.`)
  }
}

const readText = (response: Response): Promise<string> => response.text()

/** Parse the answer of a request. Another server or a proxy can answer with success and other text. */
const parseAnswer = ({ method, url }: WireRequest, text: string, integers: ReadonlySet<string>): unknown => {
  try {
    return parseExact(text, integers)
  } catch (cause) {
    const { origin, pathname } = new URL(url)
    throw new WattledgerError(`${origin}${pathname} answered ${method} with no JSON. Check the base URL.`, { cause })
  }
}

const createSender = ({ apiVersion, integers }: Api, settings: ClientOptions) => {
  const base = readBaseUrl(settings.baseUrl)
  const given = { ...settings, apiKey: readApiKey(settings.apiKey) }
  const options: TransportOptions = { ...defaults, ...given }
  const sendJson = async (request: WireRequest, authorization: Authorization | null): Promise<unknown> =>
    parseAnswer(request, await sendWithRetries(request, authorization, readText, options), integers)
  const login = async (): Promise<Login> => {
    const headers = { 'Api-Version': apiVersion }
    const request: WireRequest = { method: 'POST', url: `${base}/login`, headers, isRepeatable: true }
    return (await sendJson(request, basicAuthorization(given))) as Login
  }
  const bearer = createAuthorization(given, login)
  const authorizationOf = ({ access }: OperationRow): Authorization | null => {
    if (access === 'none') return null
    return access === 'basic' ? basicAuthorization(given) : bearer
  }
  const requestOf = (row: OperationRow, input: AnyInput, headers: Readonly<Record<string, string>>): WireRequest => {
    const key = row.takesKey ? (input.idempotencyKey ?? crypto.randomUUID()) : null
    const { body, signal } = input
    return {
      method: row.method,
      url: base + targetOf(row.path, input),
      headers: {
        ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
        ...(key === null ? {} : { 'Idempotency-Key': key }),
        Accept: 'application/json',
        'Api-Version': apiVersion,
        ...headers,
      },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : writeExact(body) }),
      isRepeatable: isRepeatable(row, key !== null),
      ...(signal === undefined ? {} : { signal }),
    }
  }
  return {
    json: (row: OperationRow, input: AnyInput, headers = {}): Promise<unknown> =>
      sendJson(requestOf(row, input, headers), authorizationOf(row)),
    stream: (row: OperationRow, input: AnyInput, Accept: string): Promise<ReadableStream<Uint8Array>> => {
      const read = async ({ body }: Response) => body ?? new ReadableStream<Uint8Array>()
      // A stream may take longer than an attempt. The caller's signal ends it.
      const unlimited = { ...options, timeoutMs: 2 ** 31 - 1 }
      return sendWithRetries(requestOf(row, input, { Accept }), authorizationOf(row), read, unlimited)
    },
  }
}

/** Create the methods of an API version. The operations are those of the table. */
export const createAnyClient = (api: Api, options: ClientOptions): Readonly<Record<string, unknown>> => {
  const { json, stream } = createSender(api, options)
  const rowOf = (name: string): OperationRow => {
    const row = api.operations[name]
    if (row === undefined) throw new WattledgerError(`The API version ${api.apiVersion} has no operation ${name}.`)
    return row
  }
  const methods = Object.entries(api.operations).map(([name, row]): readonly [string, unknown] => [
    name,
    row.isList
      ? (input: AnyInput = {}) =>
          createPages({ ...input.query }, query => json(row, { ...input, query }) as Promise<Page<unknown>>)
      : (input: AnyInput = {}) => json(row, input),
  ])
  return {
    ...Object.fromEntries(methods),
    download: async (name: string, accept: string, input: AnyInput) => stream(rowOf(name), input, accept),
    waitForBatch: (id: string, limits?: { readonly timeoutMs?: number }) =>
      waitForBatch(() => json(rowOf('meterBatchRead'), { path: { id } }), id, limits),
    submitCsv: (body: string, query: object, options: CallOptions = {}) =>
      json(rowOf('meterSubmit'), { ...options, query, body }, { 'Content-Type': 'text/csv' }),
    submitRecords: async function* (
      records: Iterable<unknown>,
      { signal, ...chunks }: ChunkOptions & CallOptions = {},
    ) {
      const headers = { 'Content-Type': 'application/x-ndjson' }
      for await (const chunk of cutRecords(records, chunks)) {
        const input = { body: chunk.body, ...(signal === undefined ? {} : { signal }) }
        yield explainDuplicates(await json(rowOf('meterSubmit'), input, headers), chunk)
      }
    },
  }
}
