import sql from 'sql-template-tag'
import { afterAll, describe, expect, it } from 'vitest'
import { publishEvents } from '../../../services/background/event-relay.ts'
import { fanOutPage } from '../../../services/background/price-fan-out.ts'
import { Failure } from '../../../services/platform/failure.ts'
import { eventTopic, type Log } from '../../../services/platform/log/log.ts'
import type { EventEnvelope } from '../../../services/platform/log/messages.ts'
import { writeEvents } from '../../../services/platform/postgres/events/events.ts'
import { readOutbox } from '../../../services/platform/postgres/events/outbox.ts'
import { takeLease } from '../../../services/platform/postgres/leases.ts'
import { putMarketPrices } from '../../../services/platform/postgres/pricing/market-prices.ts'
import { createMarket } from '../../../services/platform/postgres/pricing/markets.ts'
import { termsToText } from '../../../services/platform/postgres/pricing/tariff-row.ts'
import { withOperator, withTenant } from '../../../services/platform/postgres/transaction.ts'
import { openPartitions } from '../../support/partitions/open-partitions.ts'
import { tieredSchedule } from '../../support/registry/drafts.ts'
import { makeTenants, openTestDatabase } from '../../support/stores/postgres.ts'

const at = 1_760_000_000_000
const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())
const { database } = stack.use(await openTestDatabase())
const partitionLog = stack.use(await openPartitions(2))
const { live } = await makeTenants(database)

let published = 0
const dependencies = {
  database,
  log: partitionLog.log,
  codec: partitionLog.codec,
  onPublished: (events: number) => {
    published += events
  },
}

/** Log that fails for each message for which `isAway` returns true. */
const failingLog = (isAway: (key: string) => boolean): Pick<Log, 'append' | 'partitions'> => ({
  partitions: partitionLog.log.partitions,
  append: async (topic, partition, message) => {
    if (isAway(message.key)) throw new Failure('log_away', 'The log is unavailable.', { retriable: true })
    return partitionLog.log.append(topic, partition, message)
  },
})

const write = (objectId: string, data: unknown): Promise<string> =>
  withTenant(database, live, async transaction => {
    const [event] = await writeEvents(transaction, [{ type: 'device.update', objectId, data }], at)
    return event?.id ?? expect.fail('no event')
  })

const waiting = async (): Promise<number> => (await readOutbox(database.operator, eventTopic, 100_000)).length

const inLog = async (): Promise<readonly EventEnvelope[]> => {
  const all: EventEnvelope[] = []
  for (let partition = 0; partition < partitionLog.log.partitions(eventTopic); partition += 1) {
    const { messages } = await partitionLog.log.peek(eventTopic, partition, 0, {
      maxMessages: 100_000,
      maxBytes: 2 ** 30,
    })
    for (const { value } of messages) all.push(await partitionLog.codec.decodeEvent(value))
  }
  return all
}

const idsAbout = async (objectId: string) =>
  (await inLog()).filter(one => one.objectId === objectId).map(({ eventId }) => eventId)

