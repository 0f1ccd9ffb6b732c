import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { Failure } from '../../../services/platform/failure.ts'
import type { Assignment } from '../../../services/platform/log/log.ts'
import { dueErasures } from '../../../services/platform/postgres/registry/erasures.ts'
import type { Metrics } from '../../../services/platform/telemetry/metrics.ts'
import { acceptedRecord, appendBytes, appendRecords } from '../../support/partitions/append-chunks.ts'
import { openPartitionFixture, type PartitionFixture } from '../../support/partitions/partition-fixture.ts'
import { bought, makeHome, makeOne } from '../../support/system/home.ts'
import { runCommand } from '../../support/system/run-command.ts'
import { recordsOf } from '../../support/system/stored-costs.ts'
import { until } from '../../support/system/until.ts'
import { addTiers } from '../../support/tariffs/tier-tariff.ts'

let fixture: PartitionFixture

beforeAll(async () => {
  fixture = await openPartitionFixture()
  // The counters of dead letters are exact only if each request is published once.
  await fixture.stopRelay()
})
afterAll(() => fixture?.[Symbol.asyncDispose]())
beforeEach(() => fixture.stop())

type Counter = Exclude<keyof Metrics, 'registry'>

/** Sum of a counter over all partitions, for one value of a label or for all. */
const total = async (name: Counter, label?: readonly [name: string, value: string]): Promise<number> => {
  const { values } = await fixture.metrics[name].get()
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

const deadLetteredCounts = async () => ({
  requests: await total('messagesFailed', ['kind', 'order']),
  unreadable: await total('messagesFailed', ['kind', 'unreadable']),
  readings: await total('messagesFailed', ['kind', 'readings']),
  replayed: await total('replayed', ['outcome', 'handled']),
  failedAgain: await total('replayed', ['outcome', 'dead_lettered']),
})

/** The counters of a step increase directly after its commit. */
const expectSoon = async <T>(look: () => Promise<T>, wanted: T): Promise<void> => {
  const text = JSON.stringify(wanted)
  expect(await until(look, seen => JSON.stringify(seen) === text, 5_000).catch(look)).toEqual(wanted)
}

const used = (home: string, number: number, kwh: number, more: object = {}) =>
  bought(home, kwh, `2025-06-0${number}T10:00:00Z`, `2025-06-0${number}T11:00:00Z`, {
    record_reference_id: `d${number}`,
    ...more,
  })
const put = (records: readonly object[]) => fixture.client.ask('PUT', '/meters/interval', records)

const operator = async <T>(method: string, path: string, body?: object): Promise<T> => {
  const { base_url: baseUrl, operator_key: key } = fixture.sandbox
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
  await fixture.waitUntilRead()
}

const erase = async (objectId: string): Promise<void> => {
  const args = ['erase', objectId, '--account', fixture.tenant.accountId, '--mode', 'test']
  await runCommand(args, { WATTLEDGER_DATA_DIR: fixture.folder, WATTLEDGER_POSTGRES_URL: fixture.postgresUrl })
  await until(
    () => dueErasures(fixture.database.operator, Date.now(), 10),
    due => due.length === 0,
  )
}

it('the counters of the partitions balance after poison, a failed request, an erasure, replays and a retry', {
  timeout: 120_000,
}, async () => {
  const [bad, good] = [await makeHome(fixture.client, {}), await makeHome(fixture.client, { import: 0.5 })]
  const device = await makeOne(fixture.client, '/devices', { reference_id: 'gone' })
  await fixture.start()
  await fixture.client.submit([used(bad, 5, 1)])
  await fixture.waitUntilRead()
  await fixture.stop()
  await put([used(good, 1, 1), used(good, 2, 1), used(bad, 1, 1)])
  await put([used(good, 1, 2)])
  const data = [0, 1, 2].map(hour => ({
    time: Date.parse('2025-06-10T00:00:00Z') / 1000 + hour * 3600,
    value: 100 + hour,
  }))
  await fixture.client.ask('PUT', '/meters/cumulative/epoch', { location_id: good, units: 'KWH', data })
  // Eight records and readings, one sent twice; one of them is poison.
  fixture.gate.unpriceable.add(bad)
  let commits = 0
  fixture.gate.commit = async (_, go) => {
    commits += 1
    if (commits === 1) throw new Error('the commit is lost')
    await go()
  }
  await fixture.start()
  await fixture.waitUntilRead()
  fixture.gate.commit = null
  await expectSoon(ledger, { accepted: 8, stored: 6, superseded: 1, dead: 1, erased: 0 })

  // A chunk of two unreadable records, and a recost request over invalid prices.
  const batchId = `bat_${'0'.repeat(24)}`
  fixture.metrics.accepted.inc({ lane: '0' }, 2)
  await appendBytes(fixture, good, Buffer.from('no chunk'), [{ ...fixture.tenant, batchId, recordNumbers: [1, 2] }])
  await addTiers(fixture.client, bad)
  await fixture.waitUntilRead()
  await expectSoon(ledger, { accepted: 10, stored: 6, superseded: 1, dead: 3, erased: 0 })
  await expectSoon(deadLetteredCounts, { requests: 1, unreadable: 1, readings: 0, replayed: 0, failedAgain: 0 })

  // A retried step may dead-letter the same record twice.
  await replay((await letters('cost_failed')).slice(0, 1))
  await expectSoon(deadLetteredCounts, { requests: 1, unreadable: 1, readings: 0, replayed: 0, failedAgain: 1 })
  fixture.gate.unpriceable.clear()
  await replay([
    ...(await letters('cost_failed')).slice(0, 1),
    ...(await letters('order_failed')),
    ...(await letters('undecodable')),
  ])
  expect(await recordsOf(fixture.client, bad)).toHaveLength(2)
  await expectSoon(ledger, { accepted: 10, stored: 6, superseded: 1, dead: 3, erased: 0 })
  await expectSoon(deadLetteredCounts, { requests: 1, unreadable: 2, readings: 0, replayed: 1, failedAgain: 3 })

  await erase(device)
  fixture.metrics.accepted.inc({ lane: '0' })
  await appendRecords(fixture, good, [acceptedRecord(fixture, good, { deviceId: device })])
  await fixture.waitUntilRead()
  await expectSoon(ledger, { accepted: 11, stored: 6, superseded: 1, dead: 3, erased: 1 })
})

it('a worker that receives a partition later stores no rows that were erased in the meantime', {
  timeout: 120_000,
}, async () => {
  const [home, device] = [
    await makeHome(fixture.client, { import: 0.5 }),
    await makeOne(fixture.client, '/devices', { reference_id: 'erased before' }),
  ]
  await fixture.start()
  await fixture.waitUntilRead()
  await fixture.stop()
  const { promise: standing, resolve } = Promise.withResolvers<() => Promise<void>>()
  await fixture.start(undefined, {
    assign: (assignments, go) =>
      resolve(async () => {
        // The previous reader of the partitions did the erase requests.
        for (const assignment of assignments) {
          await assignment.commit((await fixture.log.lag(assignment.topic, assignment.partition, 'cost-worker')).end)
          await assignment.rewind()
        }
        await appendRecords(fixture, home, [
          acceptedRecord(fixture, home, { deviceId: device }),
          acceptedRecord(fixture, home),
        ])
        go()
      }),
  })
  const assign = await standing
  await erase(device)
  await assign()
  await fixture.waitUntilRead()
  const records = (await recordsOf(fixture.client, home)).length
  expect(records).toBe(1)
})

it('a worker that loses its partitions in a long step stores nothing of the step', { timeout: 120_000 }, async () => {
  const home = await restingHome()
  const taken = new AbortController()
  const stored: string[] = []
  const { promise: isCosting, resolve: begun } = Promise.withResolvers<void>()
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  fixture.gate.insert = async ({ table }, go) => {
    await go()
    stored.push(table)
  }
  fixture.gate.gather = async ({ locationIds }) => {
    if (locationIds.includes(home)) begun()
    await released
  }
  await fixture.start(undefined, {
    assign: (assignments, go) => {
      const losable = assignments as Assignment[]
      for (const [at, assignment] of assignments.entries())
        losable[at] = { ...assignment, lost: AbortSignal.any([assignment.lost, taken.signal]) }
      go()
    },
  })
  await fixture.client.ask('PUT', '/meters/interval', [bought(home, 1, '2025-06-02T10:00:00Z', '2025-06-02T11:00:00Z')])
  await isCosting
  taken.abort()
  release()
  await sleep(500)
  await fixture.stop()
  expect(stored).toEqual([])
  fixture.gate.insert = null
  fixture.gate.gather = null
  await fixture.start()
  await fixture.waitUntilRead()
  expect((await recordsOf(fixture.client, home)).length).toBe(1)
})

/** A home whose recost requests are done, without a worker. */
const restingHome = async () => {
  const home = await makeHome(fixture.client, { import: 0.5 })
  await fixture.start()
  await fixture.waitUntilRead()
  await fixture.stop()
  return home
}

it('a long step is alive while ClickHouse answers, and not alive otherwise', {
  timeout: 120_000,
}, async () => {
  const home = await restingHome()
  let now = Date.now()
  const seen: boolean[] = []
  const { promise: hangs, resolve } = Promise.withResolvers<void>()
  fixture.gate.insert = async ({ table }, go) => {
    now += 40_000
    if (table === 'meter_batches') {
      resolve()
      return new Promise(() => undefined)
    }
    await go()
    seen.push(fixture.isLive())
  }
  await put([used(home, 1, 1)])
  await fixture.start(undefined, { at: () => now })
  await hangs
  // Cost rows and parts of batches are stored more than 60 s after the start of the step, each within 60 s of the
  // other.
  expect(seen).toEqual([true, true])
  expect(fixture.isLive()).toBe(true)
  now += 60_000
  expect(fixture.isLive()).toBe(false)
  fixture.gate.insert = null
})

it('a worker that loses its partitions within a step has no pending work and is alive', {
  timeout: 120_000,
}, async () => {
  const home = await restingHome()
  let now = Date.now()
  const losing = new AbortController()
  const { promise: isLost, resolve } = Promise.withResolvers<void>()
  fixture.gate.insert = async () => {
    losing.abort()
    resolve()
    throw new Failure('clickhouse_away', 'ClickHouse is unavailable.', { retriable: true })
  }
  await put([used(home, 1, 1)])
  const assign = (assignments: readonly Assignment[], go: () => void): void => {
    for (const assignment of assignments) Object.assign(assignment, { lost: losing.signal })
    go()
  }
  await fixture.start(undefined, { at: () => now, assign })
  await isLost
  now += 120_000
  // After the step has failed and the worker has restarted.
  await until(fixture.isLive, live => live)
  fixture.gate.insert = null
  await fixture.stop()
  await fixture.start()
  await fixture.waitUntilRead()
  await fixture.stop()
})
