import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { Failure } from '../../services/platform/failure.ts'
import type { Lane } from '../../services/platform/log/log.ts'
import type { Metrics } from '../../services/platform/metrics.ts'
import { dueErasures } from '../../services/platform/postgres/erasures.ts'
import { bought, makeHome, makeOne } from '../support/home.ts'
import { acceptedRecord, layBytes, layRecords } from '../support/lane-bytes.ts'
import { type LaneWorld, openLaneWorld } from '../support/lane-world.ts'
import { runCommand } from '../support/run-command.ts'
import { recordsOf } from '../support/settled.ts'
import { addTiers } from '../support/tier-tariff.ts'
import { until } from '../support/until.ts'

let world: LaneWorld

beforeAll(async () => {
  world = await openLaneWorld()
})
afterAll(() => world?.[Symbol.asyncDispose]())
beforeEach(() => world.stop())

type Counter = Exclude<keyof Metrics, 'registry'>

/** What a counter stands at over all lanes, of one value of a label or of all. */
const total = async (name: Counter, label?: readonly [name: string, value: string]): Promise<number> => {
  const { values } = await world.metrics[name].get()
  return values
    .filter(({ labels }) => label === undefined || Reflect.get(labels, label[0]) === label[1])
    .reduce((sum, { value }) => sum + value, 0)
}

const ledger = async () => ({
  accepted: await total('accepted'),
  stored: await total('stored'),
  superseded: await total('superseded'),
  dead: await total('deadLettered'),
  erased: await total('erased'),
})

const aside = async () => ({
  orders: await total('messagesFailed', ['kind', 'order']),
  unreadable: await total('messagesFailed', ['kind', 'unreadable']),
  readings: await total('messagesFailed', ['kind', 'readings']),
  replayed: await total('replayed', ['outcome', 'handled']),
  failedAgain: await total('replayed', ['outcome', 'dead_lettered']),
})

/** A step enters the ledger right behind its commit. */
const expectSoon = async <T>(look: () => Promise<T>, wanted: T): Promise<void> => {
  const text = JSON.stringify(wanted)
  expect(await until(look, seen => JSON.stringify(seen) === text, 5_000).catch(look)).toEqual(wanted)
}

const used = (home: string, number: number, kwh: number, more: object = {}) =>
  bought(home, kwh, `2025-06-0${number}T10:00:00Z`, `2025-06-0${number}T11:00:00Z`, { record_reference_id: `d${number}`, ...more })
const put = (records: readonly object[]) => world.client.ask('PUT', '/meters/interval', records)

