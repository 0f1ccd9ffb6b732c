import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { startLeasedWork } from '../../../services/background/leased-work.ts'
import { publishContractEndEvents, recordTimers } from '../../../services/background/record-timers.ts'
import { apiVersionDates, apiVersions } from '../../../services/contract/api-version.ts'
import { takeLease } from '../../../services/platform/postgres/leases.ts'
import { takeContractTimers } from '../../../services/platform/postgres/pricing/contract-timers.ts'
import { withOperator } from '../../../services/platform/postgres/transaction.ts'
import { goldenText } from '../../support/golden.ts'
import {
  type Client,
  flatTariff,
  listed,
  make,
  makeAccount,
  makeLocation,
  useService,
} from '../../support/registry/service.ts'
import { until } from '../../support/system/until.ts'

const dayMs = 86_400_000

/** Clock of the timers, ahead of the clock of the service. It only moves forward. */
let now = Date.now()
const service = await useService()
const { database } = service
const { live: client } = await makeAccount(service)
const logger = { warn: () => undefined }

const iso = (at: number): string => new Date(at).toISOString()

const makeTariff = async (owner: Client, end: number | null, more: object = {}) => {
  const location = await makeLocation(owner)
  const dates = { contract_start_date: '2020-01-01T00:00:00Z', contract_end_date: end === null ? null : iso(end) }
  return { location, tariff: await make(owner, '/tariffs', flatTariff(location, { ...dates, ...more })) }
}

const eventsOf = async (tariff: string): Promise<readonly unknown[]> =>
  listed(await client.call('GET', `/events?object_id=${tariff}`))
    .map(({ type }) => type)
    .toReversed()

/** Move the clock to an instant and publish the events that are due. */
const goTo = async (at: number): Promise<void> => {
  now = at
  while ((await publishContractEndEvents(database, now)) > 0);
}

