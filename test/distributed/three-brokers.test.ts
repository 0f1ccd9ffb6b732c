import { setTimeout as sleep } from 'node:timers/promises'
import sql from 'sql-template-tag'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { measureCpuTime } from '../support/cpu/measure-cpu-time.ts'
import { brokerFaults } from '../support/kafka/broker-faults.ts'
import { type Cluster, startCluster } from '../support/kafka/cluster.ts'
import { verifyLog } from '../support/kafka/log-ledger.ts'
import { verifyLogOutage } from '../support/kafka/log-outage.ts'
import { type ManyProcesses, openManyProcesses } from '../support/kafka/many-processes.ts'
import { verifyRollingStop } from '../support/kafka/rolling-stop.ts'
import { skippedWithout } from '../support/kafka/shared-broker.ts'
import { makeTopics } from '../support/kafka/test-log.ts'
import { partitions, printLedger, rounds, writeDuring } from '../support/kafka/write-through.ts'
import { bought, makeHome, makeOne, priceSchedule } from '../support/system/home.ts'
import { recordsOf } from '../support/system/stored-costs.ts'
import { until } from '../support/system/until.ts'
import { casesOfRun } from '../support/test-run/short-form.ts'

type Receipt = {
  readonly records_accepted: number
  readonly records_processed: number
  readonly failed_records: readonly { readonly record_num: number }[]
}
type Letter = { readonly id: string; readonly code: string; readonly reason: string; readonly position: number | null }

const homes = 9
const submissions = 20
const ofEach = 500
const hourMs = 3_600_000
/** Generous, because a busy machine is slow. */
const limitMs = 240_000
/** Time after which a restarted broker is in sync and may be needed. */
const caughtUpMs = 2_000
const chosen = casesOfRun(brokerFaults)
const stack = new AsyncDisposableStack()
let cluster: Cluster

/** Add a test if this run plays its fault. */
const itWith = (fault: (typeof chosen)[number], name: string, test: () => Promise<void>): void => {
  if (chosen.includes(fault)) it(name, test)
}

const restartInTurn = async ({ nodes }: Cluster): Promise<void> => {
  for (const node of nodes) {
    node.kill('SIGTERM')
    await node.exited()
    await node.start()
    await sleep(caughtUpMs)
  }
}

const hourOf = (index: number): readonly [string, string] => {
  const start = Date.parse('2025-01-01T00:00:00Z') + index * hourMs
  return [new Date(start).toISOString(), new Date(start + hourMs).toISOString()]
}

