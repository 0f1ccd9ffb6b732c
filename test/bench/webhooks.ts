import { setTimeout as sleep } from 'node:timers/promises'
import { currentInstant } from '../../services/platform/clock.ts'
import { type Client, login, type Reply } from '../support/system/client.ts'
import { openReceiver } from '../support/webhooks/receiver.ts'
import type { OpenBench } from './bench-system.ts'
import { quantile } from './statistics.ts'

export type WebhookFigures = {
  /** Deliveries to a receiver on this machine, from the first event to the last arrival. */
  readonly deliveriesPerSecond: number
  /** Time from the event to its arrival at the receiver, at the requested rate. */
  readonly p50Ms: number
  readonly p99Ms: number
  /** The same for the first seconds, in which processes and broker compile their code and fill their caches. */
  readonly p99NewMs: number
  readonly delivered: number
  readonly expected: number
}

const endpoints = 10
const newSeconds = 5

/**
 * Create customers at a steady rate, without waiting for answers. Returns the number of created customers, because
 * refused requests cause no event.
 */
const createAtRate = async (client: Client, perSecond: number, seconds: number): Promise<number> => {
  const startedAt = performance.now()
  const replies: Promise<Reply>[] = []
  for (let count = 0; count < perSecond * seconds; count += 1) {
    const wait = startedAt + (count * 1_000) / perSecond - performance.now()
    if (wait > 0) await sleep(wait)
    replies.push(client.send('POST', '/customers', {}))
  }
  return (await Promise.all(replies)).filter(({ status }) => status === 201).length
}

const waitAt = (waitsMs: readonly number[], share: number): number =>
  quantile(waitsMs, share) ?? Number.POSITIVE_INFINITY

/**
 * Measure webhooks of a whole system at a steady rate of deliveries. Each event goes to ten endpoints of one receiver.
 * The first 5 s count separately; then `seconds` follow. Load and receiver run in this process. Promise P11.
 */
export const webhookFigures = async (
  open: OpenBench,
  seconds: number,
  deliveriesPerSecond = 1_200,
): Promise<WebhookFigures> => {
  await using system = await open({ WATTLEDGER_WEBHOOK_ALLOW_NETWORKS: '127.0.0.0/8' })
  await using receiver = await openReceiver()
  const client = await login(system.sandbox())
  for (let index = 0; index < endpoints; index += 1)
    await client.ask('POST', '/webhooks', { url: `${receiver.url}/${index}` })
  const measuredFrom = currentInstant() + newSeconds * 1_000
  const startedAt = performance.now()
  const expected = endpoints * (await createAtRate(client, deliveriesPerSecond / endpoints, newSeconds + seconds))
  for (let waitedMs = 0; receiver.received.length < expected && waitedMs < 10_000; waitedMs += 20) await sleep(20)
  const tookSeconds = (performance.now() - startedAt) / 1_000
  const waitsMs: { readonly first: number[]; readonly later: number[] } = { first: [], later: [] }
  for (const { body, at } of receiver.received) {
    const createdAt = Date.parse((JSON.parse(body) as { readonly time_created: string }).time_created)
    waitsMs[createdAt < measuredFrom ? 'first' : 'later'].push(at - createdAt)
  }
  return {
    deliveriesPerSecond: receiver.received.length / tookSeconds,
    p50Ms: waitAt(waitsMs.later, 0.5),
    p99Ms: waitAt(waitsMs.later, 0.99),
    p99NewMs: waitAt(waitsMs.first, 0.99),
    delivered: new Set(receiver.received.map(({ path, headers }) => `${path} ${headers['webhook-id']}`)).size,
    expected,
  }
}
