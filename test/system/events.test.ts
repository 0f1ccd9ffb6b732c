import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, describe, expect, it } from 'vitest'
import { presentInstant } from '../../services/platform/clock.ts'
import { openCodec } from '../../services/platform/log/codec.ts'
import { eventTopic } from '../../services/platform/log/event-message.ts'
import { openLmdbLog } from '../../services/platform/log/lmdb-log.ts'
import type { EventEnvelope } from '../../services/platform/log/messages.ts'
import { localSchemaIds } from '../../services/platform/log/schema-ids.ts'
import { takeOutbox } from '../../services/platform/postgres/outbox.ts'
import { openRecords } from '../support/accounts.ts'
import { type Client, login, type Reply } from '../support/client.ts'
import { seeded } from '../support/ledger/random.ts'
import { dataFolder, type RunningSystem, removeData, startSystem } from '../support/running-system.ts'
import { until } from '../support/settled.ts'
import { flatSchedule, makePlace } from '../support/small-world.ts'

/** More rounds, or other moments: EVENT_ROUNDS=20 EVENT_SEED=7. */
const rounds = Number(process.env['EVENT_ROUNDS'] ?? 4)
const seed = Number(process.env['EVENT_SEED'] ?? 1)

let folder = ''
let system: RunningSystem | null = null
let client: Client | null = null

const start = async (): Promise<Client> => {
  system = await startSystem(folder)
  client = await login(system.sandbox)
  return client
}

afterEach(async () => {
  client = null
  await system?.[Symbol.asyncDispose]()
  system = null
  removeData(folder)
})

/** Send until the answer is known, to whatever system runs; null where nobody knows whether it was taken. */
const attempt = async (send: (client: Client) => Promise<Reply>): Promise<Reply | null> => {
  const current = client
  if (current === null) {
    await sleep(20)
    return null
  }
  try {
    const reply = await send(current)
    return reply.status === 503 || reply.status === 409 ? null : reply
  } catch {
    return null
  }
}

const certain = async (send: (client: Client) => Promise<Reply>): Promise<Reply> => {
  for (;;) {
    const reply = await attempt(send)
    if (reply !== null) return reply
  }
}

const paths = { customer: '/customers', location: '/locations', device: '/devices' } as const
type Kind = keyof typeof paths

/** What was certainly done to one object, in order, as its events must tell it. */
type Life = { readonly id: string; readonly events: string[] }

const bodyOf = (kind: Kind, reference_id: string) =>
  kind === 'location' ? { reference_id, timezone: 'UTC', currency_code: 'EUR' } : { reference_id }

/** Make an object, change it and delete it; what was asked without an answer is looked up, so that each change is done once. */
const live = async (kind: Kind, name: string, updates: number, deletes: boolean): Promise<Life> => {
  const path = paths[kind]
  const key = { 'Idempotency-Key': name }
  const made = await certain(one => one.send('POST', path, bodyOf(kind, name), key))
  const { id } = made.json as { readonly id: string }
  const events = [`${kind}.create`]
  const read = () => certain(one => one.send('GET', `${path}/${id}`))
  for (let n = 0; n < updates; n += 1) {
    const metadata = { n: String(n) }
    const isDone = async () => JSON.stringify((await read()).json).includes(JSON.stringify(metadata))
    while ((await attempt(one => one.send('PATCH', `${path}/${id}`, { metadata }))) === null && !(await isDone()));
    events.push(`${kind}.update ${n}`)
  }
  if (deletes) {
    const isGone = async () => (await read()).status === 404
    while ((await attempt(one => one.send('DELETE', `${path}/${id}`))) === null && !(await isGone()));
    events.push(`${kind}.delete`)
  }
  return { id, events }
}

type Event = {
  readonly id: string
  readonly type: string
  readonly data: { readonly id?: string; readonly metadata?: { readonly n?: string } }
}

const allEvents = async (): Promise<readonly Event[]> => {
  const all: Event[] = []
  for (let after = ''; ; after = `&starting_after=${all.at(-1)?.id}`) {
    const page = (await certain(one => one.send('GET', `/events?limit=100${after}`))).json as { has_more: boolean; data: Event[] }
    all.push(...page.data)
    if (!page.has_more) return all.toReversed()
  }
}

const told = ({ type, data }: Event): string => (type.endsWith('.update') ? `${type} ${data.metadata?.n}` : type)

/** Read every event that the log holds, partition by partition; the system must have ended. */
const published = async (): Promise<readonly EventEnvelope[]> => {
  const codec = await openCodec(localSchemaIds())
  const log = await openLmdbLog({ folder: join(folder, 'log'), now: presentInstant })
  const all: EventEnvelope[] = []
  try {
    for (let partition = 0; partition < log.partitions(eventTopic); partition += 1) {
      const { messages } = await log.peek(eventTopic, partition, 0, { maxMessages: 100_000, maxBytes: 2 ** 30 })
      for (const { value } of messages) all.push(await codec.decodeEvent(value))
    }
  } finally {
    await log.close()
  }
  return all
}

