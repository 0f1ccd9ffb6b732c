import { setTimeout as sleep } from 'node:timers/promises'
import sql from 'sql-template-tag'
import { afterEach, describe, expect, it } from 'vitest'
import { maxFailingMs, retryGapsMs } from '../../../services/domain/webhook/delivery-attempt.ts'
import type { WebhookDelivery } from '../../../services/domain/webhook/webhook-object.ts'
import { readAudit } from '../../../services/platform/postgres/registry/audit-log.ts'
import { changeTenant, withTenant } from '../../../services/platform/postgres/transaction.ts'
import { resendDelivery } from '../../../services/platform/postgres/webhooks/webhook-deliveries.ts'
import { updateEndpoint } from '../../../services/platform/postgres/webhooks/webhook-endpoints.ts'
import { until } from '../../support/system/until.ts'
import { openReceiver, type Receiver, type Reply } from '../../support/webhooks/receiver.ts'
import {
  type Clock,
  openClock,
  openWebhookFixture,
  type WebhookFixture,
} from '../../support/webhooks/webhook-fixture.ts'

const start = 1_757_840_000_000
const hourMs = 3_600_000
/** Longer than the worker needs to poll due deliveries. */
const quietMs = 400

let opened: AsyncDisposableStack | undefined

afterEach(() => opened?.disposeAsync())

type RetryFixture = { readonly clock: Clock; readonly fixture: WebhookFixture; readonly receiver: Receiver }

const openRetryFixture = async (reply: () => Reply, chance = Math.random): Promise<RetryFixture> => {
  const stack = new AsyncDisposableStack()
  opened = stack
  const clock = openClock(start)
  const receiver = stack.use(await openReceiver(reply))
  const fixture = stack.use(await openWebhookFixture({ at: clock.at, random: chance }))
  return { clock, fixture, receiver }
}

/** The only delivery of an endpoint, after this number of attempts. */
const deliveryAfter = async (
  { fixture }: RetryFixture,
  endpointId: string,
  attempts: number,
): Promise<WebhookDelivery> => {
  const [delivery] = await until(
    () => fixture.deliveries(endpointId),
    ([first]) => first !== undefined && first.attempts >= attempts,
  )
  if (delivery === undefined) throw new Error('there is no delivery')
  return delivery
}

const disabled = ({ fixture }: RetryFixture, id: string) =>
  until(
    () => fixture.endpoint(id),
    ({ disabledReason }) => disabledReason !== null,
  )

describe('a delivery that never succeeds', () => {
  it('is attempted ten times, each gap inside its band, under one id, and is then given up', {
    timeout: 60_000,
  }, async () => {
    const retryFixture = await openRetryFixture(() => ({ status: 500, body: 'out of order' }))
    const { clock, fixture, receiver } = retryFixture
    const { id } = await fixture.subscribe(receiver.url)
    const [eventId] = await fixture.emit(1)
    for (const [index, gap] of retryGapsMs.entries()) {
      const { dueAt, status } = await deliveryAfter(retryFixture, id, index + 1)
      expect([status, receiver.received.length]).toEqual(['PENDING', index + 1])
      const wait = (dueAt ?? 0) - clock.at()
      expect(wait).toBeGreaterThanOrEqual(gap * 0.8)
      expect(wait).toBeLessThanOrEqual(gap * 1.2)
      clock.set((dueAt ?? 0) - 1)
      await sleep(quietMs)
      expect(receiver.received).toHaveLength(index + 1)
      clock.set(dueAt ?? 0)
    }
    const last = await deliveryAfter(retryFixture, id, 10)
    expect(last).toMatchObject({ status: 'FAILED', dueAt: null, attempts: 10 })
    clock.set(clock.at() + 100 * hourMs)
    await sleep(quietMs)
    expect(new Set(receiver.received.map(({ headers }) => headers['webhook-id']))).toEqual(new Set([eventId]))
    expect(new Set(receiver.received.map(({ body }) => body)).size).toBe(1)
    const attempts = await fixture.attempts(last.id, 10)
    expect(attempts.map(({ statusCode, responseBody }) => [statusCode, responseBody])).toEqual(
      attempts.map(() => [500, 'out of order']),
    )
    const times = attempts.map(({ createdAt }) => Math.floor(createdAt / 1000))
    expect(receiver.received.map(({ headers }) => Number(headers['webhook-timestamp']))).toEqual(times)
  })

  it('is put off by Retry-After up to twice its gap', async () => {
    const replies: Reply[] = ['7', '3600', '2'].map(wait => ({ status: 503, headers: { 'retry-after': wait } }))
    const retryFixture = await openRetryFixture(
      () => replies.shift() ?? { status: 204 },
      () => 0.5,
    )
    const { clock, fixture, receiver } = retryFixture
    const { id } = await fixture.subscribe(receiver.url)
    await fixture.emit(1)
    for (const [index, wait] of [7_000, 600_000, 1_800_000].entries()) {
      const { dueAt } = await deliveryAfter(retryFixture, id, index + 1)
      expect((dueAt ?? 0) - clock.at()).toBe(wait)
      clock.set(dueAt ?? 0)
    }
    expect((await deliveryAfter(retryFixture, id, 4)).status).toBe('DELIVERED')
  })
})

