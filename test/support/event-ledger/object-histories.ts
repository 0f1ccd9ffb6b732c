import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Random } from '../random.ts'
import { flatSchedule } from '../registry/object-fixture.ts'
import type { Client, Reply } from '../system/client.ts'

/**
 * A request that creates an event. `isCertain`: the service answered it.
 * A request without an answer was executed once or not at all.
 */
export type ClientOperation = { readonly label: string; readonly isCertain: boolean }

/** Requests that changed one object, in order. */
export type ObjectHistory = { readonly id: string; readonly operations: readonly ClientOperation[] }

/** An event that the subscriber received. */
export type ReceivedEvent = {
  readonly id: string
  readonly type: string
  readonly data: {
    readonly id?: string | null
    readonly location_id?: string | null
    readonly request_id?: string
    readonly metadata?: { readonly n?: string } | null
    readonly tariff_elements?: readonly string[]
  }
}

/**
 * Return the label of an event: a refusal by request, an update by the new values of the object, other events by
 * object.
 */
export const labelOf = ({ type, data }: Pick<ReceivedEvent, 'type' | 'data'>): string => {
  if (type.endsWith('.failed')) return `${type} ${data.request_id}`
  if (type === 'price.update') return `${type} ${data.location_id}`
  if (!type.endsWith('.update')) return `${type} ${data.id}`
  return `${type} ${data.id} ${data.metadata?.n ?? 'as created'}, ${data.tariff_elements?.length ?? 0} tariffs`
}

const paths = { customer: '/customers', location: '/locations', device: '/devices' } as const
type Kind = keyof typeof paths

export type ObjectHistoriesOptions = {
  /** Client of the running system; null while the system does not run. */
  readonly target: () => Client | null
  readonly random: Random
  /** Maximum number of certain changes at this time. */
  readonly allowed: () => number
  /** Number of certain changes to make in total. */
  readonly wanted: number
}

/** Record of the changes that the client made. */
export type ObjectHistories = {
  readonly histories: readonly ObjectHistory[]
  /** Number of certain changes so far. */
  readonly changes: () => number
  /** Make changes with several workers until `wanted` is reached. */
  readonly run: (workers: number) => Promise<void>
}

type Dependencies = ObjectHistoriesOptions & {
  readonly addOperation: (operations: ClientOperation[], operation: ClientOperation) => void
}

type SentRequest = { readonly reply: Reply | null; readonly request: string }

/**
 * Send a request with a new request id. The reply is null if the result is unknown.
 * Throws if an injected fault cannot explain the answer.
 */
const sendRequest = async (
  { target }: Dependencies,
  method: string,
  path: string,
  body?: object,
  key?: string,
): Promise<SentRequest> => {
  const request = randomUUID()
  const headers = { 'X-Request-Id': request, ...(key === undefined ? {} : { 'Idempotency-Key': key }) }
  const current = target()
  if (current === null) {
    await sleep(20)
    return { reply: null, request }
  }
  const reply = await current.send(method, path, body, headers).catch(() => null)
  if (reply !== null && reply.status >= 400 && ![400, 404, 409, 503].includes(reply.status)) {
    throw new Error(`${method} ${path} answered ${reply.status}: ${reply.text}`)
  }
  return { reply: reply?.status === 503 || reply?.status === 409 ? null : reply, request }
}

/** Create an object with an idempotency key. Repeat the request until the result is known. */
const create = async (
  dependencies: Dependencies,
  path: string,
  body: object,
  key: string,
): Promise<{ readonly id: string }> => {
  for (;;) {
    const { reply } = await sendRequest(dependencies, 'POST', path, body, key)
    if (reply === null) continue
    if (reply.status >= 300) throw new Error(`${path} answered ${reply.status}: ${reply.text}`)
    return reply.json
  }
}

