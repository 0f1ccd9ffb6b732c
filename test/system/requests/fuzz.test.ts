import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { answerFaults } from '../../support/fuzz/answer-faults.ts'
import { type PlannedRequest, planRequest } from '../../support/fuzz/plan-request.ts'
import { errorFaults, versions } from '../../support/http/error-object.ts'
import { type RawReply, rawSender } from '../../support/http/raw-http.ts'
import { type JsonSchema, violationsOf } from '../../support/openapi/json-schema.ts'
import {
  type DocumentedOperation,
  type OpenApiDocument,
  operationsOf,
  readDocument,
} from '../../support/openapi/openapi.ts'
import { seededRandom } from '../../support/random.ts'
import { tokenOf } from '../../support/registry/accounts.ts'
import { createObjectFixture } from '../../support/registry/object-fixture.ts'
import { login } from '../../support/system/client.ts'
import { startPrepared } from '../../support/system/prepared-folder.ts'
import { dataFolder, type RunningSystem, removeData } from '../../support/system/running-system.ts'

/** Number of requests per API version. `FUZZ_RUNS` and `FUZZ_SEED` set others. */
const runs = Number(process.env['FUZZ_RUNS'] ?? 1_500)
const seed = Number(process.env['FUZZ_SEED'] ?? 20_250_914)
const atOnce = 12
const maxIds = 12

const folder = dataFolder()
let system: RunningSystem | undefined
const running = (): RunningSystem => {
  if (system === undefined) throw new Error('the system does not run')
  return system
}

beforeAll(async () => {
  system = await startPrepared(folder)
})

afterAll(async () => {
  await system?.[Symbol.asyncDispose]()
  removeData(folder)
})

/** Ids by prefix, newest last. The ids of the first fixture remain, so that some objects always exist. */
const idCollection = (first: readonly string[]) => {
  const known = new Map<string, string[]>()
  const add = (id: string): void => {
    const prefix = id.slice(0, 3)
    const ids = known.get(prefix) ?? []
    known.set(prefix, ids)
    if (!ids.includes(id)) ids.push(id)
    if (ids.length > maxIds) ids.splice(1, 1)
  }
  for (const id of first) add(id)
  return {
    known,
    addFrom: (text: string) =>
      text
        .match(/\b(?:cus|loc|dev|trf|chg|cal|mrs|bat|mre|evt)_[0-9a-f]{24}\b/g)
        ?.slice(0, 8)
        .forEach(add),
  }
}

const shown = ({ request }: PlannedRequest): string => {
  const { authorization: _, ...headers } = request.headers
  const body = typeof request.body === 'string' ? request.body : Buffer.from(request.body ?? '').toString('latin1')
  return `${request.method} ${request.path.slice(0, 300)} ${JSON.stringify(headers)} ${JSON.stringify(body.slice(0, 700))}`
}

type FuzzCounts = { sent: number; accepted: number; readonly codes: Set<string>; readonly faults: Map<string, string> }

const verifyReply = (planned: PlannedRequest, reply: RawReply, version: string, counts: FuzzCounts): void => {
  counts.sent += 1
  if (reply.status < 300) counts.accepted += 1
  else counts.codes.add(/"code":"(\w+)"/.exec(reply.text)?.[1] ?? '')
  for (const fault of answerFaults(planned, reply, version)) {
    const key = `${planned.operation.id}: ${fault.replace(/[0-9a-f]{24}|\[\d+\]/g, '…')}`
    if (!counts.faults.has(key))
      counts.faults.set(key, `${shown(planned)}\n    -> ${reply.status} ${reply.text.slice(0, 300)}`)
  }
}

const fuzz = async (document: OpenApiDocument, apiVersion: 'current' | 'earlier'): Promise<FuzzCounts> => {
  const { sandbox } = running()
  const fixture = await createObjectFixture(await login(sandbox), `session-${apiVersion}`)
  const ids = idCollection(Object.values(fixture))
  const random = seededRandom(seed + (apiVersion === 'current' ? 0 : 1))
  const token = await tokenOf(sandbox, sandbox.test_key)
  const operations = operationsOf(document)
  const sender = rawSender(sandbox.base_url, atOnce)
  const counts: FuzzCounts = { sent: 0, accepted: 0, codes: new Set(), faults: new Map() }
  const setting = { version: versions[apiVersion], token, operatorKey: sandbox.operator_key, known: ids.known, random }
  for (let first = 0; first < runs; first += atOnce) {
    // Answers are checked in the order of the requests, so that the seed alone decides the next requests.
    const planned = Array.from({ length: atOnce }, (_, index) => operations[(first + index) % operations.length])
      .filter(one => one !== undefined)
      .map(operation => planRequest(operation, setting))
    const replies = await Promise.all(planned.map(({ request }) => sender.send(request)))
    for (const [index, one] of planned.entries()) {
      const reply = replies[index]
      if (reply === undefined) continue
      verifyReply(one, reply, setting.version, counts)
      if (reply.status < 300) ids.addFrom(reply.text)
    }
  }
  sender.close()
  return counts
}

