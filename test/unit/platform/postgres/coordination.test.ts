import { setTimeout as sleep } from 'node:timers/promises'
import sql from 'sql-template-tag'
import { describe, expect, it } from 'vitest'
import { eventTopic, recordTopic } from '../../../../services/platform/log/log.ts'
import {
  deleteExpiredEvents,
  listEvents,
  retrieveEvent,
  writeEvents,
} from '../../../../services/platform/postgres/events/events.ts'
import {
  deleteOutbox,
  newRecostRequest,
  readOutbox,
  writeRecostRequests,
} from '../../../../services/platform/postgres/events/outbox.ts'
import { isLeaseValid, releaseLease, takeLease } from '../../../../services/platform/postgres/leases.ts'
import type { Paging } from '../../../../services/platform/postgres/page.ts'
import { createDevice } from '../../../../services/platform/postgres/registry/devices.ts'
import {
  abandonIdempotent,
  beginIdempotent,
  deleteExpiredIdempotency,
  finishIdempotent,
} from '../../../../services/platform/postgres/registry/idempotency.ts'
import { raiseTopicGeneration, readTopicGeneration } from '../../../../services/platform/postgres/topic-generation.ts'
import { withTenant } from '../../../../services/platform/postgres/transaction.ts'
import { acceptedValue } from '../../../support/accepted-value.ts'
import { useTenants } from '../../../support/registry/use-database.ts'

const at = 1_760_000_000_000
const { database, live, test, inLive } = await useTenants()
const { operator } = database

const newest = { limit: 100, startingAfter: null, endingBefore: null }