const update = async (
  dependencies: Dependencies,
  kind: Kind,
  id: string,
  step: number,
  tariffs: number,
  operations: ClientOperation[],
): Promise<void> => {
  for (let tries = 0; ; tries += 1) {
    const n = `${step}.${tries}`
    const { reply } = await sendRequest(dependencies, 'PATCH', `${paths[kind]}/${id}`, { metadata: { n } })
    dependencies.addOperation(operations, {
      label: `${kind}.update ${id} ${n}, ${tariffs} tariffs`,
      isCertain: reply?.status === 200,
    })
    if (reply !== null) return
  }
}

/**
 * Delete an object. The answer 404 means that an earlier request deleted the object. This refusal has its own event.
 */
const remove = async (
  dependencies: Dependencies,
  kind: Kind,
  id: string,
  operations: ClientOperation[],
): Promise<void> => {
  for (;;) {
    const { reply, request } = await sendRequest(dependencies, 'DELETE', `${paths[kind]}/${id}`)
    dependencies.addOperation(operations, { label: `${kind}.delete ${id}`, isCertain: reply !== null })
    if (reply?.status !== 202)
      dependencies.addOperation(operations, { label: `${kind}.delete.failed ${request}`, isCertain: reply !== null })
    if (reply !== null) return
  }
}

/** Request a second object with the same reference. The service refuses it. */
const createDuplicate = async (
  dependencies: Dependencies,
  kind: Kind,
  body: object,
  operations: ClientOperation[],
): Promise<void> => {
  const { reply, request } = await sendRequest(dependencies, 'POST', paths[kind], body)
  dependencies.addOperation(operations, { label: `${kind}.create.failed ${request}`, isCertain: reply !== null })
}

const connectTariff = async (
  dependencies: Dependencies,
  id: string,
  name: string,
  operations: ClientOperation[],
): Promise<void> => {
  await create(
    dependencies,
    '/tariffs',
    { location_id: id, direction: 'IMPORT', type: 'COMMODITY', schedule: flatSchedule },
    `${name} tariff`,
  )
  dependencies.addOperation(operations, { label: `price.update ${id}`, isCertain: true })
  dependencies.addOperation(operations, { label: `location.update ${id} as created, 1 tariffs`, isCertain: true })
}

/** Create an object, change it several times, and delete it in half of the cases. */
const createHistory = async (dependencies: Dependencies, name: string): Promise<ObjectHistory> => {
  const { random } = dependencies
  const kind = random.pick(['customer', 'location', 'device'])
  const body =
    kind === 'location' ? { reference_id: name, timezone: 'UTC', currency_code: 'EUR' } : { reference_id: name }
  const operations: ClientOperation[] = []
  const { id } = await create(dependencies, paths[kind], body, name)
  dependencies.addOperation(operations, { label: `${kind}.create ${id}`, isCertain: true })
  const hasTariff = kind === 'location' && random.chance(0.5)
  if (hasTariff) await connectTariff(dependencies, id, name, operations)
  if (random.chance(0.2)) await createDuplicate(dependencies, kind, body, operations)
  const updates = random.below(4)
  for (let step = 0; step < updates; step += 1)
    await update(dependencies, kind, id, step, hasTariff ? 1 : 0, operations)
  if (random.chance(0.5)) await remove(dependencies, kind, id, operations)
  return { id, operations }
}

/** Create empty histories. */
export const openObjectHistories = (options: ObjectHistoriesOptions): ObjectHistories => {
  const histories: ObjectHistory[] = []
  let changes = 0
  const addOperation: Dependencies['addOperation'] = (operations, operation) => {
    operations.push(operation)
    if (operation.isCertain) changes += 1
  }
  const work = async (worker: number): Promise<void> => {
    for (let n = 0; changes < options.wanted; n += 1) {
      if (changes < options.allowed())
        histories.push(await createHistory({ ...options, addOperation }, `${worker}-${n}`))
      else await sleep(10)
    }
  }
  return {
    histories,
    changes: () => changes,
    run: async workers => {
      await Promise.all(Array.from({ length: workers }, (_, worker) => work(worker)))
    },
  }
}