const operator = async <T>(method: string, path: string, body?: object): Promise<T> => {
  const { base_url: baseUrl, operator_key: key } = world.sandbox
  const response = await fetch(`${baseUrl}/operator/dead-letters${path}`, {
    method,
    headers: { 'X-Operator-Key': key, 'Content-Type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  return (await response.json()) as T
}
const letters = async (code: string): Promise<readonly string[]> =>
  (await operator<{ data: readonly { id: string }[] }>('GET', `?code=${code}&limit=100`)).data.map(({ id }) => id)
const replay = async (ids: readonly string[]): Promise<void> => {
  await operator('POST', '/replay', { ids })
  await world.settled()
}

const erase = async (objectId: string): Promise<void> => {
  const words = ['erase', objectId, '--account', world.tenant.accountId, '--mode', 'test']
  await runCommand(words, { WATTLEDGER_DATA_DIR: world.folder, WATTLEDGER_POSTGRES_URL: world.postgresUrl })
  await until(
    () => dueErasures(world.database.operator, Date.now(), 10),
    due => due.length === 0,
  )
}

it('the ledger of the lanes balances after poison, a failed order, an erasure, replays and a step that is begun again', {
  timeout: 120_000,
}, async () => {
  const [bad, good] = [await makeHome(world.client, {}), await makeHome(world.client, { import: 0.5 })]
  const device = await makeOne(world.client, '/devices', { reference_id: 'gone' })
  await world.start()
  await world.client.submit([used(bad, 5, 1)])
  await world.settled()
  await world.stop()
  await put([used(good, 1, 1), used(good, 2, 1), used(bad, 1, 1)])
  await put([used(good, 1, 2)])
  const data = [0, 1, 2].map(hour => ({ time: Date.parse('2025-06-10T00:00:00Z') / 1000 + hour * 3600, value: 100 + hour }))
  await world.client.ask('PUT', '/meters/cumulative/epoch', { location_id: good, units: 'KWH', data })
  // Eight records and readings, one sent twice; one of them is poison.
  world.gate.unpriceable.add(bad)
  let commits = 0
  world.gate.commit = async (_, go) => {
    commits += 1
    if (commits === 1) throw new Error('the commit is lost')
    await go()
  }
  await world.start()
  await world.settled()
  world.gate.commit = null
  await expectSoon(ledger, { accepted: 8, stored: 6, superseded: 1, dead: 1, erased: 0 })

  // A chunk of two records that cannot be read, and an order over broken prices.
  const batchId = `bat_${'0'.repeat(24)}`
  world.metrics.accepted.inc({ lane: '0' }, 2)
  await layBytes(world, good, Buffer.from('no chunk'), [{ ...world.tenant, batchId, recordNumbers: [1, 2] }])
  await addTiers(world.client, bad)
  await world.settled()
  await expectSoon(ledger, { accepted: 10, stored: 6, superseded: 1, dead: 3, erased: 0 })
  await expectSoon(aside, { orders: 1, unreadable: 1, readings: 0, replayed: 0, failedAgain: 0 })

  // A step that is begun again may put the same record aside twice.
  await replay((await letters('cost_failed')).slice(0, 1))
  await expectSoon(aside, { orders: 1, unreadable: 1, readings: 0, replayed: 0, failedAgain: 1 })
  world.gate.unpriceable.clear()
  await replay([...(await letters('cost_failed')).slice(0, 1), ...(await letters('order_failed')), ...(await letters('undecodable'))])
  expect(await recordsOf(world.client, bad)).toHaveLength(2)
  await expectSoon(ledger, { accepted: 10, stored: 6, superseded: 1, dead: 3, erased: 0 })
  await expectSoon(aside, { orders: 1, unreadable: 2, readings: 0, replayed: 1, failedAgain: 3 })

  await erase(device)
  world.metrics.accepted.inc({ lane: '0' })
  await layRecords(world, good, [acceptedRecord(world, good, { deviceId: device })])
  await world.settled()
  await expectSoon(ledger, { accepted: 11, stored: 6, superseded: 1, dead: 3, erased: 1 })
})

it('a worker that is given a lane later stores nothing of what was erased meanwhile', { timeout: 120_000 }, async () => {
  const [home, device] = [
    await makeHome(world.client, { import: 0.5 }),
    await makeOne(world.client, '/devices', { reference_id: 'erased before' }),
  ]
  await world.start()
  await world.settled()
  await world.stop()
  const { promise: standing, resolve } = Promise.withResolvers<() => Promise<void>>()
  await world.start(undefined, {
    assign: (lanes, go) =>
      resolve(async () => {
        // Whoever had them before did the erase orders.
        for (const lane of lanes) {
          await lane.commit((await world.log.lag(lane.topic, lane.partition, 'cost-worker')).end)
          await lane.rewind()
        }
        await layRecords(world, home, [acceptedRecord(world, home, { deviceId: device }), acceptedRecord(world, home)])
        go()
      }),
  })
  const assign = await standing
  await erase(device)
  await assign()
  await world.settled()
  const records = (await recordsOf(world.client, home)).length
  expect(records).toBe(1)
})

it('a worker that loses its lanes in a long step stores nothing of it', { timeout: 120_000 }, async () => {
  const home = await restingHome()
  const taken = new AbortController()
  const stored: string[] = []
  const { promise: isCosting, resolve: begun } = Promise.withResolvers<void>()
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  world.gate.insert = async ({ table }, go) => {
    await go()
    stored.push(table)
  }
  world.gate.gather = async ({ locationIds }) => {
    if (locationIds.includes(home)) begun()
    await released
  }
  await world.start(undefined, {
    assign: (lanes, go) => {
      const losable = lanes as Lane[]
      for (const [at, lane] of lanes.entries()) losable[at] = { ...lane, lost: AbortSignal.any([lane.lost, taken.signal]) }
      go()
    },
  })
  await world.client.ask('PUT', '/meters/interval', [bought(home, 1, '2025-06-02T10:00:00Z', '2025-06-02T11:00:00Z')])
  await isCosting
  taken.abort()
  release()
  await sleep(500)
  await world.stop()
  expect(stored).toEqual([])
  world.gate.insert = null
  world.gate.gather = null
  await world.start()
  await world.settled()
  expect((await recordsOf(world.client, home)).length).toBe(1)
})

/** A home whose orders are done, and no worker. */
const restingHome = async () => {
  const home = await makeHome(world.client, { import: 0.5 })
  await world.start()
  await world.settled()
  await world.stop()
  return home
}

it('a step that takes long is alive as long as the engine answers, and not when it does not', { timeout: 120_000 }, async () => {
  const home = await restingHome()
  let now = Date.now()
  const seen: boolean[] = []
  const { promise: hangs, resolve } = Promise.withResolvers<void>()
  world.gate.insert = async ({ table }, go) => {
    now += 40_000
    if (table === 'meter_batches') {
      resolve()
      return new Promise(() => undefined)
    }
    await go()
    seen.push(world.isLive())
  }
  await put([used(home, 1, 1)])
  await world.start(undefined, { at: () => now })
  await hangs
  // Cost rows and parts of batches are stored: more than a minute since the step began, each within one of the other.
  expect(seen).toEqual([true, true])
  expect(world.isLive()).toBe(true)
  now += 60_000
  expect(world.isLive()).toBe(false)
  world.gate.insert = null
})

it('a worker that loses its lanes within a step owes nothing and is alive', { timeout: 120_000 }, async () => {
  const home = await restingHome()
  let now = Date.now()
  const losing = new AbortController()
  const { promise: isLost, resolve } = Promise.withResolvers<void>()
  world.gate.insert = async () => {
    losing.abort()
    resolve()
    throw new Failure('clickhouse_away', 'the engine is away', { retriable: true })
  }
  await put([used(home, 1, 1)])
  const assign = (lanes: readonly Lane[], go: () => void): void => {
    for (const lane of lanes) Object.assign(lane, { lost: losing.signal })
    go()
  }
  await world.start(undefined, { at: () => now, assign })
  await isLost
  now += 120_000
  // Once the step has failed and the worker has begun anew.
  await until(world.isLive, live => live)
  world.gate.insert = null
  await world.stop()
  await world.start()
  await world.settled()
  await world.stop()
})