/** All that changes owe the log is there once nothing waits; a relay that was killed is followed within ten seconds. */
const relayed = async (): Promise<void> => {
  await using records = await openRecords(folder)
  await until(
    () => takeOutbox(records.operator, eventTopic, 1),
    waiting => waiting.length === 0,
    20_000,
  )
}

const killAtMoments = async (): Promise<void> => {
  const random = seeded(seed)
  for (let round = 0; round < rounds; round += 1) {
    await sleep(200 + random.whole(1_000))
    const postmaster = Number(readFileSync(join(folder, 'postgres', 'postmaster.pid'), 'utf8').split('\n')[0])
    client = null
    await system?.kill()
    if (random.chance(0.3)) process.kill(postmaster, 'SIGKILL')
    await start()
  }
}

describe('events', () => {
  it(`are the changes, each once and in its object's order, and all reach the log, through ${rounds} kills at moments of seed ${seed}`, {
    timeout: 60_000 + rounds * 20_000,
  }, async () => {
    folder = dataFolder()
    await start()
    const lives: Life[] = []
    let enough = false
    const random = seeded(seed + 1)
    const worker = async (name: number): Promise<void> => {
      for (let n = 0; !enough || lives.length < rounds * 5; n += 1) {
        lives.push(await live(random.pick(['customer', 'location', 'device']), `${name}-${n}`, random.whole(4), random.chance(0.5)))
      }
    }
    const workers = [0, 1, 2, 3].map(worker)
    await killAtMoments()
    enough = true
    await Promise.all(workers)

    const events = await allEvents()
    const byObject = Map.groupBy(events, ({ data }) => data.id ?? '')
    for (const { id, events: expected } of lives) expect((byObject.get(id) ?? []).map(told), id).toEqual(expected)
    expect(byObject.size).toBe(lives.length)
    expect(lives.length).toBeGreaterThanOrEqual(rounds * 5)

    await relayed()
    expect(await system?.stop()).toBe(0)
    const messages = await published()
    const texts = Map.groupBy(messages, ({ eventId }) => eventId)
    expect(new Set(texts.keys())).toEqual(new Set(events.map(({ id }) => id)))
    for (const copies of texts.values()) expect(new Set(copies.map(copy => JSON.stringify(copy))).size).toBe(1)
    const firsts = [...texts.values()].map(([first]) => first)
    for (const [id, own] of Map.groupBy(firsts, one => one?.objectId)) {
      expect(own.map(one => one?.eventId)).toEqual((byObject.get(id ?? '') ?? []).map(one => one.id))
    }
  })

  it('of a refusal tell which request was refused and why, once for each', async () => {
    folder = dataFolder()
    const current = await start()
    const asked: { readonly type: string; readonly request: string; readonly code: string }[] = []
    const refuse = async (type: string, method: string, path: string, body?: object) => {
      const reply = await current.send(method, path, body)
      expect(reply.status).toBeGreaterThanOrEqual(400)
      const { request_id: request, code } = reply.json as { readonly request_id: string; readonly code: string }
      asked.push({ type, request, code })
    }
    for (const [kind, path] of Object.entries(paths) as readonly [Kind, string][]) {
      await current.ask('POST', path, bodyOf(kind, 'taken'))
      await refuse(`${kind}.create.failed`, 'POST', path, bodyOf(kind, 'taken'))
      await refuse(`${kind}.create.failed`, 'POST', path, { ...bodyOf(kind, 'free'), no_such_field: 1 })
      await refuse(`${kind}.update.failed`, 'PATCH', `${path}/none`, {})
      await refuse(`${kind}.delete.failed`, 'DELETE', `${path}/none`)
    }
    const events = await allEvents()
    const seen = events.map(({ type, data }) => ({ type, data: data as { request_id?: string; error?: { code: string } } }))
    const failed = seen.filter(({ type }) => type.endsWith('.failed'))
    expect(failed.map(({ type, data }) => ({ type, request: data.request_id, code: data.error?.code }))).toEqual(asked)
    expect(seen).toHaveLength(asked.length + 3)
  })

  it('tell of a location whose tariff changes, and of nothing where nothing changed', async () => {
    folder = dataFolder()
    const current = await start()
    const location = await makePlace(current)
    const body = { location_id: location, direction: 'IMPORT', type: 'COMMODITY', schedule: flatSchedule }
    const { id } = (await current.ask('POST', '/tariffs', body)) as { readonly id: string }
    await current.ask('PATCH', `/tariffs/${id}`, { display_name: 'Night' })
    await current.ask('GET', `/tariffs/${id}`)
    await current.ask('DELETE', `/tariffs/${id}`)
    const events = await allEvents()
    expect(events.map(({ type, data }) => [type, data.id])).toEqual([
      ['location.create', location],
      ...[1, 2, 3].map(() => ['location.update', location]),
    ])
  })
})