describe('the event relay', () => {
  it('delays only the later events of an object if the log refuses one of its events', async () => {
    const stuck = [await write('dev_stuck', { n: 1 }), await write('dev_stuck', { n: 2 })]
    const free = [await write('dev_free', { n: 1 }), await write('dev_free', { n: 2 })]
    const tried: string[] = []
    const log = failingLog(key => key.endsWith('dev_stuck') && tried.push(key) === 1)
    await expect(publishEvents({ ...dependencies, log })).rejects.toMatchObject({ code: 'log_away' })
    expect([await idsAbout('dev_stuck'), await idsAbout('dev_free'), await waiting()]).toEqual([[], free, 2])
    expect(await publishEvents({ ...dependencies, log })).toBe(false)
    expect([await idsAbout('dev_stuck'), await waiting()]).toEqual([stuck, 0])
  })

  it('publishes an event again with the same id if the event was not deleted', async () => {
    const id = await write('dev_twice', { exact: 1 })
    const broken = {
      ...dependencies,
      log: {
        ...partitionLog.log,
        append: async (...words: Parameters<Log['append']>) => {
          await partitionLog.log.append(...words)
          throw new Failure('log_away', 'The answer was lost.', { retriable: true })
        },
      },
    }
    await expect(publishEvents(broken)).rejects.toThrow('lost')
    await publishEvents(dependencies)
    expect(await idsAbout('dev_twice')).toEqual([id, id])
    expect(await waiting()).toBe(0)
  })

  it('keeps every digit, and the order of changes over many turns', async () => {
    const exact = (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON('12345678901234567.123456789')
    const ids: string[] = []
    for (let n = 0; n < 7; n += 1) ids.push(await write('dev_order', { cost: exact, n }))
    let rounds = 1
    while (await publishEvents(dependencies, 2)) rounds += 1
    expect(rounds).toBe(4)
    expect(await idsAbout('dev_order')).toEqual(ids)
    const [first] = (await inLog()).filter(one => one.objectId === 'dev_order')
    expect(first).toEqual({
      eventId: ids[0],
      type: 'device.update',
      ...live,
      objectId: 'dev_order',
      timeCreated: at,
      data: '{"cost":12345678901234567.123456789,"n":0}',
    })
  })

  it('publishes the short members of an event that is too large for a message; the API has all of it', async () => {
    const id = await write('sae_large', {
      id: 'sae_large',
      object: 'schedule_amount',
      live_mode: true,
      data: Array(60_000).fill({ start: at }),
    })
    await publishEvents(dependencies)
    const [event] = (await inLog()).filter(one => one.eventId === id)
    expect(JSON.parse(event?.data ?? '')).toEqual({
      id: 'sae_large',
      object: 'schedule_amount',
      live_mode: true,
      truncated: true,
    })
  })

  it('publishes one location.update and one price.update for each of 10,000 locations on one source', {
    timeout: 60_000,
  }, async () => {
    const ids = Array.from({ length: 10_000 }, (_, n) => `loc_${n.toString(16).padStart(24, '0')}`)
    const source = await withOperator(database, async keeper => {
      const draft = { displayName: 'shared', currencyCode: 'EUR', area: null, resolutionMinutes: 60, importer: null }
      return (await createMarket(keeper, draft, at)).id
    })
    await database.operator(sql`
      insert into locations (account_id, live_mode, id, timezone, currency_code, import_market_source_id, time_created)
      select ${live.accountId}, true, id, 'Europe/Berlin', 'EUR', ${source}, now()
      from unnest(${ids}::text[]) as l(id)`)
    await database.operator(sql`
      insert into tariffs (account_id, live_mode, id, location_id, direction, type, connection_type, status,
        market_rates, terms, time_created)
      select ${live.accountId}, true, replace(id, 'loc_', 'trf_'), id, 'IMPORT', 'COMMODITY', 'MANUAL', 'CONNECTED',
        true,
        ${termsToText(tieredSchedule(0n))}, now() from unnest(${ids}::text[]) as l(id)`)
    await withOperator(database, keeper =>
      putMarketPrices(keeper, source, [{ start: at, end: at + 3_600_000, value: 5n }]),
    )
    const lease = (await takeLease(database.operator, 'order-relay', 'this', 60_000)) ?? expect.fail('no lease')
    published = 0
    while ((await fanOutPage({ ...partitionLog, database, at: () => at }, lease)) !== null)
      while (await publishEvents(dependencies));
    while (await publishEvents(dependencies));
    expect(published).toBe(20_000)
    const events = await inLog()
    for (const name of ['location.update', 'price.update']) {
      const publishedEvents = events.filter(({ type }) => type === name)
      expect(publishedEvents.map(({ objectId }) => objectId ?? '').toSorted()).toEqual(ids)
      expect(new Set(publishedEvents.map(({ eventId }) => eventId)).size).toBe(10_000)
    }
  })
})