describe.skipIf(skippedWithout('own broker') !== null)(
  'three brokers with at least two replicas of each message',
  { timeout: limitMs * rounds },
  () => {
    let fixture: ManyProcesses
    beforeAll(async () => {
      cluster = stack.use(await startCluster({ nodes: 3 }))
      // Topics with three replicas, two of them in sync.
      if (chosen.some(fault => fault !== 'a killed broker'))
        fixture = stack.use(await openManyProcesses(cluster.brokers, { replicas: 3, queries: 2 }))
    })
    afterAll(() => stack.disposeAsync())

    /** Submit records and wait until each is stored or failed; return the receipt and the time in ms. */
    const follow = async (records: readonly object[]): Promise<{ readonly value: Receipt; readonly ms: number }> => {
      const { client } = fixture
      const { id } = (await client.ask('PUT', '/meters/interval', records)) as { id: string }
      return measureCpuTime(() =>
        until(
          (): Promise<Receipt> => client.ask('GET', `/meters/batch?batch_id=${id}`),
          receipt => receipt.records_processed + receipt.failed_records.length === receipt.records_accepted,
        ),
      )
    }

    itWith(
      'a failing record',
      'one failing record of 10,000 delays no other, is dead-lettered with a reason, and is stored by a replay',
      async () => {
        const { client, processes, gateways } = fixture
        const { operator } = processes.database
        const homeIds = await Promise.all(Array.from({ length: homes }, () => makeHome(client, { import: 0.3 })))
        const lost = await makeOne(client, '/locations', { timezone: 'Europe/Berlin', currency_code: 'EUR' })
        // Each gateway receives a request, so it knows the location when PostgreSQL is reset to an earlier time.
        for (const _ of gateways)
          expect(
            (await client.send('POST', '/costs/instant?non_persistent=true', bought(lost, 2, ...hourOf(0)))).status,
          ).toBe(422)
        const away = `${lost.slice(0, -4)}0000`
        await operator(sql`update locations set id = ${away} where id = ${lost}`)

        const all = Array.from({ length: submissions * ofEach }, (_, index) =>
          bought(homeIds[index % homes] ?? '', 1, ...hourOf(Math.floor(index / homes))),
        )
        const poisoned = 1_234
        all[poisoned] = bought(lost, 2, ...hourOf(0))
        const left = Array.from({ length: submissions }, (_, index) => all.slice(index * ofEach, (index + 1) * ofEach))
        const receipts: Awaited<ReturnType<typeof follow>>[] = []
        const send = async (): Promise<void> => {
          for (let records = left.shift(); records !== undefined; records = left.shift())
            receipts.push(await follow(records))
        }
        await Promise.all([send(), send()])
        const slowest = Math.max(...receipts.map(({ ms }) => ms))
        process.stdout.write(`With one poison record in 10,000: visible within ${Math.round(slowest)} ms\n`)
        expect(slowest).toBeLessThan(5_000)
        expect(receipts.reduce((sum, { value }) => sum + value.records_processed, 0)).toBe(all.length - 1)
        expect(receipts.flatMap(({ value }) => value.failed_records)).toMatchObject([
          { record_num: (poisoned % ofEach) + 1 },
        ])

        const key = { 'X-Operator-Key': processes.sandbox().operator_key }
        const { data: letters } = (await client.ask('GET', '/operator/dead-letters', undefined, key)) as {
          data: readonly Letter[]
        }
        expect(letters).toMatchObject([{ code: 'location_unknown', reason: `${lost} is not in the registry` }])
        await operator(sql`update locations set id = ${lost} where id = ${away}`)
        await makeOne(client, '/tariffs', {
          location_id: lost,
          direction: 'IMPORT',
          type: 'COMMODITY',
          schedule: priceSchedule(0.25),
        })
        for (let time = 0; time < 2; time += 1) {
          const replayed = await client.ask(
            'POST',
            '/operator/dead-letters/replay',
            { ids: letters.map(({ id }) => id) },
            key,
          )
          expect(replayed).toMatchObject({ data: [{ replayed: true, reason: null }] })
          await follow([bought(lost, 1, ...hourOf(1))])
          const stored = (await recordsOf(client, lost)).map(({ data }) => [data.energy.value, data.tariff.cost.value])
          expect(stored).toEqual([
            [1_000, 0.25],
            [2_000, 0.5],
          ])
        }
      },
    )

    itWith(
      'a killed broker',
      'acknowledged messages survive kill -9 of one of three brokers, and writing continues',
      async () => {
        const { open } = await makeTopics(cluster.brokers, { replicas: 3, minInSync: 2 })
        const log = await open()
        let next = 0
        const ledger = await writeDuring(log, async () => {
          const node = cluster.nodes[next++ % cluster.nodes.length]
          node?.kill('SIGKILL')
          await node?.exited()
          await sleep(5_000)
          await node?.start()
          await sleep(2_000)
        })
        printLedger('one of three brokers killed', ledger)
        expect(ledger.refused).toBe(0)
        expect(await verifyLog(log, partitions, ledger)).toEqual({ lost: [], doubled: [], disordered: [] })
        await log.close()
      },
    )

    itWith(
      'a rolling stop',
      'every request is answered while one process of each role and each broker stops in turn, and nothing is lost',
      async () => {
        const { gateways, workers, queries } = fixture
        await verifyRollingStop(fixture, 5, async stopped => {
          const rolling = restartInTurn(cluster)
          for (const [post] of [gateways, workers, queries]) stopped.push(await post.replace())
          await rolling
        })
      },
    )

    itWith(
      'brokers that hang',
      'if all hang, nothing is acknowledged: 503 in time, and all continues when they answer again',
      async () => {
        const { client, gateways, workers, queries } = fixture
        const processes = [...gateways, ...workers, ...queries].map(post => post.process()).filter(one => one !== null)
        const outage = await verifyLogOutage({ client, processes }, async () => {
          for (const node of cluster.nodes) node.kill('SIGSTOP')
          return async () => {
            for (const node of cluster.nodes) node.kill('SIGCONT')
          }
        })
        process.stdout.write(`three brokers hang: ${outage}\n`)
      },
    )
  },
)
