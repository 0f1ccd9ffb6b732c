import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { until } from '../support/until.ts'
import { openReceiver } from './support/receiver.ts'
import { openWebhookWorld } from './support/world.ts'

/** More events: WEBHOOK_EVENTS=500. */
const events = Number(process.env['WEBHOOK_EVENTS'] ?? 20)
const endpoints = 50
const hanging = 5

describe('endpoints that never answer', () => {
  it('delay nobody: the other 45 of 50 have each event, most within a moment and 99 % within 2 s', { timeout: 60_000 }, async () => {
    await using receiver = await openReceiver(({ path }) => (path.startsWith('/hang') ? 'hang' : { status: 204 }))
    await using world = await openWebhookWorld({ at: Date.now, timeoutMs: 15_000 })
    for (let place = 0; place < endpoints; place += 1)
      await world.subscribe(`${receiver.url}/${place < hanging ? 'hang' : 'well'}/${place}`)
    const well = () => receiver.received.filter(({ path }) => path.startsWith('/well'))
    const emittedAt = new Map<string, number>()
    for (let count = 0; count < events; count += 1) {
      const at = Date.now()
      for (const id of await world.emit(1)) emittedAt.set(id, at)
      await sleep(Math.max(0, at + 100 - Date.now()))
    }
    await until(
      async () => well().length,
      count => count >= events * (endpoints - hanging),
    )
    const waits = well().map(({ headers, at }) => at - (emittedAt.get(String(headers['webhook-id'])) ?? 0))
    const sorted = waits.toSorted((a, b) => a - b)
    expect(sorted).toHaveLength(events * (endpoints - hanging))
    expect(sorted[Math.floor(sorted.length * 0.99)]).toBeLessThan(2_000)
    const hung = receiver.received.length - well().length
    expect(hung).toBeGreaterThanOrEqual(hanging)
    expect(world.errors).toEqual([])
  })
})
