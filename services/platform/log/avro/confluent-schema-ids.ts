import { setTimeout as sleep } from 'node:timers/promises'
import { Failure } from '../../failure.ts'
import type { SchemaIds } from './schema-ids.ts'

/** Where a Confluent-compatible registry answers, and how to be let in. */
export type RegistryAddress = { readonly url: string; readonly user: string | null; readonly password: string | null }

export type ConfluentOptions = {
  readonly address: RegistryAddress
  readonly fetch: typeof fetch
  readonly requestTimeoutMs?: number
}

type Answer = { readonly status: number; readonly body: unknown }

const requestTimeoutMs = 5_000
/** A new schema must read all that was ever written. */
const compatibility = 'BACKWARD_TRANSITIVE'
const unknownSchema = 40_403
const maxAttempts = 4
const conflictPauseMs = 100

/**
 * Schema numbers of a registry. Numbers never change, so each is asked for once; that nobody knows a number is asked again, as another
 * process may register it. Throws `registry_away` (retriable) where it does not answer, `schema_refused` for what it does not take.
 */
export const confluentSchemaIds = ({
  address,
  fetch,
  requestTimeoutMs: limitMs = requestTimeoutMs,
}: ConfluentOptions): SchemaIds => {
  const ids = new Map<string, Promise<number>>()
  const schemas = new Map<number, Promise<string | null>>()
  const headers: Record<string, string> = { 'content-type': 'application/vnd.schemaregistry.v1+json' }
  if (address.user !== null) {
    headers['authorization'] = `Basic ${Buffer.from(`${address.user}:${address.password ?? ''}`).toString('base64')}`
  }

  const call = async (method: string, path: string, body?: unknown): Promise<Answer> => {
    const init = { method, headers, redirect: 'error', signal: AbortSignal.timeout(limitMs) } as const
    try {
      const answer = await fetch(
        `${address.url}${path}`,
        body === undefined ? init : { ...init, body: JSON.stringify(body) },
      )
      const text = await answer.text()
      const { status } = answer
      if (status >= 500 || status === 429 || status === 408) throw new Error(`the registry answered ${status}`)
      return { status, body: JSON.parse(text) as unknown }
    } catch (cause) {
      throw new Failure('registry_away', `the schema registry did not answer ${method} ${path}`, {
        retriable: true,
        cause,
      })
    }
  }

  /** A registry may answer 409 to one of two processes that register the same schema at once: asked again, it takes it. */
  const put = async (...args: Parameters<typeof call>): Promise<Answer> => {
    for (let attempt = 1; ; attempt += 1) {
      const answer = await call(...args)
      if (answer.status !== 409 || attempt === maxAttempts) return answer
      await sleep(conflictPauseMs * attempt)
    }
  }

  const registerSchema = async (subject: string, schema: string): Promise<number> => {
    const name = encodeURIComponent(subject)
    refuseUnless(await put('PUT', `/config/${name}`, { compatibility }), subject)
    const answer = refuseUnless(
      await put('POST', `/subjects/${name}/versions`, { schema, schemaType: 'AVRO' }),
      subject,
    )
    const id = memberOf(answer.body, 'id')
    if (typeof id !== 'number')
      throw new Failure('registry_away', 'the schema registry gave no number', { retriable: true })
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

/** Keep the answer to a question, and share it while it is under way; failures, and what is not worth keeping, are asked again. */
const memoize = <Key, Value>(
  known: Map<Key, Promise<Value>>,
  key: Key,
  load: () => Promise<Value>,
  isWorthKeeping: (value: Value) => boolean = () => true,
): Promise<Value> => {
  const before = known.get(key)
  if (before !== undefined) return before
  const answer = load()
  known.set(key, answer)
  answer.then(
    value => void (isWorthKeeping(value) || known.delete(key)),
    () => known.delete(key),
  )
  return answer
}

const memberOf = (body: unknown, name: string): unknown =>
  typeof body === 'object' && body !== null && name in body ? Reflect.get(body, name) : undefined

const refuseUnless = (answer: Answer, what: string): Answer => {
  if (answer.status >= 200 && answer.status < 300) return answer
  const reason = memberOf(answer.body, 'message')
  throw new Failure('schema_refused', `the schema registry refused ${what}: ${answer.status} ${String(reason ?? '')}`, {
    retriable: false,
  })
}
