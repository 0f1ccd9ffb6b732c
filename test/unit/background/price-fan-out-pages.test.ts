import sql from 'sql-template-tag'
import { afterAll, describe, expect, it } from 'vitest'
import { fanOutPage } from '../../../services/background/price-fan-out.ts'
import { startRecostRelay } from '../../../services/background/recost-relay.ts'
import type { Log } from '../../../services/platform/log/log.ts'
import { newRecostRequest, writeRecostRequests } from '../../../services/platform/postgres/events/outbox.ts'
import { type Lease, releaseLease, takeLease } from '../../../services/platform/postgres/leases.ts'
import {
  at,
  eventsOf,
  locationsIn,
  logThat,
  newLease,
  newSource,
  operator,
  options,
  partitionLog,
  putPrice,
  seed,
  stack,
  takeRequests,
  tenants,
  workAll,
  workedAt,
} from './price-fan-out-fixture.ts'

afterAll(() => stack.disposeAsync())

describe('the fan-out of a change of market prices', () => {
  it('is repeated from its page after a crash at any step, without a lost location or a duplicate event', async () => {
    const source = await newSource()
    const ids = await seed(tenants[0].live, source, 25)
    await putPrice(source, 0, 5n)
    const lease = await newLease()
    for (let crash = 0; crash < 12; crash += 1) {
      // Before an append, or after all appends of the page and before its transaction.
      const log = logThat(
        count => {
          if (crash % 3 === 0 || (crash % 3 === 1 && count === 2)) throw new Error('crash')
        },
        async () => {
          if (crash % 6 === 5) throw new Error('crash')
        },
      )
      await fanOutPage({ ...options, log }, lease, 4).catch(error => expect(error.message).toBe('crash'))
    }
    await workAll(4)
    const requests = locationsIn(await takeRequests())
    expect(requests.length).toBeGreaterThan(ids.length)
    expect([...new Set(requests)]).toEqual(ids)
    expect(await eventsOf(ids)).toEqual(ids)
  })

  it('is not moved by a process that lost the lease between the recost requests and the events', async () => {
    const source = await newSource()
    const ids = await seed(tenants[0].live, source, 5)
    await putPrice(source, 0, 5n)
    const lease = await newLease()
    let next: Lease | null = null
    const log = logThat(
      () => undefined,
      async () => {
        await releaseLease(operator, lease)
        next ??= await takeLease(operator, lease.name, 'another', 10_000)
      },
    )
    await expect(fanOutPage({ ...options, log }, lease, 10)).rejects.toMatchObject({
      code: 'lease_lost',
      retriable: true,
    })
    expect(await eventsOf(ids)).toEqual([])
    expect(next).not.toBeNull()
    expect(next && (await fanOutPage(options, next, 10))).toMatchObject({ done: 5, isLast: true })
    expect(await eventsOf(ids)).toEqual(ids)
    await takeRequests()
  })

  it('is moved by one of two processes on the same page, and the other one undoes its transaction', async () => {
    const source = await newSource()
    const ids = await seed(tenants[0].live, source, 30)
    await putPrice(source, 0, 5n)
    const lease = await newLease()
    const { promise: bothAreThere, resolve } = Promise.withResolvers<void>()
    let runners = 0
    const runner = () => {
      let isThere = false
      const log = logThat(
        () => {
          if (isThere) return
          isThere = true
          runners += 1
          if (runners === 2) resolve()
        },
        () => bothAreThere,
      )
      return fanOutPage({ ...options, log }, lease, 7)
    }
    const pages = await Promise.allSettled([runner(), runner()])
    const outcomes = pages.map(page => (page.status === 'rejected' ? page.reason.code : page.value?.done))
    expect(outcomes.toSorted()).toEqual([7, 'lease_lost'])
    expect(await eventsOf(ids)).toEqual(ids.slice(0, 7))
    expect((await workAll(7)).map(({ done }) => done)).toEqual([14, 21, 28, 30])
    expect(await eventsOf(ids)).toEqual(ids)
    expect([...new Set(locationsIn(await takeRequests()))]).toEqual(ids)
  })
})

it('creates events with the time of their creation, so that lists show them first', async () => {
  const source = await newSource()
  const ids = await seed(tenants[0].live, source, 3)
  await putPrice(source, 0, 5n)
  await workAll(2)
  await takeRequests()
  const { rows } = await operator<{ id: string; time_created: number }>(sql`
    select id, time_created from events where type = 'location.update' and object_id = any(${ids})`)
  expect(rows.map(({ time_created }) => time_created)).toEqual([workedAt, workedAt, workedAt])
  for (const { id } of rows) expect(Number.parseInt(id.slice(4, 16), 16)).toBeGreaterThanOrEqual(workedAt)
})

describe('two relays', () => {
  it('request recosts of 3,000 locations once, with other requests between the pages', async () => {
    const source = await newSource()
    const ids = await seed(tenants[0].live, source, 3_000)
    const request = newRecostRequest({
      ...tenants[1].live,
      locations: ['loc_between'],
      revision: 1,
      from: null,
      to: null,
    })
    const keys: string[] = []
    const append: Log['append'] = async (topic, partition, message) => {
      keys.push(message.key)
      return partitionLog.log.append(topic, partition, message)
    }
    const log = { append, partitions: partitionLog.log.partitions }
    const lines: object[] = []
    const info = (fields: object): void => {
      if (lines.push(fields) === 1) void writeRecostRequests(operator, [request], at)
    }
    const warn = (fields: object): void => void lines.push(fields)
    {
      await using relays = new AsyncDisposableStack()
      for (let i = 0; i < 2; i += 1) relays.use(startRecostRelay({ ...options, log, logger: { info, warn } }))
      await putPrice(source, 0, 5n)
      await expect.poll(() => eventsOf(ids).then(({ length }) => length), { timeout: 15_000 }).toBe(3_000)
      await expect.poll(() => lines.length).toBe(4)
    }
    expect(lines).toEqual(
      [1_000, 2_000, 3_000, 3_000].map((locations, index) => ({
        source,
        revision: 1,
        page: index + 1,
        locations,
        of: 3_000,
      })),
    )
    expect(keys.filter(key => key === request.id)).toHaveLength(1)
    expect(keys.at(-1)).not.toBe(request.id)
    expect(locationsIn(await takeRequests())).toEqual([...ids, 'loc_between'])
    // A relay that stops releases its lease, so that the next one does not wait for the expiry.
    expect(await takeLease(operator, 'order-relay', 'the next', 1_000)).not.toBeNull()
  })
})
