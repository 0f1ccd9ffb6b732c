import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'vitest'
import { type Random, seededRandom } from '../random.ts'
import type { Client } from '../system/client.ts'
import { until } from '../system/until.ts'
import { openObjectHistories } from './object-histories.ts'
import { openSubscriber } from './subscriber.ts'
import { listAll, verifyEvents, verifyReceived } from './verify-events.ts'

/** Settings of a longer run: EVENT_ROUNDS=20 (kills of each part), EVENT_CHANGES=10000, EVENT_SEED=7. */
export const rounds = Number(process.env['EVENT_ROUNDS'] ?? 1)
export const wanted = Number(process.env['EVENT_CHANGES'] ?? rounds * 150)
export const seed = Number(process.env['EVENT_SEED'] ?? 1)

const workers = 6
const relayTimeoutMs = 15_000
const settleTimeoutMs = 240_000

/** A part of the system that the test kills. `kill` resolves after the part is healthy again. */
export type KillablePart = { readonly name: string; readonly kill: () => Promise<void> }

export type FaultInjectionOptions = {
  /** Client of the running system; null while the system does not answer. */
  readonly target: () => Client | null
  /** Parts of one group are killed in turn. Groups are independent, so that kills of two groups can coincide. */
  readonly groups: readonly (readonly KillablePart[])[]
  /** Called after the last kill and the last change, before the wait for the deliveries. */
  readonly afterFaults?: () => Promise<void>
}

/** Timeout of the test in ms. A busy machine needs 30 s to start a process. */
export const faultInjectionTimeoutMs = 120_000 + settleTimeoutMs + rounds * 60_000 + wanted * 150

const listEventually = <T extends { readonly id: string }>(
  target: FaultInjectionOptions['target'],
  path: string,
): Promise<readonly T[]> =>
  until(
    async () => {
      const client = target()
      return client === null ? [] : listAll<T>(client, path).catch(() => [])
    },
    list => list.length > 0,
    30_000,
  )

/**
 * Wait for the time of the next kill: first for a number of changes, then, in half of the cases, for the next event.
 * After an event, the kill interrupts deliveries. In the other cases the kill can happen at any time,
 * for example while a relay waits for the lease of a killed process.
 */
const waitForKill = async (
  random: Random,
  { changes, due }: { changes: () => number; due: number },
  arrived: () => number,
): Promise<void> => {
  while (changes() < due) await sleep(5)
  const before = arrived()
  const end = performance.now() + (random.chance(0.5) ? relayTimeoutMs : 0)
  while (arrived() === before && performance.now() < end) await sleep(5)
  await sleep(random.below(500))
}

/** Wait until no delivery of an endpoint is pending. Reads one delivery at a time, because the wait can take minutes. */
const untilDelivered = (target: FaultInjectionOptions['target'], endpointId: string): Promise<readonly Delivery[]> => {
  const path = `/webhooks/${endpointId}/deliveries?status=PENDING&limit=1`
  const readPending = async (): Promise<readonly Delivery[] | null> => {
    const reply = await target()
      ?.send('GET', path)
      .catch(() => undefined)
    return reply?.status === 200 ? (reply.json as { readonly data: readonly Delivery[] }).data : null
  }
  const isNone = (pending: readonly Delivery[] | null): boolean => pending?.length === 0
  return until(readPending, isNone, settleTimeoutMs).then(() =>
    listEventually<Delivery>(target, `/webhooks/${endpointId}/deliveries`),
  )
}

type Delivery = { readonly id: string; readonly event_id: string; readonly status: string }

/**
 * Make changes while each part is killed several times, then compare the received events with the changes.
 * Each change has one event. Each event arrived, is signed and is equal to the event of the API.
 * No other event arrived.
 * Return the events, oldest first.
 */
export const runFaultInjection = async ({ target, groups, afterFaults }: FaultInjectionOptions) => {
  await using subscriber = await openSubscriber()
  const endpoint = (await target()?.ask('POST', '/webhooks', { url: subscriber.url })) as unknown as {
    id: string
    secret: string
  }
  subscriber.verifyWith(endpoint.secret)
  const shares = groups.map(() => 0)
  const allowed = (): number => wanted * Math.min(...shares)
  const histories = openObjectHistories({ target, random: seededRandom(seed + 1), allowed, wanted })
  const startedAt = performance.now()
  const killing = groups.map(async (parts, group) => {
    const random = seededRandom(seed + 2 + group)
    const kills = rounds * parts.length
    for (let kill = 0; kill < kills; kill += 1) {
      shares[group] = (kill + 1) / (kills + 1)
      const due = (wanted * (kill + random.below(90) / 100)) / (kills + 1)
      await waitForKill(random, { changes: histories.changes, due }, subscriber.ids)
      await parts[kill % parts.length]?.kill()
    }
    shares[group] = 1
  })
  await Promise.all([histories.run(workers), ...killing])
  const killSeconds = Math.round((performance.now() - startedAt) / 1_000)
  await afterFaults?.()
  const events = (await listEventually<Event>(target, '/events')).toReversed()
  await until(subscriber.ids, count => count >= events.length, settleTimeoutMs)
  const deliveries = await untilDelivered(target, endpoint.id)
  process.stdout.write(
    `events: ${histories.changes()} changes, ${events.length} events, ${subscriber.received.length} POSTs of ${subscriber.ids()} ids, ` +
      `${rounds} kills of each of ${groups
        .flat()
        .map(({ name }) => name)
        .join(', ')} in ${killSeconds} s\n`,
  )
  expect(histories.changes()).toBeGreaterThanOrEqual(wanted)
  expect(verifyEvents(histories.histories, events)).toEqual({
    missing: [],
    unexpected: [],
    duplicated: [],
    disordered: [],
  })
  expect(verifyReceived(events, subscriber.received)).toEqual({ missing: [], unexpected: [], altered: [] })
  expect(deliveries.filter(({ status }) => status !== 'DELIVERED')).toEqual([])
  expect(deliveries.map(one => one.event_id).toSorted()).toEqual(events.map(({ id }) => id).toSorted())
  expect(subscriber.unverified).toEqual([])
  return events
}

type Event = Parameters<typeof verifyReceived>[0][number]
