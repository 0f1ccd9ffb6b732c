import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Client, Reply } from '../client.ts'
import type { Random } from '../ledger/random.ts'
import { flatSchedule } from '../small-world.ts'

/** A request that makes an event: its label, and whether it was certainly taken. What nobody answered was done once or not at all. */
export type Deed = { readonly label: string; readonly isCertain: boolean }

/** What was asked of one object, in order. */
export type Life = { readonly id: string; readonly deeds: readonly Deed[] }

/** An event as its object tells it. */
export type Told = {
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
export const labelOf = ({ type, data }: Pick<Told, 'type' | 'data'>): string => {
  if (type.endsWith('.failed')) return `${type} ${data.request_id}`
  if (type === 'price.update') return `${type} ${data.location_id}`
  if (!type.endsWith('.update')) return `${type} ${data.id}`
  return `${type} ${data.id} ${data.metadata?.n ?? 'as made'}, ${data.tariff_elements?.length ?? 0} tariffs`
}

const paths = { customer: '/customers', location: '/locations', device: '/devices' } as const
type Kind = keyof typeof paths

export type LivesOptions = {
  /** What runs now; null while nothing does. */
  readonly target: () => Client | null
  readonly random: Random
  /** How many certain changes may have been made by now. */
  readonly allowed: () => number
  /** How many are made in all. */
  readonly wanted: number
}

/** The client's own books of what it has changed. */
export type Lives = {
  readonly lives: readonly Life[]
  /** Certain changes so far. */
  readonly changes: () => number
  /** Make changes, several at a time, until there are as many as wanted. */
  readonly run: (workers: number) => Promise<void>
}

type Means = LivesOptions & { readonly note: (deeds: Deed[], deed: Deed) => void }

type Asked = { readonly reply: Reply | null; readonly request: string }

/** Send a request under an id of its own; no reply where nobody knows whether it was taken. Throws for what no fault explains. */
const ask = async ({ target }: Means, method: string, path: string, body?: object, key?: string): Promise<Asked> => {
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
const create = async (means: Means, path: string, body: object, key: string): Promise<{ readonly id: string }> => {
  for (;;) {
    const { reply } = await ask(means, 'POST', path, body, key)
    if (reply === null) continue
    if (reply.status >= 300) throw new Error(`${path} gave ${reply.status}: ${reply.text}`)
    return reply.json
  }
}

const update = async (means: Means, kind: Kind, id: string, step: number, tariffs: number, deeds: Deed[]): Promise<void> => {
  for (let tries = 0; ; tries += 1) {
    const n = `${step}.${tries}`
    const { reply } = await ask(means, 'PATCH', `${paths[kind]}/${id}`, { metadata: { n } })
    means.note(deeds, { label: `${kind}.update ${id} ${n}, ${tariffs} tariffs`, isCertain: reply?.status === 200 })
    if (reply !== null) return
  }
}

/** An answer of 404 says that an earlier request did it, and is a refusal with an event of its own. */
const remove = async (means: Means, kind: Kind, id: string, deeds: Deed[]): Promise<void> => {
  for (;;) {
    const { reply, request } = await ask(means, 'DELETE', `${paths[kind]}/${id}`)
    means.note(deeds, { label: `${kind}.delete ${id}`, isCertain: reply !== null })
    if (reply?.status !== 202) means.note(deeds, { label: `${kind}.delete.failed ${request}`, isCertain: reply !== null })
    if (reply !== null) return
  }
}

/** Ask for a second object of the same reference, which is refused. */
const askTwice = async (means: Means, kind: Kind, body: object, deeds: Deed[]): Promise<void> => {
  const { reply, request } = await ask(means, 'POST', paths[kind], body)
  means.note(deeds, { label: `${kind}.create.failed ${request}`, isCertain: reply !== null })
}

const connectTariff = async (means: Means, id: string, name: string, deeds: Deed[]): Promise<void> => {
  await create(means, '/tariffs', { location_id: id, direction: 'IMPORT', type: 'COMMODITY', schedule: flatSchedule }, `${name} tariff`)
  means.note(deeds, { label: `price.update ${id}`, isCertain: true })
  means.note(deeds, { label: `location.update ${id} as made, 1 tariffs`, isCertain: true })
}

/** Make an object, change it some times, and perhaps delete it. */
const live = async (means: Means, name: string): Promise<Life> => {
  const { random } = means
  const kind = random.pick(['customer', 'location', 'device'])
  const body = kind === 'location' ? { reference_id: name, timezone: 'UTC', currency_code: 'EUR' } : { reference_id: name }
  const deeds: Deed[] = []
  const { id } = await create(means, paths[kind], body, name)
  means.note(deeds, { label: `${kind}.create ${id}`, isCertain: true })
  const hasTariff = kind === 'location' && random.chance(0.5)
  if (hasTariff) await connectTariff(means, id, name, deeds)
  if (random.chance(0.2)) await askTwice(means, kind, body, deeds)
  const updates = random.whole(4)
  for (let step = 0; step < updates; step += 1) await update(means, kind, id, step, hasTariff ? 1 : 0, deeds)
  if (random.chance(0.5)) await remove(means, kind, id, deeds)
  return { id, deeds }
}

/** Open empty books. */
export const openLives = (options: LivesOptions): Lives => {
  const lives: Life[] = []
  let changes = 0
  const note: Means['note'] = (deeds, deed) => {
    deeds.push(deed)
    if (deed.isCertain) changes += 1
  }
  const work = async (worker: number): Promise<void> => {
    for (let n = 0; changes < options.wanted; n += 1) {
      if (changes < options.allowed()) lives.push(await live({ ...options, note }, `${worker}-${n}`))
      else await sleep(10)
    }
  }
  return {
    lives,
    changes: () => changes,
    run: async workers => {
      await Promise.all(Array.from({ length: workers }, (_, worker) => work(worker)))
    },
  }
}