describe('the end of a contract', () => {
  it('has one event ten days before and one at the end, with the ids of the tariff', async () => {
    const end = now + 30 * dayMs
    const { tariff, location } = await makeTariff(client, end)
    await goTo(end - 10 * dayMs - 1)
    expect(await eventsOf(tariff)).toEqual([])
    await goTo(end - 10 * dayMs)
    expect(await eventsOf(tariff)).toEqual(['tariff.expiring'])
    await goTo(end - 1)
    expect(await eventsOf(tariff)).toEqual(['tariff.expiring'])
    await goTo(end)
    await goTo(end + dayMs)
    expect(await eventsOf(tariff)).toEqual(['tariff.expiring', 'tariff.expired'])
    const [expired] = listed(await client.call('GET', `/events?object_id=${tariff}`))
    expect(expired).toMatchObject({
      object: 'event',
      live_mode: true,
      data: { live_mode: true, tariff_id: tariff, location_id: location, account_id: client.accountId },
    })
  })

  it.each(apiVersions)('has the documented event in the %s API version', async apiVersion => {
    const { tariff } = await makeTariff(client, now + 5 * dayMs)
    await goTo(now)
    const { text } = await client.call('GET', `/events?object_id=${tariff}`, undefined, {
      'api-version': apiVersionDates[apiVersion],
    })
    await expect(goldenText(text)).toMatchFileSnapshot(`../../golden/${apiVersion}/event_of_contract_end.json`)
  })

  it('has both events in order after a downtime over both instants', async () => {
    const { tariff } = await makeTariff(client, now + 20 * dayMs)
    await goTo(now + 60 * dayMs)
    expect(await eventsOf(tariff)).toEqual(['tariff.expiring', 'tariff.expired'])
  })

  it('has an event at once within ten days, and none if it had passed when the tariff was created', async () => {
    const near = await makeTariff(client, now + 3 * dayMs)
    const past = await makeTariff(client, Date.now() - 3 * dayMs)
    await goTo(now)
    expect(await eventsOf(near.tariff)).toEqual(['tariff.expiring'])
    await goTo(now + 30 * dayMs)
    expect(await eventsOf(near.tariff)).toEqual(['tariff.expiring', 'tariff.expired'])
    expect(await eventsOf(past.tariff)).toEqual([])
  })

  it('has new events after the end has changed', async () => {
    const moved = await makeTariff(client, now + 30 * dayMs)
    const opens = await makeTariff(client, now + 30 * dayMs)
    const named = await makeTariff(client, now + 30 * dayMs)
    await client.call('PATCH', `/tariffs/${moved.tariff}`, { contract_end_date: iso(now + 100 * dayMs) })
    await client.call('PATCH', `/tariffs/${opens.tariff}`, { contract_end_date: null })
    await goTo(now + 40 * dayMs)
    expect([await eventsOf(moved.tariff), await eventsOf(opens.tariff)]).toEqual([[], []])
    expect(await eventsOf(named.tariff)).toEqual(['tariff.expiring', 'tariff.expired'])
    await client.call('PATCH', `/tariffs/${named.tariff}`, { display_name: 'another name' })
    await goTo(now + dayMs)
    expect(await eventsOf(named.tariff)).toHaveLength(2)
    await client.call('PATCH', `/tariffs/${named.tariff}`, { contract_end_date: iso(now + 50 * dayMs) })
    await goTo(now + 60 * dayMs)
    expect(await eventsOf(named.tariff)).toEqual([
      'tariff.expiring',
      'tariff.expired',
      'tariff.expiring',
      'tariff.expired',
    ])
    expect(await eventsOf(moved.tariff)).toEqual(['tariff.expiring', 'tariff.expired'])
  })

  it('has its event at once if a change moves it into the past', async () => {
    const { tariff } = await makeTariff(client, null)
    await client.call('PATCH', `/tariffs/${tariff}`, { contract_end_date: '2024-01-01T00:00:00Z' })
    await goTo(now)
    expect(await eventsOf(tariff)).toEqual(['tariff.expired'])
  })

  it('has no event if the tariff was ended, voided, or deleted with its location', async () => {
    const tariffs = await Promise.all([0, 1, 2].map(() => makeTariff(client, now + 30 * dayMs)))
    const [deleted, voided, gone] = tariffs
    await client.call('DELETE', `/tariffs/${deleted?.tariff}`)
    await client.call('DELETE', `/tariffs/${voided?.tariff}?void=true`)
    await client.call('DELETE', `/locations/${gone?.location}`)
    await goTo(now + 60 * dayMs)
    for (const { tariff } of tariffs) expect(await eventsOf(tariff)).toEqual([])
  })

  it('has one event if several processes publish at the same time', async () => {
    const made = await Promise.all(Array.from({ length: 20 }, () => makeTariff(client, now + dayMs)))
    now += 30 * dayMs
    const counts = await Promise.all(Array.from({ length: 6 }, () => publishContractEndEvents(database, now, 7)))
    expect(Math.max(...counts)).toBeLessThanOrEqual(7)
    await goTo(now)
    for (const { tariff } of made) expect(await eventsOf(tariff)).toEqual(['tariff.expiring', 'tariff.expired'])
  })

  it('has no event while another transaction writes the event of ten days before', async () => {
    const { tariff } = await makeTariff(client, now + dayMs)
    now += 30 * dayMs
    const broken = withOperator(database, async transaction => {
      expect(await takeContractTimers(transaction, now, 1)).toMatchObject([
        { tariffId: tariff, type: 'tariff.expiring' },
      ])
      expect(await publishContractEndEvents(database, now)).toBe(0)
      throw new Error('broken off')
    })
    await expect(broken).rejects.toThrow('broken off')
    await goTo(now)
    expect(await eventsOf(tariff)).toEqual(['tariff.expiring', 'tariff.expired'])
  })

  it('has its event from the work of the service, which also deletes events after 90 days', async () => {
    const { tariff, location } = await makeTariff(client, now + dayMs)
    await using _ = startLeasedWork(
      { database, logger },
      recordTimers(database, () => now),
    )
    await until(
      () => eventsOf(tariff),
      types => types.length === 1,
    )
    now += 91 * dayMs
    await until(
      () => eventsOf(tariff),
      types => types.includes('tariff.expired'),
    )
    await using _again = startLeasedWork(
      { database, logger },
      recordTimers(database, () => now).map(work => ({ ...work, name: randomUUID() })),
    )
    expect(
      await until(
        () => eventsOf(tariff),
        types => types.length === 1,
      ),
    ).toEqual(['tariff.expired'])
    expect(listed(await client.call('GET', `/events?object_id=${location}`))).toEqual([])
  })
})

describe('work under a lease', () => {
  it('runs in one process at a time, and in another one after the first has stopped', async () => {
    const name = randomUUID()
    const turnTimes: number[] = []
    const startOne = (one: number) => {
      const turn = async () => {
        turnTimes.push(one)
        return false
      }
      return startLeasedWork({ database, logger }, [{ name, restMs: 5, turn }])
    }
    const first = startOne(1)
    await until(
      async () => turnTimes.length,
      count => count > 0,
    )
    await using _ = startOne(2)
    await sleep(100)
    expect(new Set(turnTimes)).toEqual(new Set([1]))
    await first[Symbol.asyncDispose]()
    turnTimes.length = 0
    await until(
      async () => turnTimes.length,
      count => count > 0,
    )
    expect(new Set(turnTimes)).toEqual(new Set([2]))
  })

  it('continues after a turn that throws, and keeps its lease', async () => {
    const name = randomUUID()
    let turnTimes = 0
    const turn = async () => {
      turnTimes += 1
      if (turnTimes < 2) throw new Error('the world is away')
      return false
    }
    await using _ = startLeasedWork({ database, logger }, [{ name, restMs: 5, turn }])
    await until(
      async () => turnTimes,
      count => count > 0,
    )
    expect(await takeLease(database.operator, name, 'another', 10_000)).toBeNull()
    await until(
      async () => turnTimes,
      count => count > 2,
    )
  })
})