describe('events', () => {
  it('are written with their change or not at all, with one message for the webhook topic', async () => {
    const undone = inLive(async tx => {
      const device = await createDevice(
        tx,
        { referenceId: 'never', displayName: null, register: null, metadata: {} },
        at,
      )
      await writeEvents(tx, [{ type: 'device.create', objectId: device.id, data: {} }], at)
      throw new Error('undo')
    })
    await expect(undone).rejects.toThrow('undo')
    expect(await readOutbox(operator, eventTopic, 10)).toEqual([])

    const [event] = await inLive(tx =>
      writeEvents(tx, [{ type: 'device.create', objectId: 'dev_1', data: { b: 1, a: '\u20ac' } }], at),
    )
    expect(event).toMatchObject({
      ...live,
      type: 'device.create',
      objectId: 'dev_1',
      data: '{"b":1,"a":"€"}',
      createdAt: at,
    })
    expect(await inLive(tx => retrieveEvent(tx, event?.id ?? ''))).toEqual(event)
    expect(await withTenant(database, test, tx => retrieveEvent(tx, event?.id ?? ''))).toBeNull()
    const [message] = await readOutbox(operator, eventTopic, 10)
    expect(message).toMatchObject({ key: `${live.accountId}:dev_1`, ...live })
    const pending = {
      id: event?.id,
      type: 'device.create',
      account_id: live.accountId,
      live_mode: true,
      object_id: 'dev_1',
      time_created: at,
      data: { b: 1, a: '€' },
    }
    expect(JSON.parse(message?.payload ?? '')).toEqual(pending)
  })

  it('keep every digit of their data', async () => {
    const exact = (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON('12345678901234567.123456789')
    const [event] = await inLive(tx =>
      writeEvents(tx, [{ type: 'schedule.created', objectId: 'sae_1', data: { cost: exact } }], at),
    )
    expect((await inLive(tx => retrieveEvent(tx, event?.id ?? '')))?.data).toBe('{"cost":12345678901234567.123456789}')
  })

  it('are listed in pages of limited data, nearest to the cursor first, until all are listed', async () => {
    // Digits of a sequence, which PostgreSQL can hardly compress.
    const text = (seed: number): string =>
      Array.from({ length: 150_000 }, (_, index) => Math.imul(index + seed, 2_654_435_761) >>> 0).join('')
    const drafts = [1, 2, 3, 4, 5, 6].map(seed => ({
      type: 'schedule.created',
      objectId: 'sae_large',
      text: JSON.stringify({ text: text(seed) }),
    }))
    const written = await inLive(tx => writeEvents(tx, drafts, at))
    const ids = written.map(({ id }) => id).toReversed()
    const page = async (paging: Partial<Paging>) => {
      const filter = { types: null, objectId: 'sae_large', from: null, to: null }
      const listed = acceptedValue(await inLive(tx => listEvents(tx, filter, { ...newest, ...paging })))
      return { ids: listed.items.map(({ id }) => id), hasMore: listed.hasMore, items: listed.items }
    }
    const first = await page({})
    expect(first.ids.length).toBeGreaterThan(1)
    expect(first.ids.length).toBeLessThan(6)
    expect([first.ids, first.hasMore]).toEqual([ids.slice(0, first.ids.length), true])
    expect(first.items[0]).toEqual(written.at(-1))
    const all = [...first.ids]
    for (let last = first; last.hasMore; ) {
      last = await page({ startingAfter: all.at(-1) ?? null })
      all.push(...last.ids)
    }
    expect(all).toEqual(ids)
    const back = await page({ endingBefore: ids.at(-1) ?? null })
    expect([back.ids, back.hasMore]).toEqual([ids.slice(-1 - back.ids.length, -1), true])
  })

  it('are listed by type and by object, and are deleted after 90 days', async () => {
    const drafts = ['dev_7', 'dev_8', 'dev_7'].map((objectId, i) => ({
      type: i === 0 ? 'device.create' : 'device.update',
      objectId,
      data: { i },
    }))
    const any = { types: null, objectId: null, from: null, to: null }
    const [, second, third] = await inLive(tx => writeEvents(tx, drafts, at + 1))
    const listed = await inLive(tx => listEvents(tx, { ...any, types: ['device.update', 'device.delete'] }, newest))
    expect(listed).toEqual({ ok: true, value: { items: [third, second], hasMore: false } })
    const about = await inLive(tx => listEvents(tx, { ...any, types: ['device.update'], objectId: 'dev_7' }, newest))
    expect(about).toMatchObject({ value: { items: [third] } })
    const inTime = (from: number, to: number) =>
      inLive(tx => listEvents(tx, { ...any, objectId: 'dev_7', from, to }, newest))
    expect(await inTime(at + 1, at + 2)).toMatchObject({ value: { items: [third, {}] } })
    expect(await inTime(at + 2, at + 3)).toMatchObject({ value: { items: [] } })
    expect(await inTime(at, at + 1)).toMatchObject({ value: { items: [] } })

    const [old] = await inLive(tx => writeEvents(tx, [{ type: 'device.delete', objectId: 'dev_9', data: {} }], at - 1))
    const ninetyDays = 90 * 86_400_000
    expect(await deleteExpiredEvents(operator, at - 1 + ninetyDays, 100)).toBe(0)
    expect(await deleteExpiredEvents(operator, at + ninetyDays, 100)).toBe(1)
    expect(await inLive(tx => retrieveEvent(tx, old?.id ?? ''))).toBeNull()
  })
})

describe('the outbox', () => {
  it('returns a change that commits late, after a newer one was read', async () => {
    const order = (locationId: string) =>
      newRecostRequest({ ...live, locations: [locationId], revision: 1, from: null, to: 5 })
    const { promise: gate, resolve: open } = Promise.withResolvers<void>()
    const { promise: written, resolve: wrote } = Promise.withResolvers<void>()
    const slow = inLive(async tx => {
      const [message] = await writeRecostRequests(tx.query, [order('loc_slow')], at)
      wrote()
      await gate
      return message
    })
    await written
    const [quick, second] = await inLive(tx =>
      writeRecostRequests(tx.query, [order('loc_quick'), order('loc_second')], at),
    )
    expect(quick?.key).toBe(`${live.accountId}:loc_quick`)
    expect(await readOutbox(operator, recordTopic, 10)).toEqual([quick, second])
    await deleteOutbox(operator, [quick?.id ?? 0, second?.id ?? 0])
    open()
    const late = await slow
    expect(late?.id).toBeLessThan(quick?.id ?? 0)
    expect(await readOutbox(operator, recordTopic, 10)).toEqual([late])
  })
})

describe('an idempotency key', () => {
  const request = (key: string, hash = 'h') => ({ key, hash })
  const answer = { status: 201, headers: { 'x-a': 'b' }, body: '{"id":"€"}' }
  const begin = (key: string, hash = 'h', when = at) => inLive(tx => beginIdempotent(tx, request(key, hash), when))
  const token = async (key: string, when = at): Promise<string> => {
    const claim = await begin(key, 'h', when)
    if (claim.kind !== 'begun') throw new Error(claim.kind)
    return claim.token
  }

  it('lets one of many duplicates work, and returns its answer to the others', async () => {
    const duplicates = await Promise.all(Array.from({ length: 8 }, () => begin('twins')))
    expect(duplicates.map(({ kind }) => kind).toSorted()).toEqual(['begun', ...Array(7).fill('in_progress')])
    const winner = duplicates.find(({ kind }) => kind === 'begun')
    if (winner?.kind !== 'begun') throw new Error('no winner')
    expect(await inLive(tx => finishIdempotent(tx, { key: 'twins', token: winner.token }, answer))).toBe(true)
    expect(await begin('twins')).toEqual({ kind: 'answered', answer })
    expect(await begin('twins', 'another body')).toEqual({ kind: 'mismatch' })
    expect(await withTenant(database, test, tx => beginIdempotent(tx, request('twins'), at))).toMatchObject({
      kind: 'begun',
    })
  })

  it('is free again after it was given up, or after 24 h', async () => {
    const given = await token('given up')
    await inLive(tx => abandonIdempotent(tx, { key: 'given up', token: given }))
    expect(await begin('given up', 'another body')).toMatchObject({ kind: 'begun' })

    const storedClaim = await token('kept')
    await inLive(tx => finishIdempotent(tx, { key: 'kept', token: storedClaim }, answer))
    expect(await begin('kept', 'h', at + 86_399_999)).toMatchObject({ kind: 'answered' })
    expect(await begin('kept', 'another body', at + 86_400_000)).toMatchObject({ kind: 'begun' })
  })

  it('is taken over from a dead process, whose late writes are undone', async () => {
    const dead = await token('dead')
    expect(await begin('dead', 'h', at + 59_999)).toEqual({ kind: 'in_progress' })
    const heir = await token('dead', at + 60_000)
    expect(await inLive(tx => finishIdempotent(tx, { key: 'dead', token: dead }, answer))).toBe(false)
    await inLive(tx => abandonIdempotent(tx, { key: 'dead', token: dead }))
    expect(await inLive(tx => finishIdempotent(tx, { key: 'dead', token: heir }, answer))).toBe(true)
  })

  it('is answered in the transaction of the work', async () => {
    const undone = await token('undone')
    const work = inLive(async tx => {
      await finishIdempotent(tx, { key: 'undone', token: undone }, answer)
      throw new Error('crash before commit')
    })
    await expect(work).rejects.toThrow('crash')
    expect(await begin('undone')).toEqual({ kind: 'in_progress' })
    expect(await deleteExpiredIdempotency(operator, at + 86_400_000 - 1, 100)).toBe(0)
    expect(await deleteExpiredIdempotency(operator, at + 3 * 86_400_000, 100)).toBeGreaterThan(3)
  })
})

describe('a lease', () => {
  it('has one holder at a time, and a higher epoch for each new holder', async () => {
    const taken = await Promise.all(['a', 'b', 'c', 'd'].map(holder => takeLease(operator, 'relay', holder, 10_000)))
    const [held, ...none] = taken.filter(lease => lease !== null)
    expect(none).toEqual([])
    if (held === undefined) throw new Error('nobody holds it')
    expect(await takeLease(operator, 'relay', held.holder, 10_000)).toEqual(held)
    expect(await takeLease(operator, 'relay', 'late', 10_000)).toBeNull()
    await releaseLease(operator, held)
    expect(await isLeaseValid(operator, held)).toBe(false)
    const next = await takeLease(operator, 'relay', 'late', 10_000)
    expect(next).toEqual({ name: 'relay', holder: 'late', epoch: held.epoch + 1 })
    await releaseLease(operator, held)
    expect(next && (await isLeaseValid(operator, next))).toBe(true)
  })

  it('expires by the clock of the database', async () => {
    const first = await takeLease(operator, 'timer', 'a', 50)
    await sleep(100)
    expect(first && (await isLeaseValid(operator, first))).toBe(false)
    expect(await takeLease(operator, 'timer', 'a', 10_000)).toMatchObject({ epoch: (first?.epoch ?? 0) + 1 })
  })
})

describe('a lease after the clock of the database went back', () => {
  it('moves on, because no holder can have so much time left', async () => {
    const first = await takeLease(operator, 'clock', 'a', 10_000)
    const setExpiry = (seconds: number) =>
      operator(sql`
        update leases set expires_at = clock_timestamp() + ${seconds} * interval '1 second' where name = 'clock'`)
    await setExpiry(15)
    expect(await takeLease(operator, 'clock', 'b', 10_000)).toBeNull()
    await setExpiry(3_600)
    expect(await takeLease(operator, 'clock', 'b', 10_000)).toMatchObject({ epoch: (first?.epoch ?? 0) + 1 })
  })
})

describe('the generation of a topic', () => {
  it('rises once if several processes raise it', async () => {
    expect(await readTopicGeneration(operator, recordTopic)).toBeNull()
    expect(await raiseTopicGeneration(operator, recordTopic, null, 8, at)).toEqual({ generation: 0, partitions: 8 })
    const raised = await Promise.all(
      [16, 32].map(partitions => raiseTopicGeneration(operator, recordTopic, 0, partitions, at)),
    )
    expect(raised.filter(result => result !== null)).toEqual([await readTopicGeneration(operator, recordTopic)])
    await operator(sql`update lane_generations set generation = 1023`)
    await expect(raiseTopicGeneration(operator, recordTopic, 1023, 8, at)).rejects.toMatchObject({ code: '23514' })
  })
})
