import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'vitest'
import { faultsOf } from '../ledger/audit.ts'
import type { Client } from '../system/client.ts'
import { until } from '../system/until.ts'
import { openReceiver } from '../webhooks/receiver.ts'
import type { ManyProcesses, SendResult } from './many-processes.ts'
import type { StopResult } from './role-instance.ts'

const drainMs = 15_000

/** Create and list customers until `stop` aborts. Return the ids of the created customers, and the failed requests. */
const requestUntil = async (client: Client, name: string, stop: AbortSignal) => {
  const created: string[] = []
  const faults: string[] = []
  const ask = async (method: string, body?: object): Promise<{ readonly id?: string }> => {
    const reply = await client.send(method, '/customers', body).catch((error: Error) => String(error.cause ?? error))
    if (typeof reply !== 'string' && reply.status < 300) return reply.json
    faults.push(typeof reply === 'string' ? reply : `${reply.status} ${reply.text}`)
    return {}
  }
  for (; !stop.aborted; await sleep(50)) {
    const { id } = await ask('POST', { reference_id: `${name} ${created.length}` })
    if (id !== undefined) created.push(id)
    await ask('GET')
  }
  return { created, faults }
}

/**
 * Submit records, send other requests and receive events while processes stop one after the other.
 * Each process stops in time with exit code 0. Each submission is answered. Each request to a query service succeeds.
 * Each accepted record is stored once, and each event arrives. Return the result of the submissions.
 */
export const verifyRollingStop = async (
  { client, sendDuring }: ManyProcesses,
  seed: number,
  stopAll: (stopped: StopResult[]) => Promise<void>,
): Promise<SendResult> => {
  const receivedIds = new Set<string>()
  await using receiver = await openReceiver(({ body }) => {
    receivedIds.add((JSON.parse(body) as { data: { id: string } }).data.id)
    return { status: 204 }
  })
  const { id: endpoint } = (await client.ask('POST', '/webhooks', {
    url: receiver.url,
    event_types: ['customer.create'],
  })) as {
    id: string
  }
  const stopped: StopResult[] = []
  const stop = new AbortController()
  const requesting = requestUntil(client, `stops ${seed}`, stop.signal)
  const sent = await sendDuring(seed, () => stopAll(stopped)).finally(() => stop.abort())
  const { created, faults } = await requesting
  process.stdout.write(
    `stopped within ${stopped.map(({ ms }) => Math.round(ms)).join(', ')} ms, during ${created.length} changes\n`,
  )
  expect(stopped.map(({ code }) => code)).toEqual(stopped.map(() => 0))
  expect(Math.max(...stopped.map(({ ms }) => ms))).toBeLessThan(drainMs)
  expect(faults).toEqual([])
  expect(faultsOf(sent.verdict)).toEqual([])
  expect(sent.unanswered).toBe(0)
  expect(created.length).toBeGreaterThan(20)
  await until(
    () => created.filter(id => !receivedIds.has(id)),
    ({ length }) => length === 0,
  )
  await client.ask('DELETE', `/webhooks/${endpoint}`)
  return sent
}
