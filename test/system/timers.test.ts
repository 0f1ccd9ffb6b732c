import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, describe, expect, it } from 'vitest'
import { layouts, versionOf } from '../../services/contract/layout.ts'
import { takeContractTimers } from '../../services/platform/postgres/contract-timers.ts'
import { takeLease } from '../../services/platform/postgres/leases.ts'
import { withOperator } from '../../services/platform/postgres/transaction.ts'
import { startLeasedWork } from '../../services/query-service/events/timers.ts'
import { recordTimers, tellContractEnds } from '../../services/query-service/events/timers-of-records.ts'
import { goldenText } from '../support/golden.ts'
import { openTestDatabase } from '../support/postgres.ts'
import { type Client, flatTariff, listed, make, makeAccount, makeLocation, openService } from '../support/service.ts'
import { until } from '../support/until.ts'

const day = 86_400_000
const opened = await openTestDatabase()
const { database } = opened
afterAll(() => opened[Symbol.asyncDispose]())

/** The clock of the timers, which runs ahead of that of the service; it only ever goes on. */
let now = Date.now()
const service = openService(database)
const { live: client } = await makeAccount(service)
const logger = { warn: () => undefined }

const iso = (at: number): string => new Date(at).toISOString()

const makeTariff = async (owner: Client, end: number | null, more: object = {}) => {
  const location = await makeLocation(owner)
  const dates = { contract_start_date: '2020-01-01T00:00:00Z', contract_end_date: end === null ? null : iso(end) }
  return { location, tariff: await make(owner, '/tariffs', flatTariff(location, { ...dates, ...more })) }
}

const told = async (tariff: string): Promise<readonly unknown[]> =>
  listed(await client.call('GET', `/events?object_id=${tariff}`))
    .map(({ type }) => type)
    .toReversed()

/** Let the clock go to an instant, and tell what is due by then. */
const goTo = async (at: number): Promise<void> => {
  now = at
  while ((await tellContractEnds(database, now)) > 0);
}

