import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Webhook } from 'standardwebhooks'
import { afterAll, describe, expect, it } from 'vitest'
import { type Client, login } from '../support/client.ts'
import { type Random, seeded } from '../support/ledger/random.ts'
import { dataFolder, type RunningSystem, removeData, startSystem } from '../support/running-system.ts'
import { until } from '../support/settled.ts'
import { openReceiver, type Received } from '../webhook-worker/support/receiver.ts'

/** More rounds, or other moments: WEBHOOK_KILL_ROUNDS=20 WEBHOOK_KILL_SEED=7. */
const rounds = Number(process.env['WEBHOOK_KILL_ROUNDS'] ?? 4)
const seed = Number(process.env['WEBHOOK_KILL_SEED'] ?? 1)
const environment = { WATTLEDGER_WEBHOOK_ALLOW_NETWORKS: '127.0.0.0/8' }

const folder = dataFolder()
let system: RunningSystem | undefined
let client: Client | null = null

const start = async (): Promise<Client> => {
  system = await startSystem(folder, environment)
  client = await login(system.sandbox)
  return client
}

afterAll(async () => {
  await system?.[Symbol.asyncDispose]()
  removeData(folder)
})

/** Create customers as long as the signal lasts, whatever becomes of each. */
const createCustomers = async (enough: AbortSignal): Promise<void> => {
  while (!enough.aborted) {
    await client?.send('POST', '/customers', {}).catch(() => undefined)
    await sleep(5)
  }
}

const killOnce = async (round: number, random: Random): Promise<void> => {
  await sleep(300 + random.whole(1_200))
  if (round % 2 === 1) {
    const [pid = ''] = readFileSync(join(folder, 'postgres', 'postmaster.pid'), 'utf8').split('\n')
    process.kill(Number(pid), 'SIGKILL')
    const create = async () => (await client?.send('POST', '/customers', {}).catch(() => undefined))?.status
    await until(create, status => status === 201, 30_000)
    return
  }
  client = null
  await system?.kill()
  await start()
}

type Listed = { readonly id: string; readonly data: { readonly id: string } }

const listAll = async (path: string): Promise<readonly Listed[]> => {
  const all: Listed[] = []
  for (let after = ''; ; after = `&starting_after=${all.at(-1)?.id}`) {
    const page = (await client?.ask('GET', `${path}limit=100${after}`)) as unknown as { has_more: boolean; data: Listed[] }
    all.push(...page.data)
    if (!page.has_more) return all
  }
}

const idsOf = (received: readonly Received[]): readonly string[] => [
  ...new Set(received.map(({ headers }) => String(headers['webhook-id']))),
]

describe('a kill in mid-flight, of the whole system or of PostgreSQL', () => {
  it('loses no event of a change, invents none, and repeats them under their ids alone', {
    timeout: 60_000 + rounds * 30_000,
  }, async () => {
    const random = seeded(seed)
    const refusedOnce = new Set<string>()
    await using receiver = await openReceiver(({ headers }) => {
      const id = String(headers['webhook-id'])
      const isRefused = id.endsWith('0') && !refusedOnce.has(id)
      refusedOnce.add(id)
      return { status: isRefused ? 503 : 204 }
    })
    const own = await start()
    const subscribe = { url: receiver.url, event_types: ['customer.create'] }
    const { secret } = (await own.ask('POST', '/webhooks', subscribe)) as { readonly secret: string }
    const enough = new AbortController()
    const load = Promise.all([createCustomers(enough.signal), createCustomers(enough.signal), createCustomers(enough.signal)])
    for (let round = 0; round < rounds; round += 1) await killOnce(round, random)
    await sleep(500)
    enough.abort()
    await load
    const customers = await until(
      () => listAll('/customers?').catch(() => []),
      list => list.length > 0,
    )
    const events = await listAll('/events?event_type=customer.create&')
    expect(events.map(({ data }) => data.id).toSorted()).toEqual(customers.map(({ id }) => id).toSorted())
    expect(events.length).toBeGreaterThan(rounds * 10)
    await until(
      async () => idsOf(receiver.received).length,
      count => count >= events.length,
      60_000,
    )
    // What was under way at a kill comes again once its lease has run out.
    expect(idsOf(receiver.received).toSorted()).toEqual(events.map(({ id }) => id).toSorted())
    const bodies = Map.groupBy(receiver.received, ({ headers }) => String(headers['webhook-id']))
    for (const [id, copies] of bodies) expect([id, new Set(copies.map(({ body }) => body)).size]).toEqual([id, 1])
    const verifier = new Webhook(secret)
    const recent = receiver.received.filter(({ at }) => Date.now() - at < 240_000)
    for (const { body, headers } of recent) verifier.verify(body, headers as Record<string, string>)
  })
})

describe('an orderly stop', () => {
  it('waits for no endpoint that hangs longer than a moment, and forgets nothing', { timeout: 90_000 }, async () => {
    let isHanging = true
    await using receiver = await openReceiver(() => (isHanging ? 'hang' : { status: 204 }))
    const own = client ?? (await start())
    await own.ask('POST', '/webhooks', { url: receiver.url, event_types: ['device.create'] })
    await own.ask('POST', '/devices', { reference_id: 'hangs' })
    await until(
      async () => receiver.received.length,
      count => count === 1,
    )
    const startedAt = performance.now()
    expect(await system?.stop()).toBe(0)
    expect(performance.now() - startedAt).toBeLessThan(15_000)
    isHanging = false
    const again = await start()
    await until(
      async () => receiver.received.length,
      count => count === 2,
      40_000,
    )
    const [first, second] = receiver.received
    expect([second?.headers['webhook-id'], second?.body]).toEqual([first?.headers['webhook-id'], first?.body])
    const endpoints = (await again.ask('GET', '/webhooks')) as { readonly data: readonly { readonly failing_since: string | null }[] }
    expect(endpoints.data[0]?.failing_since).toBeNull()
  })
})
