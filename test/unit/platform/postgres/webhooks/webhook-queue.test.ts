import sql from 'sql-template-tag'
import { describe, expect, it } from 'vitest'
import { accepted } from '../../../../../services/domain/refusal.ts'
import { writeEvents } from '../../../../../services/platform/postgres/events/events.ts'
import {
  changeTenant,
  type Tenant,
  withOperator,
  withTenant,
} from '../../../../../services/platform/postgres/transaction.ts'
import {
  listAttempts,
  listDeliveries,
  resendDelivery,
} from '../../../../../services/platform/postgres/webhooks/webhook-deliveries.ts'
import {
  createEndpoint,
  deleteEndpoint,
  updateEndpoint,
} from '../../../../../services/platform/postgres/webhooks/webhook-endpoints.ts'
import {
  deleteExpiredWebhooks,
  disableEndpoint,
  recordHealth,
  recordOutcomes,
} from '../../../../../services/platform/postgres/webhooks/webhook-outcomes.ts'
import {
  claimDeliveries,
  closeDeliveries,
  insertDeliveries,
  readDueEndpoints,
  readSubscriptions,
} from '../../../../../services/platform/postgres/webhooks/webhook-queue.ts'
import { createResend, stepResend } from '../../../../../services/platform/postgres/webhooks/webhook-resends.ts'
import { acceptedValue } from '../../../../support/accepted-value.ts'
import { endpointDraft } from '../../../../support/registry/drafts.ts'
import { useTestDatabase } from '../../../../support/registry/use-database.ts'
import { makeTenants } from '../../../../support/stores/postgres.ts'

const at = 1_760_000_000_000
const dayMs = 86_400_000
const { database } = await useTestDatabase()
const { operator } = database

const page = { limit: 1_000, startingAfter: null, endingBefore: null }

const makeEndpoint = async (tenant: Tenant): Promise<string> =>
  acceptedValue(await changeTenant(database, tenant, tx => createEndpoint(tx, endpointDraft(), at))).id

/** Create an account with an endpoint and some deliveries, due at `at`. */
const makeBacklog = async (count: number) => {
  const { test: tenant } = await makeTenants(database)
  const endpointId = await makeEndpoint(tenant)
  const drafts = Array.from({ length: count }, (_, place) => ({
    type: 'customer.create',
    objectId: `cus_${place}`,
    data: { place },
  }))
  const events = await withTenant(database, tenant, transaction => writeEvents(transaction, drafts, at))
  const deliveries = events.map(({ id, type }) => ({ ...tenant, endpointId, eventId: id, eventType: type, bytes: 100 }))
  await insertDeliveries(operator, deliveries, at)
  return { tenant, endpointId, deliveries }
}

const stored = async (tenant: Tenant, endpointId: string) => {
  const list = await withTenant(database, tenant, transaction =>
    listDeliveries(transaction, endpointId, { status: null, eventId: null }, page),
  )
  return list.ok ? list.value.items : []
}

const claim = (endpointId: string, capacity: number, more: object = {}) =>
  claimDeliveries(operator, [{ endpointId, capacity }], { at, leaseUntil: at + 25_000, bytes: 1_000_000, ...more })