describe('the end of a contract', () => {
  it('is told ten days ahead and when it has come, once each, with what it is about', async () => {
    const end = now + 30 * day
    const { tariff, location } = await makeTariff(client, end)
    await goTo(end - 10 * day - 1)
    expect(await told(tariff)).toEqual([])
    await goTo(end - 10 * day)
    expect(await told(tariff)).toEqual(['tariff.expiring'])
    await goTo(end - 1)
    expect(await told(tariff)).toEqual(['tariff.expiring'])
    await goTo(end)
    await goTo(end + day)
    expect(await told(tariff)).toEqual(['tariff.expiring', 'tariff.expired'])
    const [expired] = listed(await client.call('GET', `/events?object_id=${tariff}`))
    expect(expired).toMatchObject({
      object: 'event',
      live_mode: true,
      data: { live_mode: true, tariff_id: tariff, location_id: location, account_id: client.accountId },
    })
  })

  it.each(layouts)('is written as published in the %s layout', async layout => {
    const { tariff } = await makeTariff(client, now + 5 * day)
    await goTo(now)
    const { text } = await client.call('GET', `/events?object_id=${tariff}`, undefined, { 'api-version': versionOf[layout] })
    await expect(goldenText(text)).toMatchFileSnapshot(`../golden/${layout}/event_of_contract_end.json`)
  })

  it('is told after a downtime over both instants, in their order', async () => {
    const { tariff } = await makeTariff(client, now + 20 * day)
    await goTo(now + 60 * day)
    expect(await told(tariff)).toEqual(['tariff.expiring', 'tariff.expired'])
  })

  it('is told at once where it is nearer than ten days, and not at all where it was past when the tariff came', async () => {
    const near = await makeTariff(client, now + 3 * day)
    const past = await makeTariff(client, Date.now() - 3 * day)
    await goTo(now)
    expect(await told(near.tariff)).toEqual(['tariff.expiring'])
    await goTo(now + 30 * day)
    expect(await told(near.tariff)).toEqual(['tariff.expiring', 'tariff.expired'])
    expect(await told(past.tariff)).toEqual([])
  })

  it('that moves is told as it stands, and again for the new one', async () => {
    const moved = await makeTariff(client, now + 30 * day)
    const opens = await makeTariff(client, now + 30 * day)
    const named = await makeTariff(client, now + 30 * day)
    await client.call('PATCH', `/tariffs/${moved.tariff}`, { contract_end_date: iso(now + 100 * day) })
    await client.call('PATCH', `/tariffs/${opens.tariff}`, { contract_end_date: null })
    await goTo(now + 40 * day)
    expect([await told(moved.tariff), await told(opens.tariff)]).toEqual([[], []])
    expect(await told(named.tariff)).toEqual(['tariff.expiring', 'tariff.expired'])
    await client.call('PATCH', `/tariffs/${named.tariff}`, { display_name: 'another name' })
    await goTo(now + day)
    expect(await told(named.tariff)).toHaveLength(2)
    await client.call('PATCH', `/tariffs/${named.tariff}`, { contract_end_date: iso(now + 50 * day) })
    await goTo(now + 60 * day)
    expect(await told(named.tariff)).toEqual(['tariff.expiring', 'tariff.expired', 'tariff.expiring', 'tariff.expired'])
    expect(await told(moved.tariff)).toEqual(['tariff.expiring', 'tariff.expired'])
  })

  it('that a change moves into the past has come with the change', async () => {
    const { tariff } = await makeTariff(client, null)
    await client.call('PATCH', `/tariffs/${tariff}`, { contract_end_date: '2024-01-01T00:00:00Z' })
    await goTo(now)
    expect(await told(tariff)).toEqual(['tariff.expired'])
  })

  it('of a tariff that was deleted, voided, or went with its location is told nobody', async () => {
    const tariffs = await Promise.all([0, 1, 2].map(() => makeTariff(client, now + 30 * day)))
    const [deleted, voided, gone] = tariffs
    await client.call('DELETE', `/tariffs/${deleted?.tariff}`)
    await client.call('DELETE', `/tariffs/${voided?.tariff}?void=true`)
    await client.call('DELETE', `/locations/${gone?.location}`)
    await goTo(now + 60 * day)
    for (const { tariff } of tariffs) expect(await told(tariff)).toEqual([])
  })

  it('is told once by many that tell at once', async () => {
    const made = await Promise.all(Array.from({ length: 20 }, () => makeTariff(client, now + day)))
    now += 30 * day
    const counts = await Promise.all(Array.from({ length: 6 }, () => tellContractEnds(database, now, 7)))
    expect(Math.max(...counts)).toBeLessThanOrEqual(7)
    await goTo(now)
    for (const { tariff } of made) expect(await told(tariff)).toEqual(['tariff.expiring', 'tariff.expired'])
  })

  it('is not told while another is still telling that it is near', async () => {
    const { tariff } = await makeTariff(client, now + day)
    now += 30 * day
    const broken = withOperator(database, async transaction => {
      expect(await takeContractTimers(transaction, now, 1)).toMatchObject([{ tariffId: tariff, type: 'tariff.expiring' }])
      expect(await tellContractEnds(database, now)).toBe(0)
      throw new Error('broken off')
    })
    await expect(broken).rejects.toThrow('broken off')
    await goTo(now)
    expect(await told(tariff)).toEqual(['tariff.expiring', 'tariff.expired'])
  })

  it('is told by the work that the service does by itself, and what is over 90 days old goes', async () => {
    const { tariff, location } = await makeTariff(client, now + day)
    await using _ = startLeasedWork(
      { database, logger },
      recordTimers(database, () => now),
    )
    await until(
      () => told(tariff),
      types => types.length === 1,
    )
    now += 91 * day
    await until(
      () => told(tariff),
      types => types.includes('tariff.expired'),
    )
    await using _again = startLeasedWork(
      { database, logger },
      recordTimers(database, () => now).map(work => ({ ...work, name: randomUUID() })),
    )
    expect(
      await until(
        () => told(tariff),
        types => types.length === 1,
      ),
    ).toEqual(['tariff.expired'])
    expect(listed(await client.call('GET', `/events?object_id=${location}`))).toEqual([])
  })
})

describe('work under a lease', () => {
  it('is done by one of many at a time, and by another once that one has ended', async () => {
    const name = randomUUID()
    const turns: number[] = []
    const startOne = (one: number) => {
      const turn = async () => {
        turns.push(one)
        return false
      }
      return startLeasedWork({ database, logger }, [{ name, restMs: 5, turn }])
    }
    const first = startOne(1)
    await until(
      async () => turns.length,
      count => count > 0,
    )
    await using _ = startOne(2)
    await sleep(100)
    expect(new Set(turns)).toEqual(new Set([1]))
    await first[Symbol.asyncDispose]()
    turns.length = 0
    await until(
      async () => turns.length,
      count => count > 0,
    )
    expect(new Set(turns)).toEqual(new Set([2]))
  })

  it('goes on after a turn that throws, and keeps its lease meanwhile', async () => {
    const name = randomUUID()
    let turns = 0
    const turn = async () => {
      turns += 1
      if (turns < 2) throw new Error('the world is away')
      return false
    }
    await using _ = startLeasedWork({ database, logger }, [{ name, restMs: 5, turn }])
    await until(
      async () => turns,
      count => count > 0,
    )
    expect(await takeLease(database.operator, name, 'another', 10_000)).toBeNull()
    await until(
      async () => turns,
      count => count > 2,
    )
  })
})
