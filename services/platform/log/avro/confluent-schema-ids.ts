import { setTimeout as sleep } from 'node:timers/promises'
import { Failure } from '../../failure.ts'
import type { SchemaIds } from './schema-ids.ts'

/** Address and credentials of a Confluent-compatible registry. */
export type RegistryAddress = { readonly url: string; readonly user: string | null; readonly password: string | null }

export type ConfluentOptions = {
  readonly address: RegistryAddress
  readonly fetch: typeof fetch
  readonly requestTimeoutMs?: number
}

type Answer = { readonly status: number; readonly body: unknown }

const requestTimeoutMs = 5_000
/** A new schema must be able to read all earlier messages. */
const compatibility = 'BACKWARD_TRANSITIVE'
const unknownSchema = 40_403
const maxAttempts = 4
const conflictPauseMs = 100

/**
 * Create schema numbers from a registry. A number never changes, so each is requested once. An unknown number is
 * requested again each time, because another process may register it. Throws `registry_away` (retriable) if the
 * registry does not answer and `schema_refused` if it refuses a schema.
 */
export const confluentSchemaIds = (options: ConfluentOptions): SchemaIds => {
  const ids = new Map<string, Promise<number>>()
  const schemas = new Map<number, Promise<string | null>>()
  const call = registryClient(options)

  const registerSchema = async (subject: string, schema: string): Promise<number> => {
    const name = encodeURIComponent(subject)
    refuseUnless(await repeatConflicts(() => call('PUT', `/config/${name}`, { compatibility })), subject)
    const body = { schema, schemaType: 'AVRO' }
    const answer = await repeatConflicts(() => call('POST', `/subjects/${name}/versions`, body))
    const id = memberOf(refuseUnless(answer, subject).body, 'id')
    if (typeof id !== 'number')
      throw new Failure('registry_away', 'The schema registry returned no schema number.', { retriable: true })
    schemas.set(id, Promise.resolve(schema))
    return id
  }

  const fetchSchema = async (id: number): Promise<string | null> => {
    const { status, body } = await call('GET', `/schemas/ids/${id}`)
    if (status === 404 && memberOf(body, 'error_code') === unknownSchema) return null
    const schema = memberOf(refuseUnless({ status, body }, `number ${id}`).body, 'schema')
    return typeof schema === 'string' ? schema : null
  }

  return {
    register: (subject, schema) => memoize(ids, `${subject} ${schema}`, () => registerSchema(subject, schema)),
    schemaOf: id =>
      memoize(
        schemas,
        id,
        () => fetchSchema(id),
        schema => schema !== null,
      ),
  }
}

type RegistryCall = (method: string, path: string, body?: unknown) => Promise<Answer>

/** Create a client of the registry. A call throws `registry_away` if the registry does not answer in time. */
const registryClient = ({
  address,
  fetch,
  requestTimeoutMs: limitMs = requestTimeoutMs,
}: ConfluentOptions): RegistryCall => {
  const headers: Record<string, string> = { 'content-type': 'application/vnd.schemaregistry.v1+json' }
  if (address.user !== null) {
    headers['authorization'] = `Basic ${Buffer.from(`${address.user}:${address.password ?? ''}`).toString('base64')}`
  }
  return async (method, path, body) => {
    const init = { method, headers, redirect: 'error', signal: AbortSignal.timeout(limitMs) } as const
    try {
      const answer = await fetch(
        `${address.url}${path}`,
        body === undefined ? init : { ...init, body: JSON.stringify(body) },
      )
      const text = await answer.text()
      const { status } = answer
      if (status >= 500 || status === 429 || status === 408) throw new Error(`The registry answered ${status}.`)
      return { status, body: JSON.parse(text) as unknown }
    } catch (cause) {
      const message = `The schema registry did not answer ${method} ${path}. Check its address and state.`
      throw new Failure('registry_away', message, { retriable: true, cause })
    }
  }
}

/** Repeat a call that is answered with 409: two processes registered the same schema at the same time. */
const repeatConflicts = async (call: () => Promise<Answer>): Promise<Answer> => {
  for (let attempt = 1; ; attempt += 1) {
    const answer = await call()
    if (answer.status !== 409 || attempt === maxAttempts) return answer
    await sleep(conflictPauseMs * attempt)
  }
}

/**
 * Return the cached value or load it; concurrent calls share one load. Failures are not cached, nor are values for
 * which `isCacheable` is false.
 */
const memoize = <Key, Value>(
  known: Map<Key, Promise<Value>>,
  key: Key,
  load: () => Promise<Value>,
  isCacheable: (value: Value) => boolean = () => true,
): Promise<Value> => {
  const before = known.get(key)
  if (before !== undefined) return before
  const answer = load()
  known.set(key, answer)
  answer.then(
    value => void (isCacheable(value) || known.delete(key)),
    () => known.delete(key),
  )
  return answer
}

const memberOf = (body: unknown, name: string): unknown =>
  typeof body === 'object' && body !== null && name in body ? Reflect.get(body, name) : undefined

const refuseUnless = (answer: Answer, what: string): Answer => {
  if (answer.status >= 200 && answer.status < 300) return answer
  const reason = memberOf(answer.body, 'message')
  throw new Failure(
    'schema_refused',
    `The schema registry refused ${what} with status ${answer.status}: ${String(reason ?? 'no reason')}.`,
  )
}