describe('deliveries', () => {
  it('exist once for each event and endpoint, also if an event is read again', async () => {
    const { tenant, endpointId, deliveries } = await makeBacklog(20)
    await Promise.all([
      insertDeliveries(operator, deliveries, at + 1),
      insertDeliveries(operator, deliveries.toReversed(), at + 2),
    ])
    const remaining = await stored(tenant, endpointId)
    expect(remaining.map(({ eventId }) => eventId).toReversed()).toEqual(deliveries.map(({ eventId }) => eventId))
    expect(remaining.every(({ createdAt }) => createdAt === at)).toBe(true)
  })

  it('are claimed by one of many workers, and again after the claim expired', async () => {
    const { endpointId, deliveries } = await makeBacklog(60)
    const claims = (await Promise.all(Array.from({ length: 6 }, () => claim(endpointId, 10)))).flat()
    const ids = claims.map(({ id }) => id)
    expect([new Set(ids).size, ids.length]).toEqual([ids.length, ids.length])
    const rest = await claim(endpointId, 100)
    expect(new Set([...ids, ...rest.map(({ id }) => id)]).size).toBe(deliveries.length)
    expect(await claim(endpointId, 100, { at: at + 24_999, leaseUntil: at + 50_000 })).toEqual([])
    expect(await claim(endpointId, 100, { at: at + 25_000, leaseUntil: at + 50_000 })).toHaveLength(60)
  })

  it('are claimed oldest first, within the capacity of their endpoint and the bytes of all', async () => {
    const [one, other] = [await makeBacklog(10), await makeBacklog(10)]
    const requests = [
      { endpointId: one.endpointId, capacity: 3 },
      { endpointId: other.endpointId, capacity: 2 },
    ]
    const claims = await claimDeliveries(operator, requests, { at, leaseUntil: at + 1, bytes: 1_000_000 })
    const eventsOf = (id: string) => claims.filter(({ endpointId }) => endpointId === id).map(({ eventId }) => eventId)
    expect(eventsOf(one.endpointId)).toEqual(one.deliveries.slice(0, 3).map(({ eventId }) => eventId))
    expect(eventsOf(other.endpointId)).toEqual(other.deliveries.slice(0, 2).map(({ eventId }) => eventId))
    expect(claims[0]).toMatchObject({
      data: '{"place":0}',
      attempts: 0,
      round: 1,
      isClosed: false,
      url: 'https://example.com/',
    })
    // The delivery that exceeds the limit is still claimed, so that a large one never waits forever.
    expect(await claim(one.endpointId, 10, { bytes: 250 })).toHaveLength(3)
    expect(await claim(other.endpointId, 10, { bytes: 0 })).toHaveLength(1)
  })

  it('are found by endpoint, independently of the backlog of another endpoint', async () => {
    const [long, short] = [await makeBacklog(300), await makeBacklog(1)]
    await claim(short.endpointId, 1, { leaseUntil: at + 1_000 })
    const due = await readDueEndpoints(operator, at)
    expect([due.includes(long.endpointId), due.includes(short.endpointId)]).toEqual([true, false])
    expect(await readDueEndpoints(operator, at + 1_000)).toContain(short.endpointId)
    expect(await readDueEndpoints(operator, at - 1)).toEqual([])
  })

  it('fail if their endpoint is disabled or deleted, and only then', async () => {
    const [disabled, deleted, well] = [await makeBacklog(3), await makeBacklog(3), await makeBacklog(3)]
    await changeTenant(database, disabled.tenant, tx =>
      updateEndpoint(tx, disabled.endpointId, { isEnabled: false }, at),
    )
    await changeTenant(database, deleted.tenant, tx => deleteEndpoint(tx, deleted.endpointId, at))
    expect((await claim(disabled.endpointId, 1)).map(({ isClosed }) => isClosed)).toEqual([true])
    await closeDeliveries(
      operator,
      [disabled, deleted, well].map(({ endpointId }) => endpointId),
      100,
    )
    const statuses = async ({ tenant, endpointId }: typeof well) =>
      new Set((await stored(tenant, endpointId)).map(({ status }) => status))
    expect(await statuses(disabled)).toEqual(new Set(['FAILED']))
    expect(await statuses(deleted)).toEqual(new Set(['FAILED']))
    expect(await statuses(well)).toEqual(new Set(['PENDING']))
    expect(await readSubscriptions(operator, [disabled.tenant, deleted.tenant])).toEqual([])
  })

  it('take the result of an attempt once, and keep every attempt for 30 days', async () => {
    const { tenant, endpointId } = await makeBacklog(1)
    const [claimed] = await claim(endpointId, 1)
    if (claimed === undefined) throw new Error('nothing was claimed')
    const ended = { statusCode: 500, error: null, durationMs: 3, responseBody: 'no' }
    const outcome = {
      ...tenant,
      endpointId,
      deliveryId: claimed.id,
      round: 1,
      attempts: 1,
      status: 'PENDING',
      dueAt: at + 5_000,
      ...ended,
      at,
    } as const
    await recordOutcomes(operator, [outcome])
    // Another worker made the same attempt, because the claim had expired.
    await recordOutcomes(operator, [{ ...outcome, dueAt: at + 7_000 }])
    expect(await stored(tenant, endpointId)).toMatchObject([
      { status: 'PENDING', attempts: 1, dueAt: at + 5_000, lastAttemptAt: at },
    ])
    const attempts = async () => {
      const list = await withTenant(database, tenant, transaction => listAttempts(transaction, claimed.id, page))
      return list.ok ? list.value.items.length : 0
    }
    expect(await attempts()).toBe(2)
    await deleteExpiredWebhooks(operator, at + 30 * dayMs, 1_000)
    expect(await attempts()).toBe(2)
    await deleteExpiredWebhooks(operator, at + 30 * dayMs + 1, 1_000)
    expect([await attempts(), (await stored(tenant, endpointId)).length]).toEqual([0, 1])
  })

  it('are delivered after a success, but only in their own round, also if two workers made one attempt', async () => {
    const { tenant, endpointId } = await makeBacklog(1)
    const [claimed] = await claim(endpointId, 1)
    if (claimed === undefined) throw new Error('nothing was claimed')
    const ended = { statusCode: 500, error: null, durationMs: 3, responseBody: '', at }
    const failed = {
      ...tenant,
      endpointId,
      deliveryId: claimed.id,
      round: 1,
      attempts: 1,
      status: 'PENDING',
      dueAt: at + 5_000,
      ...ended,
    } as const
    const arrived = { ...failed, status: 'DELIVERED', dueAt: null, statusCode: 204 } as const
    await recordOutcomes(operator, [failed])
    await recordOutcomes(operator, [{ ...failed, attempts: 2, dueAt: at + 9_000 }])
    await recordOutcomes(operator, [arrived])
    expect(await stored(tenant, endpointId)).toMatchObject([{ status: 'DELIVERED', attempts: 2, dueAt: null }])
    await recordOutcomes(operator, [{ ...failed, attempts: 3 }])
    await changeTenant(database, tenant, transaction => resendDelivery(transaction, endpointId, claimed.id, at + 1))
    await recordOutcomes(operator, [arrived])
    expect(await stored(tenant, endpointId)).toMatchObject([{ status: 'PENDING', attempts: 0, dueAt: at + 1 }])
  })

  it('are read by their index, also if one endpoint has most of them', async () => {
    const { endpointId } = await makeBacklog(1)
    await operator(sql`analyze webhook_deliveries`).catch(() => undefined)
    const { rows } = await operator<{ 'QUERY PLAN': string }>(sql`
      explain select 1 from webhook_deliveries
      where endpoint_id = ${endpointId} and due_at <= ${new Date(at).toISOString()} order by due_at, id limit 8`)
    expect(rows.map(row => row['QUERY PLAN']).join('\n')).toContain('webhook_deliveries_due_place')
  })
})

