import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import { afterEach, describe, expect, it } from 'vitest'
import { failingLimitMs, retryGapsMs } from '../../services/domain/webhook/retry.ts'
import { readAudit } from '../../services/platform/postgres/audit-log.ts'
import { changeTenant, withTenant } from '../../services/platform/postgres/transaction.ts'
import { resendDelivery, type StoredDelivery } from '../../services/platform/postgres/webhook-deliveries.ts'
import { updateEndpoint } from '../../services/platform/postgres/webhook-endpoints.ts'
import { until } from '../support/until.ts'
import { openReceiver, type Receiver, type Reply } from './support/receiver.ts'
import { type Clock, openClock, openWebhookWorld, type WebhookWorld } from './support/world.ts'

const start = 1_757_840_000_000
const hour = 3_600_000
/** Longer than the worker takes to look for what is due. */
const quietMs = 400

let opened: AsyncDisposableStack | undefined

afterEach(() => opened?.disposeAsync())

type Scene = { readonly clock: Clock; readonly world: WebhookWorld; readonly receiver: Receiver }

const openScene = async (reply: () => Reply, chance = Math.random): Promise<Scene> => {
  const stack = new AsyncDisposableStack()
  opened = stack
  const clock = openClock(start)
  const receiver = stack.use(await openReceiver(reply))
  const world = stack.use(await openWebhookWorld({ at: clock.at, chance }))
  return { clock, world, receiver }
}

/** The one delivery of an endpoint once it has so many attempts behind it. */
const deliveryAfter = async ({ world }: Scene, endpointId: string, attempts: number): Promise<StoredDelivery> => {
  const [delivery] = await until(
    () => world.deliveries(endpointId),
    ([first]) => first !== undefined && first.attempts >= attempts,
  )
  if (delivery === undefined) throw new Error('there is no delivery')
  return delivery
}

const disabled = ({ world }: Scene, id: string) =>
  until(
    () => world.endpoint(id),
    ({ disabledReason }) => disabledReason !== null,
  )

describe('a delivery that never succeeds', () => {
  it('is attempted ten times, each gap inside its band, under one id, and is then given up', { timeout: 60_000 }, async () => {
    const scene = await openScene(() => ({ status: 500, body: 'out of order' }))
    const { clock, world, receiver } = scene
    const { id } = await world.subscribe(receiver.url)
    const [eventId] = await world.emit(1)
    for (const [index, gap] of retryGapsMs.entries()) {
      const { dueAt, status } = await deliveryAfter(scene, id, index + 1)
      expect([status, receiver.received.length]).toEqual(['PENDING', index + 1])
      const wait = (dueAt ?? 0) - clock.at()
      expect(wait).toBeGreaterThanOrEqual(gap * 0.8)
      expect(wait).toBeLessThanOrEqual(gap * 1.2)
      clock.set((dueAt ?? 0) - 1)
      await sleep(quietMs)
      expect(receiver.received).toHaveLength(index + 1)
      clock.set(dueAt ?? 0)
    }
    const last = await deliveryAfter(scene, id, 10)
    expect(last).toMatchObject({ status: 'FAILED', dueAt: null, attempts: 10 })
    clock.set(clock.at() + 100 * hour)
    await sleep(quietMs)
    expect(new Set(receiver.received.map(({ headers }) => headers['webhook-id']))).toEqual(new Set([eventId]))
    expect(new Set(receiver.received.map(({ body }) => body)).size).toBe(1)
    const attempts = await world.attempts(last.id, 10)
    expect(attempts.map(({ statusCode, responseBody }) => [statusCode, responseBody])).toEqual(attempts.map(() => [500, 'out of order']))
    const times = attempts.map(({ createdAt }) => Math.floor(createdAt / 1000))
    expect(receiver.received.map(({ headers }) => Number(headers['webhook-timestamp']))).toEqual(times)
  })

  it('is put off by Retry-After up to twice its gap', async () => {
    const replies: Reply[] = ['7', '3600', '2'].map(wait => ({ status: 503, headers: { 'retry-after': wait } }))
    const scene = await openScene(
      () => replies.shift() ?? { status: 204 },
      () => 0.5,
    )
    const { clock, world, receiver } = scene
    const { id } = await world.subscribe(receiver.url)
    await world.emit(1)
    for (const [index, wait] of [7_000, 600_000, 1_800_000].entries()) {
      const { dueAt } = await deliveryAfter(scene, id, index + 1)
      expect((dueAt ?? 0) - clock.at()).toBe(wait)
      clock.set(dueAt ?? 0)
    }
    expect((await deliveryAfter(scene, id, 4)).status).toBe('DELIVERED')
  })
})