describe('an endpoint', () => {
  it('that answers 410 is disabled at once, and gets nothing more until it is enabled', async () => {
    let status = 410
    const retryFixture = await openRetryFixture(() => ({ status }))
    const { clock, fixture, receiver } = retryFixture
    const { id } = await fixture.subscribe(receiver.url)
    await fixture.emit(1)
    expect((await disabled(retryFixture, id)).disabledReason).toBe('GONE')
    expect((await deliveryAfter(retryFixture, id, 1)).status).toBe('FAILED')
    const audit = await withTenant(fixture.database, fixture.tenant, transaction => readAudit(transaction, 1))
    expect(audit[0]).toMatchObject({
      actor: 'system',
      action: 'webhook_endpoint.disable',
      objectId: id,
      detail: { reason: 'GONE' },
    })
    await fixture.emit(1)
    clock.set(clock.at() + hourMs)
    await sleep(quietMs)
    expect(receiver.received).toHaveLength(1)
    status = 200
    await changeTenant(fixture.database, fixture.tenant, transaction =>
      updateEndpoint(transaction, id, { isEnabled: true }, clock.at()),
    )
    await fixture.emit(1)
    await until(
      async () => receiver.received.length,
      count => count === 2,
    )
  })

  it('that only fails for five days is disabled, and its waiting deliveries fail', async () => {
    const retryFixture = await openRetryFixture(() => 'reset')
    const { clock, fixture, receiver } = retryFixture
    const { id } = await fixture.subscribe(receiver.url)
    await fixture.emit(1)
    const { dueAt } = await deliveryAfter(retryFixture, id, 1)
    const failingSince = clock.at()
    expect((await fixture.endpoint(id)).failingSince).toBe(failingSince)
    clock.set(Math.max(dueAt ?? 0, failingSince + maxFailingMs - 1))
    const second = await deliveryAfter(retryFixture, id, 2)
    expect([second.status, (await fixture.endpoint(id)).disabledReason]).toEqual(['PENDING', null])
    clock.set(second.dueAt ?? 0)
    expect((await disabled(retryFixture, id)).disabledReason).toBe('FAILING')
    const third = await deliveryAfter(retryFixture, id, 3)
    clock.set(third.dueAt ?? 0)
    await until(
      () => fixture.deliveries(id),
      ([delivery]) => delivery?.status === 'FAILED',
    )
    expect(receiver.received).toHaveLength(3)
  })

  it('that succeeds once in five days stays', async () => {
    let status = 500
    const retryFixture = await openRetryFixture(() => ({ status }))
    const { clock, fixture, receiver } = retryFixture
    const { id } = await fixture.subscribe(receiver.url)
    await fixture.emit(1)
    const first = await deliveryAfter(retryFixture, id, 1)
    status = 200
    clock.set(Math.max(first.dueAt ?? 0, start + maxFailingMs - hourMs))
    expect((await deliveryAfter(retryFixture, id, 2)).status).toBe('DELIVERED')
    await until(
      () => fixture.endpoint(id),
      ({ failingSince }) => failingSince === null,
    )
    status = 500
    clock.set(start + maxFailingMs + hourMs)
    await fixture.emit(1)
    await until(
      () => fixture.endpoint(id),
      ({ failingSince }) => failingSince === clock.at(),
    )
    expect((await fixture.endpoint(id)).disabledReason).toBeNull()
  })
})

describe('a delivery whose event is no longer kept', () => {
  it('is given up, and says so', async () => {
    const retryFixture = await openRetryFixture(() => ({ status: 500 }))
    const { clock, fixture, receiver } = retryFixture
    const { id } = await fixture.subscribe(receiver.url)
    await fixture.emit(1)
    const { id: deliveryId, dueAt } = await deliveryAfter(retryFixture, id, 1)
    await fixture.database.operator(sql`delete from events`)
    clock.set(dueAt ?? 0)
    expect(await deliveryAfter(retryFixture, id, 2)).toMatchObject({ status: 'FAILED', dueAt: null })
    expect((await fixture.attempts(deliveryId, 2))[1]).toMatchObject({ statusCode: null, error: 'event_expired' })
    expect(receiver.received).toHaveLength(1)
  })
})

describe('a delivery that is sent again', () => {
  it('starts its schedule again, also after it failed or was delivered', async () => {
    let status = 500
    const retryFixture = await openRetryFixture(
      () => ({ status }),
      () => 0.5,
    )
    const { clock, fixture, receiver } = retryFixture
    const { id } = await fixture.subscribe(receiver.url)
    await fixture.emit(1)
    const { id: deliveryId, dueAt } = await deliveryAfter(retryFixture, id, 1)
    clock.set(dueAt ?? 0)
    await deliveryAfter(retryFixture, id, 2)
    const again = () =>
      changeTenant(fixture.database, fixture.tenant, transaction =>
        resendDelivery(transaction, id, deliveryId, clock.at()),
      )
    await again()
    await fixture.attempts(deliveryId, 3)
    const restarted = await deliveryAfter(retryFixture, id, 1)
    expect([restarted.attempts, (restarted.dueAt ?? 0) - clock.at()]).toEqual([1, 5_000])
    status = 200
    await again()
    await fixture.attempts(deliveryId, 4)
    expect((await deliveryAfter(retryFixture, id, 1)).status).toBe('DELIVERED')
    await again()
    await fixture.attempts(deliveryId, 5)
    expect(receiver.received).toHaveLength(5)
  })
})