describe('a resend of an interval', () => {
  it('sends deliveries that wait for a retry, and skips those that are due or delivered', async () => {
    const { tenant, endpointId } = await makeBacklog(4)
    const claims = await claim(endpointId, 3)
    const ended = { statusCode: 500, error: null, durationMs: 3, responseBody: '', at }
    const outcomes = claims.slice(0, 2).map(({ id }, place) => ({
      ...tenant,
      endpointId,
      deliveryId: id,
      round: 1,
      attempts: 1,
      ...ended,
      ...(place === 0
        ? { status: 'DELIVERED' as const, dueAt: null }
        : { status: 'PENDING' as const, dueAt: at + 20 * 3_600_000 }),
    }))
    await recordOutcomes(operator, outcomes)
    const draft = { endpointId, from: at - dayMs, to: at + dayMs, includeDelivered: false }
    await changeTenant(database, tenant, async transaction => accepted(await createResend(transaction, draft, at)))
    while (await withOperator(database, transaction => stepResend(transaction, at, 100)));
    const [arrived, late, underWay, due] = (await stored(tenant, endpointId)).toReversed()
    expect([arrived?.id, late?.id, underWay?.id]).toEqual(claims.map(({ id }) => id))
    expect(arrived).toMatchObject({ status: 'DELIVERED', dueAt: null })
    expect(late).toMatchObject({ status: 'PENDING', attempts: 0, dueAt: at })
    expect(underWay).toMatchObject({ status: 'PENDING', dueAt: at + 25_000 })
    expect(due).toMatchObject({ status: 'PENDING', attempts: 0, dueAt: at })
  })
})

describe('an endpoint that has moved to another address', () => {
  const old = 'https://example.com/'
  const failedSince = async (tenant: Tenant, endpointId: string): Promise<unknown> => {
    const { rows } = await operator<{
      failing_since: unknown
    }>(sql`select failing_since from webhook_endpoints where id = ${endpointId}`)
    return [tenant.accountId, rows[0]?.failing_since]
  }

  it('begins without the failures of its old address, which can no longer disable the endpoint', async () => {
    const { endpointId, tenant } = await makeBacklog(1)
    const at410 = { reason: 'GONE', failingSince: null } as const
    await recordHealth(operator, [{ ...tenant, endpointId, url: old, succeeded: false, failedAt: at }])
    expect(await failedSince(tenant, endpointId)).toEqual([tenant.accountId, at])
    await changeTenant(database, tenant, transaction =>
      updateEndpoint(transaction, endpointId, { url: 'https://example.com/new' }, at),
    )
    expect(await failedSince(tenant, endpointId)).toEqual([tenant.accountId, null])
    await recordHealth(operator, [{ ...tenant, endpointId, url: old, succeeded: false, failedAt: at }])
    expect(await failedSince(tenant, endpointId)).toEqual([tenant.accountId, null])
    const disable = (url: string) =>
      withOperator(database, one => disableEndpoint(one, { ...tenant, endpointId, url }, at410, at))
    expect(await disable(old)).toBe(false)
    expect(await disable('https://example.com/new')).toBe(true)
  })
})