describe('an endpoint', () => {
  it('that answers 410 is disabled at once, and gets nothing more until it is enabled', async () => {
    let status = 410
    const scene = await openScene(() => ({ status }))
    const { clock, world, receiver } = scene
    const { id } = await world.subscribe(receiver.url)
    await world.emit(1)
    expect((await disabled(scene, id)).disabledReason).toBe('GONE')
    expect((await deliveryAfter(scene, id, 1)).status).toBe('FAILED')
    const audit = await withTenant(world.database, world.tenant, transaction => readAudit(transaction, 1))
    expect(audit[0]).toMatchObject({ actor: 'system', action: 'webhook_endpoint.disable', objectId: id, detail: { reason: 'GONE' } })
    await world.emit(1)
    clock.set(clock.at() + hour)
    await sleep(quietMs)
    expect(receiver.received).toHaveLength(1)
    status = 200
    await changeTenant(world.database, world.tenant, transaction => updateEndpoint(transaction, id, { isEnabled: true }, clock.at()))
    await world.emit(1)
    await until(
      async () => receiver.received.length,
      count => count === 2,
    )
  })

  it('that gives nothing but failures for five days is disabled, and what waits for it is given up', async () => {
    const scene = await openScene(() => 'reset')
    const { clock, world, receiver } = scene
    const { id } = await world.subscribe(receiver.url)
    await world.emit(1)
    const { dueAt } = await deliveryAfter(scene, id, 1)
    const failingSince = clock.at()
    expect((await world.endpoint(id)).failingSince).toBe(failingSince)
    clock.set(Math.max(dueAt ?? 0, failingSince + failingLimitMs - 1))
    const second = await deliveryAfter(scene, id, 2)
    expect([second.status, (await world.endpoint(id)).disabledReason]).toEqual(['PENDING', null])
    clock.set(second.dueAt ?? 0)
    expect((await disabled(scene, id)).disabledReason).toBe('FAILING')
    const third = await deliveryAfter(scene, id, 3)
    clock.set(third.dueAt ?? 0)
    await until(
      () => world.deliveries(id),
      ([delivery]) => delivery?.status === 'FAILED',
    )
    expect(receiver.received).toHaveLength(3)
  })

  it('that succeeds once in five days stays', async () => {
    let status = 500
    const scene = await openScene(() => ({ status }))
    const { clock, world, receiver } = scene
    const { id } = await world.subscribe(receiver.url)
    await world.emit(1)
    const first = await deliveryAfter(scene, id, 1)
    status = 200
    clock.set(Math.max(first.dueAt ?? 0, start + failingLimitMs - hour))
    expect((await deliveryAfter(scene, id, 2)).status).toBe('DELIVERED')
    await until(
      () => world.endpoint(id),
      ({ failingSince }) => failingSince === null,
    )
    status = 500
    clock.set(start + failingLimitMs + hour)
    await world.emit(1)
    await until(
      () => world.endpoint(id),
      ({ failingSince }) => failingSince === clock.at(),
    )
    expect((await world.endpoint(id)).disabledReason).toBeNull()
  })
})

describe('a delivery whose event is no longer kept', () => {
  it('is given up, and says so', async () => {
    const scene = await openScene(() => ({ status: 500 }))
    const { clock, world, receiver } = scene
    const { id } = await world.subscribe(receiver.url)
    await world.emit(1)
    const { id: deliveryId, dueAt } = await deliveryAfter(scene, id, 1)
    await sql`delete from events`.execute(world.database.operator)
    clock.set(dueAt ?? 0)
    expect(await deliveryAfter(scene, id, 2)).toMatchObject({ status: 'FAILED', dueAt: null })
    expect((await world.attempts(deliveryId, 2))[1]).toMatchObject({ statusCode: null, error: 'event_expired' })
    expect(receiver.received).toHaveLength(1)
  })
})

describe('a delivery that is sent again', () => {
  it('begins its schedule anew, also after it was given up or delivered', async () => {
    let status = 500
    const scene = await openScene(
      () => ({ status }),
      () => 0.5,
    )
    const { clock, world, receiver } = scene
    const { id } = await world.subscribe(receiver.url)
    await world.emit(1)
    const { id: deliveryId, dueAt } = await deliveryAfter(scene, id, 1)
    clock.set(dueAt ?? 0)
    await deliveryAfter(scene, id, 2)
    const again = () => changeTenant(world.database, world.tenant, transaction => resendDelivery(transaction, id, deliveryId, clock.at()))
    await again()
    await world.attempts(deliveryId, 3)
    const anew = await deliveryAfter(scene, id, 1)
    expect([anew.attempts, (anew.dueAt ?? 0) - clock.at()]).toEqual([1, 5_000])
    status = 200
    await again()
    await world.attempts(deliveryId, 4)
    expect((await deliveryAfter(scene, id, 1)).status).toBe('DELIVERED')
    await again()
    await world.attempts(deliveryId, 5)
    expect(receiver.received).toHaveLength(5)
  })
})
