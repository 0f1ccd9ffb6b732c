import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Random } from '../ledger/random.ts'
import { flatSchedule } from '../registry/object-fixture.ts'
import type { Client, Reply } from '../system/client.ts'

/** A request that makes an event: its label, and whether it was certainly taken. What nobody answered was done once or not at all. */
export type ClientOperation = { readonly label: string; readonly isCertain: boolean }

/** What was asked of one object, in order. */
export type ObjectHistory = { readonly id: string; readonly operations: readonly ClientOperation[] }

/** An event as its object tells it. */
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

/** Name what an event tells of: a refusal by its request, an update by what the object then shows, all else by the object. */
export const labelOf = ({ type, data }: Pick<ReceivedEvent, 'type' | 'data'>): string => {
  if (type.endsWith('.failed')) return `${type} ${data.request_id}`
  if (type === 'price.update') return `${type} ${data.location_id}`
  if (!type.endsWith('.update')) return `${type} ${data.id}`
  return `${type} ${data.id} ${data.metadata?.n ?? 'as made'}, ${data.tariff_elements?.length ?? 0} tariffs`
}

const paths = { customer: '/customers', location: '/locations', device: '/devices' } as const
type Kind = keyof typeof paths

export type ObjectHistoriesOptions = {
  /** What runs now; null while nothing does. */
  readonly target: () => Client | null
  readonly random: Random
  /** How many certain changes may have been made by now. */
  readonly allowed: () => number
  /** How many are made in all. */
  readonly wanted: number
}

/** The client's own books of what it has changed. */
export type ObjectHistories = {
  readonly histories: readonly ObjectHistory[]
  /** Certain changes so far. */
  readonly changes: () => number
  /** Make changes, several at a time, until there are as many as wanted. */
  readonly run: (workers: number) => Promise<void>
}

type Dependencies = ObjectHistoriesOptions & {
  readonly note: (operations: ClientOperation[], operation: ClientOperation) => void
}

type SentRequest = { readonly reply: Reply | null; readonly request: string }

/** Send a request under an id of its own; no reply where nobody knows whether it was taken. Throws for what no fault explains. */
const ask = async (
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
    throw new Error(`${method} ${path} gave ${reply.status}: ${reply.text}`)
  }
  return { reply: reply?.status === 503 || reply?.status === 409 ? null : reply, request }
}

/** Create something under a key until it is known what came of it. */
const create = async (
  dependencies: Dependencies,
  path: string,
  body: object,
  key: string,
): Promise<{ readonly id: string }> => {
  for (;;) {
    const { reply } = await ask(dependencies, 'POST', path, body, key)
    if (reply === null) continue
    if (reply.status >= 300) throw new Error(`${path} gave ${reply.status}: ${reply.text}`)
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
    const { reply } = await ask(dependencies, 'PATCH', `${paths[kind]}/${id}`, { metadata: { n } })
    dependencies.note(operations, {
      label: `${kind}.update ${id} ${n}, ${tariffs} tariffs`,
      isCertain: reply?.status === 200,
    })
    if (reply !== null) return
  }
}

/** An answer of 404 says that an earlier request did it, and is a refusal with an event of its own. */
const remove = async (
  dependencies: Dependencies,
  kind: Kind,
  id: string,
  operations: ClientOperation[],
): Promise<void> => {
  for (;;) {
    const { reply, request } = await ask(dependencies, 'DELETE', `${paths[kind]}/${id}`)
    dependencies.note(operations, { label: `${kind}.delete ${id}`, isCertain: reply !== null })
    if (reply?.status !== 202)
      dependencies.note(operations, { label: `${kind}.delete.failed ${request}`, isCertain: reply !== null })
    if (reply !== null) return
  }
}

/** Ask for a second object of the same reference, which is refused. */
const createDuplicate = async (
  dependencies: Dependencies,
  kind: Kind,
  body: object,
  operations: ClientOperation[],
): Promise<void> => {
  const { reply, request } = await ask(dependencies, 'POST', paths[kind], body)
  dependencies.note(operations, { label: `${kind}.create.failed ${request}`, isCertain: reply !== null })
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
  dependencies.note(operations, { label: `price.update ${id}`, isCertain: true })
  dependencies.note(operations, { label: `location.update ${id} as made, 1 tariffs`, isCertain: true })
}

/** Make an object, change it some times, and perhaps delete it. */
const createHistory = async (dependencies: Dependencies, name: string): Promise<ObjectHistory> => {
  const { random } = dependencies
  const kind = random.pick(['customer', 'location', 'device'])
  const body =
    kind === 'location' ? { reference_id: name, timezone: 'UTC', currency_code: 'EUR' } : { reference_id: name }
  const operations: ClientOperation[] = []
  const { id } = await create(dependencies, paths[kind], body, name)
  dependencies.note(operations, { label: `${kind}.create ${id}`, isCertain: true })
  const hasTariff = kind === 'location' && random.chance(0.5)
  if (hasTariff) await connectTariff(dependencies, id, name, operations)
  if (random.chance(0.2)) await createDuplicate(dependencies, kind, body, operations)
  const updates = random.whole(4)
  for (let step = 0; step < updates; step += 1)
    await update(dependencies, kind, id, step, hasTariff ? 1 : 0, operations)
  if (random.chance(0.5)) await remove(dependencies, kind, id, operations)
  return { id, operations }
}

/** Open empty books. */
export const openObjectHistories = (options: ObjectHistoriesOptions): ObjectHistories => {
  const histories: ObjectHistory[] = []
  let changes = 0
  const note: Dependencies['note'] = (operations, operation) => {
    operations.push(operation)
    if (operation.isCertain) changes += 1
  }
  const work = async (worker: number): Promise<void> => {
    for (let n = 0; changes < options.wanted; n += 1) {
      if (changes < options.allowed()) histories.push(await createHistory({ ...options, note }, `${worker}-${n}`))
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