describe.each(['current', 'earlier'] as const)('any request in the %s API version', apiVersion => {
  it('is answered as documented or refused with the error object, never with an internal error', {
    timeout: 60_000 + runs * 100,
  }, async () => {
    const document = await readDocument(running().sandbox.base_url, apiVersion)
    const counts = await fuzz(document, apiVersion)
    const report = [...counts.faults].map(([key, example]) => `${key}\n    ${example}`).join('\n')
    expect(report, `seed ${seed}, ${counts.sent} requests`).toBe('')
    // A run in which all requests are refused, or with few reasons, would prove little.
    expect(counts.accepted / counts.sent).toBeGreaterThan(0.15)
    expect(counts.codes.size).toBeGreaterThan(20)
  })
})

describe('the checks of a fuzz run', () => {
  const schema: JsonSchema = {
    type: 'object',
    properties: { id: { type: 'string' }, at: { anyOf: [{ type: 'null' }, { type: 'integer' }] } },
    required: ['id'],
  }
  const reply = (status: number, body: object, headers = {}): RawReply => ({
    status,
    headers: {
      'content-type': 'application/json',
      'api-version': versions.current,
      'x-request-id': 'req_1',
      ...headers,
    },
    text: JSON.stringify(body),
  })
  const corrupted = (change: object) => ({
    object: 'error',
    type: 'invalid_request',
    code: 'field_invalid',
    message: 'limit must be a whole number.',
    context: 'api.customer_list',
    request_id: 'req_1',
    time_created: new Date().toISOString(),
    ...change,
  })

  it.each([
    ['a missing member', {}],
    ['an undocumented member', { id: 'a', more: 1 }],
    ['another type', { id: 1 }],
    ['no valid alternative', { id: 'a', at: 'b' }],
  ])('find %s in an answer', (_, value) => {
    expect(violationsOf({ id: 'a', at: null }, schema)).toEqual([])
    expect(violationsOf(value, schema)).toHaveLength(1)
  })

  const csv = { status: 200, mediaTypes: ['application/json', 'text/csv'], schema }
  const operation: DocumentedOperation = {
    id: 'customer_list',
    method: 'GET',
    path: '/customers',
    parameters: [],
    body: null,
    scopes: ['read'],
    isOperators: false,
    success: csv,
    otherSuccesses: [],
    refusals: new Map([[400, ['field_invalid']]]),
    takesIdempotencyKey: false,
  }
  const verified = (answer: RawReply, of: Partial<DocumentedOperation> = {}) => {
    const request = { method: 'GET', path: '/customers', headers: { 'api-version': versions.current } }
    return answerFaults({ operation: { ...operation, ...of }, request, isCorrupted: false }, answer, versions.current)
  }
  const inCsv = (text: string): RawReply => ({
    ...reply(200, {}, { 'content-type': 'text/csv; charset=utf-8; header=present' }),
    text,
  })
  const notFound = { code: 'not_found', message: 'No customer has this id.' }

  it.each([
    ['an undocumented status of success', reply(201, { id: 'a' }), {}],
    ['an undocumented refusal', reply(404, corrupted(notFound)), {}],
    ['an undocumented media type', reply(200, { id: 'a' }, { 'content-type': 'text/html' }), {}],
    ['no media type', reply(200, { id: 'a' }, { 'content-type': undefined }), {}],
    ['undocumented CSV', inCsv('id\r\n'), { success: { ...csv, mediaTypes: ['application/json'] } }],
    ['CSV without a header', inCsv(''), {}],
    ['CSV of uneven lines', inCsv('id,at\r\na,1\r\nb\r\n'), {}],
    ['an answer that does not match its schema', reply(200, { id: 1 }), {}],
    ['another API version', reply(200, { id: 'a' }, { 'api-version': versions.earlier }), {}],
    [
      'an internal error',
      reply(500, corrupted({ code: 'internal_error', type: 'api_error' })),
      { refusals: new Map([[500, []]]) },
    ],
  ])('find %s', (_, answer, of) => {
    expect(verified(reply(200, { id: 'a' }))).toEqual([])
    expect(verified(inCsv('id,at\r\n"a,\nb",1\r\n'))).toEqual([])
    expect(verified(reply(400, corrupted({})))).toEqual([])
    expect(verified(answer as RawReply, of)).not.toEqual([])
  })

  it('accept each documented answer of success', () => {
    const either = { success: { ...csv, status: 201 }, otherSuccesses: [csv] }
    expect([200, 201].map(status => verified(reply(status, { id: 'a' }), either))).toEqual([[], []])
    expect(verified(reply(202, { id: 'a' }), either)).toHaveLength(1)
  })

  it.each([
    ['another status', 409, {}],
    ['an unknown code', 400, { code: 'bad_thing' }],
    ['another id', 400, { request_id: 'req_2' }],
    ['another type', 400, { type: 'api_error' }],
    ['no message', 400, { message: '' }],
    ['an internal detail', 400, { message: 'Cannot read properties of undefined.' }],
    ['a foreign member', 400, { stack: 'at' }],
    ['a 401 without WWW-Authenticate', 401, { code: 'bad_credentials' }],
  ])('find %s in an error', (_, status, change) => {
    expect(errorFaults(reply(400, corrupted({})))).toEqual([])
    expect(errorFaults(reply(status, corrupted(change)))).toHaveLength(1)
  })
})
